// Package message finds in a process's memory what the program itself reported, or was about to report, when it
// ended itself: the C library's abort message, a failed assertion, an uncaught exception, a panic of a
// language's run-time library.
//
// It never searches for text by its looks alone. It reads a message where the library that wrote it stores it:
// in a variable that the library exports, in the thread's list of exceptions, in an argument that was passed
// on. Data that does not fit the known layout is not reported, and every message says where it was read.
//
// The memory comes from a dump and is untrusted: reads, counts and lengths of texts are limited, and texts are
// valid UTF-8.
package message

import (
	"strconv"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process gives access to the process that died. Mem, Arch and Stack are required. It is not safe for
// concurrent use.
type Process struct {
	procmem.Reader
	// Stack is the stack of the thread that died, youngest frame first.
	Stack []Frame
	// Program is the name that the program was started by; "" if not known.
	Program string
	// Windows says that the process ran on Windows and uses its calling conventions.
	Windows bool
	// Exception has the code and the parameters of the Windows exception that ended the process; Code is 0 if
	// there was none.
	Exception Exception
	// LibraryAt returns the library loaded at an address; nil if there is none.
	LibraryAt func(arch.Address) *libstate.Library
	// Symbol returns the address of a symbol of a library.
	Symbol func(lib *libstate.Library, name string) (arch.Address, bool)
	// GoMinor returns N of the release 1.N of Go that a library was made with; 0 if it is not known. It may be nil.
	GoMinor func(lib *libstate.Library) int
	// Constants returns the constants in a library's file; nil if there is none. It may be nil.
	Constants func(lib *libstate.Library) [][]byte
	// Function returns the linkage name of the function that begins at an address, "" if none is known.
	Function func(arch.Address) string
	// ThreadLocal returns an address in the dying thread's copy of a library's thread-local storage, for a
	// module number and an offset as compilers pass them to __tls_get_addr.
	ThreadLocal func(module, offset uint64) (arch.Address, bool)
	// Argument returns what the function of a frame passes as its n-th argument, from 0, in the call that it is in; false if that is not
	// certain. direct says that the call must lead to the function of the next younger frame itself. It may be nil.
	Argument func(frame, n int, direct bool) (uint64, bool)
	// NamedMapping returns the mapping that has this name and is not of a file; false if there is none.
	NamedMapping func(name string) (libstate.Mapping, bool)
	// Mapping returns the mapping at an address; false if there is none.
	Mapping func(arch.Address) (libstate.Mapping, bool)

	symbols map[symbolKey]symbol // those already looked up
}

type symbolKey struct {
	lib  *libstate.Library
	name string
}

type symbol struct {
	addr arch.Address
	ok   bool
}

// An Exception is a Windows exception.
type Exception struct {
	Code   uint32
	Params []uint64
}

// A Frame is a physical frame of a stack, with the names of its functions: inlined calls, innermost first, then
// the function itself.
type Frame struct {
	*unwind.Frame
	Names []string
}

// is reports whether one of the functions is in the frame.
func (f *Frame) is(names ...string) bool {
	for _, have := range f.Names {
		for _, n := range names {
			if have == n {
				return true
			}
		}
	}
	return false
}

// Words is what was found. If nothing was, Message and Reason are "".
type Words struct {
	// Message is the text that the program writes to its standard error, without the final newline; "" if only
	// the Reason is known.
	Message string
	// Source says where it was read: "__abort_msg in libc.so.6".
	Source string
	// Reason is the text for the report's first line; "" to use the Message.
	Reason string
	Cause  Cause
	// Finding is what a checker found out about the origin of the error; "" for nothing.
	Finding string

	Assertion *Assertion
	// Thrown holds the uncaught exception, then the exceptions nested in it.
	Thrown []Thrown
	Panic  *Panic
	// Stack is the stack that overflowed, from low to high, exclusive; 0 if it is not known.
	Stack [2]arch.Address
	// Raised is the frame in Process.Stack that raised the panic, where names do not tell it; 0 where they do.
	Raised int
	// Fault is the fault of the processor that the panic stands for; nil for none.
	Fault *Fault
	// OfSignal says that the handler of a signal raised the exception: the signal came first.
	OfSignal bool
	// Handling holds the exceptions that code of the thread handles, the innermost first, as far as Thrown has none. Sure says
	// that they are handled, and none is being raised again.
	Handling []Thrown
	Sure     bool
}

// A Cause is why the program ended itself.
type Cause uint8

const (
	Abort Cause = iota
	FailedAssertion
	UncaughtException
	StackOverrun    // a buffer on the stack was overrun
	HeapCorruption  // detected by the allocator
	OutOfMemory     // reported by the language's own handler
	InvalidArgument // a function of the C library ended the program because of it
	SanitizerError  // detected by a compiler's sanitizer
	StackOverflow   // the language's own handler ended the program
)

// An Assertion is a failed assertion: of the condition Expression, or that there is no Error. Line is 0 if it
// is not known.
type Assertion struct {
	Expression, Error, File, Function string
	Line                              int
}

// Run-time libraries of languages.
const (
	LibStdCxx = "libstdc++"
	LibCxxABI = "libc++abi"
	MSVC      = "msvc"
	GNAT      = "gnat"
	Rust      = "rust"
	Go        = "go"
)

// A Thrown is an exception object.
type Thrown struct {
	Type string // as the source language writes it
	// What is the exception's text: that of a std::exception, or the value of a thrown number or string.
	// HasWhat distinguishes an empty text from none.
	What    string
	HasWhat bool
	// Template is What with a Placeholder in the place of each value; "" if that is not known.
	Template string
	Runtime  string
	Object   arch.Address
	// Trace are the calls in which an exception of Ada was raised, the youngest first, if the program keeps them.
	Trace []arch.Address

	full    string // the type's name as the run-time library prints it
	derived bool   // from std::exception
}

// A Panic is a panic of Rust or Go.
type Panic struct {
	Runtime string
	// Type is the type of the value in Go; "" if it is not known.
	Type  string
	Value string
	// Fatal says that the Go runtime stopped the program; there is no value.
	Fatal bool
	// File, Line and Column are where the Rust panic was raised; "" and 0 if not known.
	File         string
	Line, Column int
	// Goroutine is the number of the goroutine that panicked; 0 if not known.
	Goroutine uint64
}

// Read finds what a process that ended itself reported. It returns the zero Words if nothing is certain.
func Read(p *Process) Words {
	if p.Arch == nil || p.Memory == nil {
		return Words{}
	}
	for _, read := range []func(*Process) Words{sanitizerWords, goWords, rustWords, hotspotWords, v8Words, pythonWords, fortranWords, adaWords, cxxWords, abortMessage, androidMessage, msvcWords, dotNetWords} {
		if w := read(p); w.Message != "" || w.Reason != "" {
			if len(w.Thrown) == 0 && w.Panic == nil {
				w.Handling, w.Sure = adaHandled(p)
			}
			return w
		}
	}
	return abortedHandling(p)
}

// abortedHandling is what is known of a program that called abort in the handler of an exception, and said nothing.
func abortedHandling(p *Process) Words {
	handling, sure := adaHandled(p)
	if len(handling) == 0 {
		return Words{}
	}
	w := Words{Handling: handling, Sure: sure, Source: "the exception object at 0x" + strconv.FormatUint(handling[0].Object, 16)}
	switch {
	case p.frame("abort", "__GI_abort") == nil:
	case sure:
		w.Reason = "abort called while handling " + adaSaid(&handling[0])
	default:
		w.Reason = "abort called after " + adaSaid(&handling[0]) + " was raised"
	}
	return w
}

// libraries returns the libraries of the stack's frames, the youngest frame's first.
func (p *Process) libraries() []*libstate.Library {
	var out []*libstate.Library
	if p.LibraryAt == nil {
		return nil
	}
	seen := map[*libstate.Library]bool{}
	for i := range p.Stack {
		if lib := p.LibraryAt(p.Stack[i].LookupAddr()); lib != nil && !seen[lib] {
			seen[lib] = true
			out = append(out, lib)
		}
	}
	return out
}

// symbol looks a symbol up in the libraries of the stack only: the files of other libraries might have to be
// fetched.
func (p *Process) symbol(name string) (*libstate.Library, arch.Address, bool) {
	if p.Symbol == nil {
		return nil, 0, false
	}
	return p.symbolIn(p.libraries(), name)
}

func (p *Process) symbolIn(libs []*libstate.Library, name string) (*libstate.Library, arch.Address, bool) {
	if p.Symbol == nil {
		return nil, 0, false
	}
	for _, lib := range libs {
		if addr, ok := p.symbolOf(lib, name); ok {
			return lib, addr, true
		}
	}
	return nil, 0, false
}

// symbolOf caches the lookup of each symbol, because it searches a long table.
func (p *Process) symbolOf(lib *libstate.Library, name string) (arch.Address, bool) {
	key := symbolKey{lib, name}
	s, asked := p.symbols[key]
	if !asked {
		s.addr, s.ok = p.Symbol(lib, name)
		if p.symbols == nil {
			p.symbols = map[symbolKey]symbol{}
		}
		p.symbols[key] = s
	}
	return s.addr, s.ok
}

// frame returns the youngest frame with one of the functions; nil if there is none.
func (p *Process) frame(names ...string) *Frame {
	for i := range p.Stack {
		if p.Stack[i].is(names...) {
			return &p.Stack[i]
		}
	}
	return nil
}
