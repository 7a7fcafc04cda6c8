// Package unwind walks call stacks.
//
// A Walker takes three parts: a ProcessState (registers and memory of a
// process, from a dump or a live one), a StepperGroup (which FrameStepper to
// ask for which address), and a SymbolLookup (names for frames). It turns a
// thread into a Stack of Frames, youngest first. The parts are interfaces: a
// program may bring its own of each.
//
// The vocabulary and the contracts are those of Dyninst's StackwalkerAPI;
// docs/stackwalkerapi.md maps one to the other.
//
// This package knows no file format and opens nothing.
package unwind
