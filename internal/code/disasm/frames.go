package disasm

import (
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Frames answers FrameState for many places in the same code, and remembers what it decoded: a place that is asked for again costs
// nothing, another one in a long function what is after the nearest place that was passed. It may be used concurrently.
type Frames struct {
	mu     sync.Mutex // guards the others
	known  map[framePlace]frameAnswer
	passed map[uint64][]frameScan // by the function's start, framesApart bytes apart
	kept   int                    // of passed, in all
}

type framePlace struct{ start, pc uint64 }

type frameAnswer struct {
	typ   FrameType
	state FPState
}

const (
	framesApart = 1 << 10
	maxFrames   = 1 << 12 // that are known; then they are forgotten
	maxPassed   = 1 << 10 // likewise; one takes a kilobyte
)

// Known returns what State said about a place before.
func (f *Frames) Known(start, pc uint64) (FrameType, FPState, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.known[framePlace{start, pc}]
	return a.typ, a.state, ok
}

// State is FrameState. It also returns how many instructions it decoded.
func (f *Frames) State(a *arch.Arch, code []byte, start, pc uint64) (FrameType, FPState, int) {
	if familyOf(a) != arch.FamilyX86 || pc < start || pc-start >= uint64(len(code)) {
		return UnknownFrame, FPUnknown, 0
	}
	f.mu.Lock()
	passed := f.passed[start]
	f.mu.Unlock()
	s, had := newFrameScan(a, start), len(passed)
	for i := had - 1; i >= 0; i-- {
		if passed[i].addr <= pc {
			s = passed[i]
			break
		}
	}
	before := s.n
	passed = passed[:had:had] // others may have it, too
	typ, state := s.frameState(code, start, pc, &passed)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxFrames {
		f.known = map[framePlace]frameAnswer{}
	}
	f.known[framePlace{start, pc}] = frameAnswer{typ, state}
	if more := len(passed) - len(f.passed[start]); more > 0 {
		if f.passed == nil || f.kept+more > maxPassed {
			f.passed, f.kept, more = map[uint64][]frameScan{}, 0, len(passed)
		}
		f.passed[start] = passed
		f.kept += more
	}
	return typ, state, s.n - before
}
