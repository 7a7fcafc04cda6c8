// Package provenance traces the value of a register or a stack word at an instruction back to its origin in the
// same function: a load, a constant, the result of a call, a parameter.
//
// A Func is the code of one function with its control flow. Before returns what a register or a stack word held
// before an instruction, as a Value: the definition that reaches the instruction or, if paths with different
// definitions meet, a Join of them. Two Values of one Func are the same if their pointers are equal: code that
// copies a value between registers and the stack has one Value for all copies. An Evaluator also knows the
// registers and the memory of one frame, and computes what a Value was.
//
// The rules work on disasm.Inst, for every architecture whose control flow is known (internal/code/stackflow).
// Beyond the instructions they rely on the platform's calling convention: calls preserve the stack pointer, the
// callee-saved registers, and those words of the frame above it whose address does not escape. The method is that of
// RETracer (Cui et al., RETracer: Triaging Crashes by Reverse Execution from Partial Memory Dumps, ICSE 2016),
// for one frame at a time.
//
// The number of instructions and paths visited is limited; what lies beyond is Unknown.
package provenance
