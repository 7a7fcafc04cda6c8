package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// A deep recursion in the crashed thread's stack. Text folds it into one line, so no entries are made of most of its
// frames: they would be the same as those of a round before, and take more time than all else that is done for a frame.

const (
	// roundsEvery is after how many frames it is looked whether they are rounds of a recursion.
	roundsEvery = 128
	// roundsKept is how many frames at the start of a recursion keep their entries, and how many at its end: more than
	// the rounds that the text shows, and than what its search for other cycles compares.
	roundsKept = 64
)

// leftRounds are the frames from to end-1, which have no entries. They are at the places in the code, and have the names, of
// those a period before.
type leftRounds struct {
	from, end int
}

// foldsRounds reports whether most entries of a recursion are not needed.
func (in *question) foldsRounds(crashed bool) bool {
	return crashed && in.opts.FoldRounds && !in.Explain && !in.Verify && in.opts.Around.Source <= 0
}

// rounds returns the rounds of a recursion after the frame last that need no entries, and what is left out with them: a number of
// entries of which every cycle that the text recognises goes in. The stack then folds as the whole one does. False if
// there are not as many.
func (in *naming) rounds(frames []*unwind.Frame, last int) (leftRounds, report.LeftOut, bool) {
	for period := 1; period <= report.MaxCycle; period++ {
		if last-roundsKept-period < 1 || !sameRounds(frames, last-roundsKept+1, last+1, period) {
			continue
		}
		cycle := in.entriesOf(frames, last-period+1, last+1)
		if cycle == 0 || cycle > report.MaxCycle {
			return leftRounds{}, report.LeftOut{}, false
		}
		end := last + 1
		for end < len(frames) && sameRounds(frames, end, end+1, period) {
			end++
		}
		unit := report.CommonCycle / cycle * period // frames
		n := (end - roundsKept - (last + 1)) / unit
		if n <= 0 {
			return leftRounds{}, report.LeftOut{}, false
		}
		return leftRounds{last + 1, last + 1 + n*unit},
			report.LeftOut{Entries: n * report.CommonCycle, Cycle: cycle}, true
	}
	return leftRounds{}, report.LeftOut{}, false
}

// sameRounds reports whether the frames from to end-1 are where those a period before are, and were found alike.
func sameRounds(frames []*unwind.Frame, from, end, period int) bool {
	for i := from; i < end; i++ {
		f, g := frames[i], frames[i-period]
		if f.RA() != g.RA() || f.Trust() != g.Trust() || f.Stepper() != g.Stepper() || f.NonCall() != g.NonCall() || f.IsTrampoline() || g.IsTrampoline() {
			return false
		}
	}
	return true
}

// entriesOf returns how many entries the frames from to end-1 have; 0 if those of a frame at the same place may be others.
func (in *naming) entriesOf(frames []*unwind.Frame, from, end int) int {
	n := 0
	for i := from; i < end; i++ {
		target := in.direct[frames[i].CodePointer()]
		if target == 0 && !in.NoInlines {
			return 0 // which function was called is known of each frame for itself
		}
		if in.NoInlines {
			target = 0
		}
		key, ok := in.nameKey(frames, i, target)
		list := in.named[key]
		if !ok || list == nil {
			return 0
		}
		n += len(list)
	}
	return n
}
