// Package stackflow finds out, from a function's machine code alone, where at
// each of its instructions the caller's registers are: what call frame
// information says where a compiler wrote it.
//
// It follows the control flow from the function's first instruction and keeps
// for every register and every word of the frame that is known what it holds in
// terms of the registers at the entry: the stack pointer of the entry plus a
// constant, the entry's value of some register, a constant, or the stack
// pointer after an alignment. Where paths meet, what differs is unknown; paths
// that arrive with different stack pointers are kept apart, as far as they are
// few, so that the user of a row can tell them by what lies on the stack.
//
// The rules are the same for every architecture: they work on disasm.Inst. What
// an analysis believes beside the instructions is the platform's convention that
// a called function returns with the stack pointer and the callee-saved
// registers as they were, and that nobody writes over saved registers through
// pointers.
//
// An analysis is bounded in instructions, memory and rounds, and reads what Code
// gives it only. A Func is immutable and may be shared between goroutines.
package stackflow
