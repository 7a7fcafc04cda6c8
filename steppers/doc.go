// Package steppers has the frame steppers for processes of Linux, Windows and other
// systems, and DefaultGroup, which puts the right ones together.
//
// They are tried in this order (see unwind.FrameStepper.Priority):
//
//   - BottomOfStackStepper recognises the code in which processes and threads begin.
//   - SigHandlerStepper restores the registers that the kernel saved when it
//     called a signal handler.
//   - DebugStepper follows call frame information (.eh_frame, .debug_frame).
//   - PEUnwindStepper follows the unwind tables of PE images.
//   - WinFrameStepper follows the frame data for 32-bit x86 in PDBs and Breakpad
//     symbol files.
//   - SymCFIStepper follows the call frame information in Breakpad symbol files.
//   - FrameSizeStepper goes by the sizes of frames in the PDBs of x64 modules whose images
//     are missing.
//   - WildPCStepper steps from a program counter that is not in code.
//   - MadeCodeStepper goes by the unwind tables that compilers record of the code that they
//     make at run time.
//   - FrameFuncStepper follows frame pointers, in prologues and epilogues too.
//   - AnalysisStepper analyses the function's code to find its caller's registers.
//   - StepperWanderer scans the stack for return addresses.
//
// The last four guess. They accept a return address only in executable memory just
// after a call instruction, and they do not continue from a frame whose own return
// address is not in code. If a minidump lists a module without its code, an address in
// the module is accepted unless something contradicts it. Frame.Trust says which
// stepper found a frame.
//
// Steppers read the process only through its ProcessState; they do not know whether it
// is a dump. They may be used by several goroutines, and for several walkers at the
// same time.
package steppers
