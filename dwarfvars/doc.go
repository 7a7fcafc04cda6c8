// Package dwarfvars reads the variables of functions from DWARF debugging information, or from
// PDBs: which variables live in a frame of a walked stack, where they are, and what their values
// are.
//
// A Reader belongs to one process. FunctionForFrame and GetLocalVariableValue are those of
// StackwalkerAPI and give a variable's bytes. At returns an Activation, one frame of a stack. It
// knows the variables of the frame's function and of the calls inlined there, and reads them as
// trees of Values, which print as the source language writes them.
//
// Every question is about the address Frame.LookupAddr and uses the registers of that frame. A
// Reader reads only the debugging information of the functions that are asked for, and of the
// types of their variables.
package dwarfvars
