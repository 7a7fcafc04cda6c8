// Package provenance traces a value that a function's code had at an instruction back to
// where the code got it from: a load, a constant, the result of a call, a parameter.
//
// A Func is the code of one function with its control flow. Before answers what a
// register or a word of the stack held before an instruction, as a Value: the one
// definition that reaches it, or, where paths meet and bring different ones, a Join of
// them. The values of one Func are the same when their pointers are: code that copies
// a value from register to register and to the stack and back has one Value for all.
// A Tracer knows besides what the registers and the memory of one frame hold, which
// says what a Value was.
//
// The rules work on disasm.Inst, for every architecture that the control flow is known
// of (internal/code/stackflow). What is believed beside the instructions is the platform's
// convention: that calls leave the stack pointer, the callee-saved registers and those
// words of the frame alone whose address the function gives to nobody. The method is
// that of RETracer (Cui et al., RETracer: Triaging Crashes by Reverse Execution from
// Partial Memory Dumps, ICSE 2016), for one frame at a time.
//
// Everything is bounded, in instructions and in paths; what is beyond is Unknown.
package provenance
