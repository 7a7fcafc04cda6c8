// Package stackflow determines from a function's machine code alone where the caller's
// registers are at each instruction: what call frame information says if a compiler wrote
// it.
//
// It follows the control flow from the function's first instruction. For every register and
// every known word of the frame it records the content in terms of the registers at the
// entry: the entry's stack pointer plus a constant, the entry's value of a register, a
// constant, or the stack pointer after an alignment. Where paths meet, contents that differ
// become unknown. Paths that arrive with different stack pointers are kept apart as long as
// they are few, so that the user of a row can tell from the stack which one was taken.
//
// The rules are the same for every architecture: they work on disasm.Inst. Beyond the
// instructions, an analysis relies on the platform's conventions: a called function returns
// with the stack pointer and the callee-saved registers unchanged, and nobody overwrites
// saved registers through pointers.
//
// An analysis is limited in instructions, memory and rounds, and reads only what Code
// provides. A Func is immutable and safe for concurrent use.
package stackflow
