package unwind

import "fmt"

// A Status is the result of FrameStepper.CallerFrame.
type Status uint8

const (
	StatusSuccess     Status = iota // out is the caller's frame
	StatusStackBottom               // in is the last frame of the stack
	StatusNotMe                     // not this stepper's kind of frame: ask the next
	StatusError                     // the walk must stop
)

// String returns StackwalkerAPI's name for the status.
func (s Status) String() string {
	switch s {
	case StatusSuccess:
		return "gcf_success"
	case StatusStackBottom:
		return "gcf_stackbottom"
	case StatusNotMe:
		return "gcf_not_me"
	case StatusError:
		return "gcf_error"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Priorities of the default steppers; lower ones are asked first.
const (
	PriorityStackBottom  uint32 = 0x10000
	PriorityDyninstr     uint32 = 0x10010
	PrioritySigHandler   uint32 = 0x10020
	PriorityDebugStepper uint32 = 0x10040
	PriorityFrame        uint32 = 0x10050
	PriorityAnalysis     uint32 = 0x10058
	PriorityWanderer     uint32 = 0x10060
)

// Trust says how a frame was found, and so how reliable it is.
type Trust uint8

const (
	TrustUser            Trust = iota // a user's stepper that set no trust
	TrustContext                      // the thread's registers
	TrustCFI                          // call frame information of the binary
	TrustSymCFI                       // call frame information from a symbol file
	TrustExidx                        // ARM exception index
	TrustPEUnwind                     // PE unwind data
	TrustFrameSize                    // the size of the function's frame in a PDB, without unwind data
	TrustSignal                       // registers the kernel saved for a signal
	TrustInstrumentation              // a marker frame of a binary rewriter
	TrustFramePointer                 // a chain of frame pointers
	TrustAnalysis                     // data-flow analysis of the function's code
	TrustWildPC                       // the pc was not in code: return address at the top of the stack
	TrustScan                         // a stack word that looks like a return address
)

var trustNames = [...]string{"user", "context", "cfi", "sym-cfi", "exidx", "pe-unwind", "frame-size", "signal", "instrumentation",
	"frame-pointer", "analysis", "wild-pc", "scan"}

// String returns the word used in reports.
func (t Trust) String() string {
	if int(t) < len(trustNames) {
		return trustNames[t]
	}
	return fmt.Sprintf("Trust(%d)", uint8(t))
}

// An EndReason says why a walk ended.
type EndReason uint8

const (
	EndBottom     EndReason = iota // a stepper recognised the bottom of the stack
	EndNoStepper                   // no stepper could walk through the last frame
	EndError                       // a stepper reported an error
	EndLoop                        // a frame came again
	EndMaxFrames                   // the frame limit was reached
	EndCancelled                   // the walk's context was cancelled
	EndNoRegister                  // the thread's registers could not be read
	EndLimit                       // the walker's Budget was spent
)

var endNames = [...]string{"bottom", "no-stepper", "error", "loop", "max-frames", "cancelled", "no-registers", "limit"}

// String returns the word used in reports.
func (e EndReason) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return fmt.Sprintf("EndReason(%d)", uint8(e))
}
