package report

import "strings"

// An Assertion is an assertion that failed in the program.
type Assertion struct {
	Expression string `json:"expression,omitempty"` // the source text of what was asserted
	Error      string `json:"error,omitempty"`      // for assert_perror, instead of an expression
	File       string `json:"file,omitempty"`       // the source file that the message names
	Line       int    `json:"line,omitempty"`       // from 1; 0 when not known
	Function   string `json:"function,omitempty"`   // the function that the message names
}

// The values of Thrown.Runtime and Panic.Runtime: the run-time system that raised it.
const (
	RuntimeLibStdCxx = "libstdc++"
	RuntimeLibCxxABI = "libc++abi"
	RuntimeMSVC      = "msvc"
	RuntimeGNAT      = "gnat"
	RuntimeRust      = "rust"
	RuntimeGo        = "go"
)

// A Thrown is an exception object of C++ or Ada.
type Thrown struct {
	Type string `json:"type"` // as the source has it: "std::out_of_range"
	// What is what the exception's what() returns, the message of Ada's, or the value of a thrown number or string; nil if it is
	// not known.
	What *string `json:"what,omitempty"`
	// Template is What with "…" in the place of each value that the program put in: the rest is in the program's constants. It is empty if that
	// is not known.
	Template string `json:"template,omitempty"`
	Runtime  string `json:"runtime"`           // one of the Runtime constants
	Address  Addr   `json:"address,omitempty"` // of the object
}

// A Raised is an exception of a language above the native code, or one of Ada that is handled.
type Raised struct {
	Language string `json:"language"`           // "python", "java", "javascript", "php", "lua", "ruby", "perl" or "ada"
	Type     string `json:"type"`               // as the language writes it: "ZeroDivisionError"
	Message  string `json:"message,omitempty"`  // what the exception says of itself
	Details  string `json:"details,omitempty"`  // what else it has that the language prints of it: "{ code: 'ENOENT' }"
	Function string `json:"function,omitempty"` // where it was raised; empty if not known
	File     string `json:"file,omitempty"`     // where it was raised; empty if not known
	Line     int    `json:"line,omitempty"`     // from 1; 0 when not known
	// Handled says that it had been caught, and that the code that handles it was still running.
	Handled bool `json:"handled,omitempty"`
	// Relation says how the exception before it came of this one: "cause" or "context"; empty in the first.
	Relation string `json:"relation,omitempty"`
}

// MadeElsewhere returns the error of JavaScript that ended the process, if no call of the program is on the thread's stack any more: Node
// reports a promise that was rejected when all of them have returned. It returns nil if there is none, or if it is not known where it was raised.
func (c *Crash) MadeElsewhere(thread *Thread) *Raised {
	if c == nil || thread == nil || len(c.Raised) == 0 {
		return nil
	}
	x := &c.Raised[0]
	if x.Language != "javascript" || x.Handled || x.Function == "" || x.File == "" || strings.HasPrefix(x.File, "node:") {
		return nil
	}
	calls := false
	for i := range thread.Frames {
		if f := &thread.Frames[i]; f.Language == x.Language && f.Source.File != "" {
			if !strings.HasPrefix(f.Source.File, "node:") {
				return nil
			}
			calls = true
		}
	}
	if !calls {
		return nil
	}
	return x
}

// ofNode reports whether an error of JavaScript ended the process, and the place is a call of Node's own: no call of the program is on the stack.
func (c *Crash) ofNode(thread *Thread, place *Frame) bool {
	if len(c.Raised) == 0 || c.Raised[0].Language != "javascript" || c.Raised[0].Handled || place.Language != "javascript" {
		return false
	}
	for i := range thread.Frames {
		if f := &thread.Frames[i]; f.Language == place.Language && f.Source.File != "" && !strings.HasPrefix(f.Source.File, "node:") {
			return false
		}
	}
	return strings.HasPrefix(place.Source.File, "node:")
}

// A Panic is a panic of Rust or Go.
type Panic struct {
	Runtime string `json:"runtime"` // one of the Runtime constants
	// Type is the type of the value in Go; empty if it is not known.
	Type  string `json:"type,omitempty"`
	Value string `json:"value"` // as the program prints it
	// Fatal says that the Go runtime itself stopped the program; Value is its reason.
	Fatal bool `json:"fatal,omitempty"`
	// File, Line and Column say where a Rust panic was raised; empty and 0 if not known.
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	Goroutine uint64 `json:"goroutine,omitempty"` // 0 when not known
}

// asleepText is what Go's runtime says when it finds that no goroutine can ever run again (runtime.checkdead).
const asleepText = "all goroutines are asleep - deadlock!"

// Asleep reports whether Go's runtime ended the process because all goroutines wait for each other or for what never happens.
func (p *Panic) Asleep() bool {
	return p != nil && p.Fatal && p.Runtime == RuntimeGo && p.Value == asleepText
}
