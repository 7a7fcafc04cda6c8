// Package message finds in a process's memory what the program itself said, or was
// about to say, when it ended itself: the C library's abort message, a failed
// assertion, the exception that nothing caught, the panic of a language's run-time
// library.
//
// Nothing is searched for by its looks alone. A message is read where the library that
// wrote it keeps it: a variable that it exports, the thread's own list of exceptions,
// an argument that it passed on. What does not fit the layout known is not reported,
// and every message says where it was read.
//
// The memory is a dump's, and hostile: reads, counts and texts are bounded, and texts
// are valid UTF-8.
package message

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is what is asked about the process that died. Mem, Arch and Stack are
// required. It is for one goroutine.
type Process struct {
	Arch *arch.Arch
	Mem  arch.Memory
	// Stack is that of the thread that died, youngest frame first.
	Stack []Frame
	// Program is the name that the program was started by, as far as it is known.
	Program string
	// Windows says that the process ran on Windows: functions are called as there.
	Windows bool
	// Exception are the code and the parameters of the exception of Windows that the
	// process died of; Code is 0 for none.
	Exception Exception
	// LibraryAt finds the library loaded over an address; nil for none.
	LibraryAt func(arch.Address) *libstate.Library
	// Symbol finds a symbol of a library by its name.
	Symbol func(lib *libstate.Library, name string) (arch.Address, bool)
	// Function is the linkage name of the function that begins at an address, or ""
	// where none is known to.
	Function func(arch.Address) string
	// ThreadLocal is the address in the dying thread's copy of a library's
	// thread-local storage: the library's number and an offset, as compilers pass them
	// to __tls_get_addr.
	ThreadLocal func(module, offset uint64) (arch.Address, bool)
	// NamedMapping finds the mapping of that name that is no file; nil for none.
	NamedMapping func(name string) (libstate.Mapping, bool)
	// Mapping finds the mapping over an address; nil for none.
	Mapping func(arch.Address) (libstate.Mapping, bool)

	symbols map[symbolKey]symbol // those asked for
}

type symbolKey struct {
	lib  *libstate.Library
	name string
}

type symbol struct {
	addr arch.Address
	ok   bool
}

// An Exception is one of Windows.
type Exception struct {
	Code   uint32
	Params []uint64
}

// A Frame is a physical frame of a stack, and the names of the functions that are in
// it: the calls inlined, innermost first, then the function itself.
type Frame struct {
	*unwind.Frame
	Names []string
}

// is reports whether the frame is of one of the functions.
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

// Words are what was found. Where nothing was, Message and Reason are "".
type Words struct {
	// Message is the text as the program writes it to its standard error, without the
	// newline at its end; "" where only the Reason is known.
	Message string
	// Source says where it was read: "__abort_msg in libc.so.6".
	Source string
	// Reason says it in a line of a report; "" to say the Message itself.
	Reason string
	Cause  Cause
	// Finding is what a checker found out about how it came to that; "" for nothing.
	Finding string

	Assertion *Assertion
	// Thrown are the exception that nothing caught, and those nested in it.
	Thrown []Thrown
	Panic  *Panic
}

// A Cause is what kind of end the program told of.
type Cause uint8

const (
	Abort Cause = iota
	FailedAssertion
	UncaughtException
	StackOverrun    // a buffer on the stack
	HeapCorruption  // found by the allocator
	OutOfMemory     // the language's own handler gave up
	InvalidArgument // a function of the C library ended the program for it
	SanitizerError  // a sanitizer of the compiler found it
	StackOverflow   // the language's own handler of it ended the program
)

// An Assertion is a condition that did not hold: the Expression, or that there be no
// Error. Line is 0 where it is not known.
type Assertion struct {
	Expression, Error, File, Function string
	Line                              int
}

// Run-time libraries of languages.
const (
	LibStdCxx = "libstdc++"
	LibCxxABI = "libc++abi"
	MSVC      = "msvc"
	Rust      = "rust"
	Go        = "go"
)

// A Thrown is an exception object.
type Thrown struct {
	Type string // as the source language writes it
	// What is what the exception says: the text of a std::exception, the value of a
	// thrown number or string; HasWhat tells none from an empty one.
	What    string
	HasWhat bool
	Runtime string
	Object  arch.Address

	full    string // the type's name as the run-time library prints it
	derived bool   // from std::exception
}

// A Panic is what Rust and Go call one.
type Panic struct {
	Runtime string
	// Type is that of the value in Go; "" where it is not known.
	Type  string
	Value string
	// Fatal: Go's run-time system gave up; there is no value.
	Fatal bool
	// File, Line and Column are where Rust's panic was; "" and 0 for not known.
	File         string
	Line, Column int
	// Goroutine is the number of the one that panicked; 0 for not known.
	Goroutine uint64
}

// Read finds the last words of a process that ended itself. It answers the zero Words
// when there are none that are certain.
func Read(p *Process) Words {
	if p.Arch == nil || p.Mem == nil {
		return Words{}
	}
	for _, read := range []func(*Process) Words{sanitizerWords, goWords, rustWords, cxxWords, abortMessage, androidMessage, msvcWords, dotNetWords} {
		if w := read(p); w.Message != "" || w.Reason != "" {
			return w
		}
	}
	return Words{}
}

// libraries are those that the stack's frames lie in, the youngest frame's first.
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

// symbol finds a symbol in the libraries of the stack. Others are not asked: their
// files might have to be fetched.
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

// symbolOf asks once for each symbol of a library: a long table is searched.
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

// frame finds the youngest frame of one of the functions; nil when there is none.
func (p *Process) frame(names ...string) *Frame {
	for i := range p.Stack {
		if p.Stack[i].is(names...) {
			return &p.Stack[i]
		}
	}
	return nil
}
