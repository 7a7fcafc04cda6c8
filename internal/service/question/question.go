// Package question has what a crash service asks the process that has a dump open, and what that answers: a line of JSON each.
//
// A question says what it is about by places, not by numbers that were given before: the same question has the same answer in another process
// that opened the same dump.
package question

import "encoding/json"

// What is asked.
const (
	About     = "about"     // why the process died, deadlocks, warnings
	Memory    = "memory"    // around what matters
	Stacks    = "stacks"    // threads, the one that died first, and then the tasks that no thread runs
	Frames    = "frames"    // of a stack
	Modules   = "modules"   // those that lack something first
	Variables = "variables" // of a frame, or the parts of one
)

// A Question asks for Count entries from number First on.
type Question struct {
	Ask   string `json:"ask"`
	Stack int    `json:"stack,omitempty"` // its number in the list of stacks, from 0 on
	Frame int    `json:"frame,omitempty"` // its number in the stack, the youngest is 0
	// Path leads from a frame to what has the parts that are wanted: the number of a group of variables in the answer without a path, then the
	// number of a variable in it, and so on.
	Path  []int `json:"path,omitempty"`
	First int   `json:"first,omitempty"`
	Count int   `json:"count,omitempty"`
}

// Limits of a question.
const (
	MaxCount = 500
	MaxPath  = 64
)

// An Answer has what its question asked for, or an Error. More says that more entries follow.
type Answer struct {
	Error     string          `json:"error,omitempty"`
	About     json.RawMessage `json:"about,omitempty"`  // a report without stacks and modules
	Waits     json.RawMessage `json:"waits,omitempty"`  // who waits for whom, as drawings of package reportpage
	Memory    json.RawMessage `json:"memory,omitempty"` // areas of package reportpage
	Stacks    []Stack         `json:"stacks,omitempty"`
	Frames    []Frame         `json:"frames,omitempty"`
	End       string          `json:"end,omitempty"` // why there are no more frames
	Modules   []Module        `json:"modules,omitempty"`
	Groups    []Group         `json:"groups,omitempty"`
	Source    *Source         `json:"source,omitempty"` // around the line of the frame
	Variables []Variable      `json:"variables,omitempty"`
	More      bool            `json:"more,omitempty"`
}

// A Stack is that of a thread, or of a task that no thread runs.
type Stack struct {
	Kind    string `json:"kind"`
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	Status  string `json:"status,omitempty"`
	Crashed bool   `json:"crashed,omitempty"`
	Top     string `json:"top,omitempty"` // the function in which it is; not that of a runtime in which it waits
}

// A Module is an image that is mapped in the process.
type Module struct {
	Path    string `json:"path"`
	Base    string `json:"base"`
	ID      string `json:"id,omitempty"` // of the build, in hexadecimal
	Version string `json:"version,omitempty"`
	Status  string `json:"status"`         // as in a report
	Symbols string `json:"symbols"`        // as in a report
	Main    bool   `json:"main,omitempty"` // the program
	// Wanted are the paths in a project's store of symbols at which its missing files would be found.
	Wanted []string `json:"wanted,omitempty"`
}

// A Frame is an entry of a stack.
type Frame struct {
	Function string `json:"function,omitempty"`
	PC       string `json:"pc"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"`
	Offset   string `json:"offset,omitempty"` // in the module
	Inlined  bool   `json:"inlined,omitempty"`
	Tail     bool   `json:"tail,omitempty"`
	Signal   string `json:"signal,omitempty"` // one was delivered here
	Trust    string `json:"trust,omitempty"`
}

// A Group has variables of a frame: its arguments, its local variables, its registers. Variables are the first of them; those of registers are
// left out until they are asked for.
type Group struct {
	Name      string     `json:"name"`
	Count     int        `json:"count"`
	Variables []Variable `json:"variables,omitempty"`
	More      bool       `json:"more,omitempty"`
}

// A Variable is one, or a part of one.
type Variable struct {
	Name   string `json:"name"`
	Type   string `json:"type,omitempty"`
	Value  string `json:"value,omitempty"`
	Reason string `json:"reason,omitempty"` // why there is no value
	Entry  string `json:"entry,omitempty"`  // the value when the function was called
	Parts  bool   `json:"parts,omitempty"`
}

// Source is a part of a file.
type Source struct {
	Path  string   `json:"path"`
	First int      `json:"first"` // the number of the first line
	Line  int      `json:"line"`  // that of the frame
	Lines []string `json:"lines"`
	Newer bool     `json:"newer,omitempty"` // than the program
}
