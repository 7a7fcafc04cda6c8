// Package steppers holds the frame steppers that walk stacks of processes of Linux,
// Windows and others, and DefaultGroup, which puts the right ones together.
//
// Asked in this order (see unwind.FrameStepper.Priority):
//
//   - BottomOfStackStepper knows the code that processes and threads begin in.
//   - SigHandlerStepper restores the registers that the kernel saved when it
//     called a signal handler.
//   - DebugStepper follows call frame information (.eh_frame, .debug_frame).
//   - PEUnwindStepper follows the unwind tables of PE images, where WithPEUnwind
//     tells of any.
//   - WinFrameStepper follows the frame data that PDBs and Breakpad symbol files have
//     of 32-bit x86, where WithWinFrames tells of any.
//   - SymCFIStepper follows the call frame information of Breakpad symbol files, where
//     WithSymbolCFI tells of any.
//   - WildPCStepper leaves a program counter that is in no code at all.
//   - FrameFuncStepper follows frame pointers, prologues and epilogues included.
//   - AnalysisStepper follows the function's code to where it keeps its caller's
//     registers.
//   - StepperWanderer scans the stack for return addresses.
//
// The last four guess: each takes a return address only when it lies in
// executable memory just after a call instruction, and none continues from a
// frame whose own return address is no code. In modules that a minidump lists without
// their code, an address counts for which nothing else is known to speak against it.
// Frame.Trust says who found a frame.
//
// Steppers read the process through its ProcessState alone and do not ask
// whether that is a dump. They may be used by several goroutines and for several
// walkers at a time.
package steppers
