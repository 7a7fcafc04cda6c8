package tasks

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A SuspendedFrame is a function that gave up its thread and left its variables in an object in
// memory: a C++20 coroutine, an async function of Rust. It has no registers to walk from.
type SuspendedFrame struct {
	// Function is the name as shown to users, Symbol the linkage name; "" if unknown.
	Function, Symbol string
	// Entry is where the function begins that resumes it. PC is code of the place at which it is
	// suspended; Entry where that is not known.
	Entry, PC unwind.Address
	// Object is the address of its variables.
	Object unwind.Address
	// File and Line are the place at which it is suspended. Approximate says that they are
	// those of the whole function.
	File        string
	Line        int
	Approximate bool
	// Language is that of interpreted functions: "python"; "" for native ones.
	Language string
	// Note says what else is known: "final suspend", "not started".
	Note string
	// Awaits says how certain it is that this frame awaits the one before it.
	Awaits       Certainty
	Args, Locals []SuspendedVariable
}

// A SuspendedVariable is a variable of a SuspendedFrame.
type SuspendedVariable struct {
	Name, Type string
	Value      string // in one line, as the source language writes it
	Err        error  // why there is no value
	Entry      string // what an argument was when the function was called, if it may have changed since; "" for none
	Address    unwind.Address
	// Tree reads the value as a tree, for expressions that name parts of it; nil if it has no parts. It is called only while
	// the process can be read.
	Tree func() report.Data
}
