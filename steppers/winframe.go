package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/breakpad"
	"github.com/corewalk/corewalk/internal/postfix"
	"github.com/corewalk/corewalk/unwind"
)

// SymbolWinFrames are the STACK WIN records of a Breakpad symbol file.
func SymbolWinFrames(f *breakpad.File) WinFrames { return symbolWinFrames{f} }

type symbolWinFrames struct{ *breakpad.File }

func (s symbolWinFrames) WinFrame(rva uint32) (*postfix.WinFrame, error) { return s.Win(uint64(rva)) }

// WinFrameStepper walks 32-bit x86 code of Windows by what PDBs and symbol files say of
// its frames (FrameData, FPO).
type WinFrameStepper struct {
	resolve WinFramesResolver
}

// NewWinFrameStepper returns the stepper; ErrBadParam without a resolver.
func NewWinFrameStepper(resolve WinFramesResolver) (*WinFrameStepper, error) {
	if resolve == nil {
		return nil, fmt.Errorf("stepper by frame data without a resolver: %w", unwind.ErrBadParam)
	}
	return &WinFrameStepper{resolve}, nil
}

// Name implements unwind.FrameStepper.
func (s *WinFrameStepper) Name() string { return "WinFrame" }

// Priority implements unwind.FrameStepper.
func (s *WinFrameStepper) Priority() uint32 { return unwind.PriorityDebugStepper + 2 }

// CallerFrame implements unwind.FrameStepper.
func (s *WinFrameStepper) CallerFrame(in, out *unwind.Frame) unwind.Status {
	return unwind.StatusNotMe
}
