// Package unwind walks call stacks.
//
// A Walker has three parts: a ProcessState (the registers and memory of a dump or a live
// process), a StepperGroup (which chooses the FrameStepper for an address), and a
// SymbolLookup (which names frames). It turns a thread into a Stack of Frames, youngest
// first. The parts are interfaces, and a program may supply its own.
//
// Names and contracts follow Dyninst's StackwalkerAPI; docs/stackwalkerapi.md maps one to
// the other.
//
// This package knows no file format and opens no files.
package unwind
