// Package dwarfvars reads the variables of functions from DWARF debugging
// information, and from PDBs where there is none: which are alive in a frame of a
// walked stack, where they are, and what their values are.
//
// A Reader belongs to one process. FunctionForFrame and GetLocalVariableValue
// are those of StackwalkerAPI, for programs that want bytes; At gives one frame
// of a stack as an Activation, which knows the variables of the function and of
// the calls inlined at the frame's address, and reads them as trees of Values
// that print like the source language writes them.
//
// Everything is asked for at Frame.LookupAddr, with the registers of that very
// frame. Only units that frames fall in are read, and those that their types
// refer to; of PDBs the records of the functions and types.
package dwarfvars
