package analysis

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A question is what is being found out for one report. What it finds of stacks and code, other than what its options decide, its Engine keeps.
type question struct {
	*Engine
	opts  Options
	tasks taskList

	room    room
	tooLate bool              // the time for variables is over
	alike   map[string]*alike // threads by their stacks
	entries []report.Frame    // scratch

	owners    map[unwind.Address]unwind.ThreadID // of the pages of stacks
	lastOwner unwind.ThreadID                    // and the one asked for last
	lastPage  unwind.Address

	// languageLocals is the number of calls of languages of the crashing thread whose local variables were read.
	languageLocals int
	unexplained    int  // frames whose walk had no budget left to say how their callers were found
	unverified     int  // frames whose walk had none left to ask other steppers
	keepsStarts    bool // tasks are walked again
}

// A naming makes the entries of one stack, and reads their variables.
type naming struct {
	*question
	crashed       bool            // of the crashing thread
	withLocals    int             // number of its frames whose local variables were read
	shown         []bool          // by entry, whether its variables are shown; nil if all are needed
	frames        []*unwind.Frame // the stack
	group         *alike          // threads with that stack, whose variables may be computed from the same; nil if that does not matter
	like          *alike          // what its variables are compared with, instead of being kept
	unlike        bool            // one of them differs
	left          leftRounds
	keepsCalls    bool          // of languages, whose variables may be asked for later
	languageCalls []*tasks.Call // by entry; nil for entries that are none
	outside       bool          // what ended the program is nothing that the innermost function did
}

// threads walks the threads that were asked for: the crashing one first, which tells why the process died, then the
// others by number. It returns the crash; nil if the process did not die.
func (in *question) threads(ctx context.Context, r *report.Report) *crash {
	ids, err := in.Walker.AvailableThreads()
	if err != nil {
		r.Warnings = append(r.Warnings, report.Warning{Code: "no-threads", Message: err.Error()})
		c := in.diedElsewhere()
		c.tell(ctx, r)
		return c
	}
	crashed := in.died()
	r.Dump.Threads = len(ids)
	defer func() {
		if len(r.Threads) >= r.Dump.Threads {
			r.Dump.Threads = 0
		}
	}()
	ids = in.opts.wanted(ids)
	slices.SortFunc(ids, func(a, b unwind.ThreadID) int {
		if (a == crashed) != (b == crashed) {
			if a == crashed {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	var c *crash
	if len(ids) == 0 || ids[0] != crashed {
		c = in.diedElsewhere()
		c.tell(ctx, r)
	} else {
		c = in.diedIn(ctx, &naming{question: in, crashed: true}, in.walk(ctx, crashed))
		in.walked(ctx, c.walked)
		c.tell(ctx, r)
		if in.ended(ctx, r, len(ids)) {
			return c
		}
	}
	others := ids[len(r.Threads):]
	next, stop := in.walks(ctx, others)
	defer stop()
	for range others {
		stack := next()
		t, n := in.thread(ctx, stack, false)
		_, warnings := n.addLanguageCalls(ctx, &t, stack, nil)
		r.Threads, r.Warnings = append(r.Threads, t), append(r.Warnings, warnings...)
		in.walked(ctx, stack)
		if in.Variables != nil {
			in.forget(stack.Frames)
		}
		if in.ended(ctx, r, len(ids)) {
			break
		}
	}
	return c
}

// ended reports whether the analysis must end now, and says so in the report. all is the number of threads wanted.
func (in *Engine) ended(ctx context.Context, r *report.Report, all int) bool {
	w := report.Warning{Code: report.WarnCancelled}
	why := context.Cause(ctx)
	if why == nil {
		if why = in.Budget.Err(); why == nil {
			return false
		}
		w = report.Warning{Code: report.WarnLimit, Advice: "If you trust the dump, give a time limit instead: --deadline 10m"}
	}
	w.Message = fmt.Sprintf("analysis stopped after %d of %d threads: %v", len(r.Threads), all, why)
	r.Warnings = append(r.Warnings, w)
	return true
}

// wanted returns those of ids that were asked for.
func (o *Options) wanted(ids []unwind.ThreadID) []unwind.ThreadID {
	ids = slices.Clone(ids)
	if o.Threads == nil {
		return ids
	}
	return slices.DeleteFunc(ids, func(id unwind.ThreadID) bool { return !slices.Contains(o.Threads, id) })
}

// What parts of a report cost of the Budget, above all in memory: a frame, besides its walk; the entry of an inlined or tail call; a variable,
// or a part of its value; and how many bytes of text cost one unit.
const (
	frameCost    = 464 // the smallest has 16 bytes of stack, which justify 512
	overFrame    = 8   // times as much for a frame in a page of another thread's stack, which those bytes have justified already
	entryCost    = 224
	variableCost = 64
	textPerUnit  = 4
)

// What is reported even if the walk has spent the budget: so many frames of a stack, with names of so many bytes.
const (
	alwaysNamed    = 256
	alwaysNameSize = 4096
)

// leaveLongNames removes names that are longer than what is reported without a budget. One such name may be that of
// all frames.
func leaveLongNames(entries []report.Frame) {
	for i := range entries {
		e := &entries[i]
		for _, s := range []*string{&e.Function, &e.Symbol, &e.Module, &e.Source.File} {
			if len(*s) > alwaysNameSize {
				*s = ""
			}
		}
		if e.Source.File == "" {
			e.Source = report.Source{}
		}
	}
}

// textCost is what the names in entries cost: their bytes may be one name's, but are written for each entry.
func textCost(entries []report.Frame) int {
	n := 0
	for i := range entries {
		e := &entries[i]
		n += len(e.Function) + len(e.Symbol) + len(e.Module) + len(e.Source.File)
	}
	return n / textPerUnit
}

// walk walks the stack of a thread as far as the report has it.
func (in *question) walk(ctx context.Context, id unwind.ThreadID) *unwind.Stack {
	return in.stacks.walk(ctx, id, in.opts.MaxFrames)
}

// thread returns a thread as the report has it, and the naming of its stack.
func (in *question) thread(ctx context.Context, s *unwind.Stack, crashed bool) (report.Thread, *naming) {
	n := &naming{question: in, crashed: crashed}
	return n.thread(ctx, s), n
}

func (in *naming) thread(ctx context.Context, s *unwind.Stack) report.Thread {
	crashed := in.crashed
	t := report.Thread{ID: int(s.Thread), Crashed: crashed, End: s.End.String()}
	t.Name = in.Proc.ThreadName(s.Thread)
	t.EndDetail = in.endDetail(s)
	if len(s.Frames) == 0 {
		return t
	}
	if in.opts.Registers || crashed {
		t.Registers = in.registers(s.Frames[0])
	}
	frames := s.Frames
	compares := !crashed && len(in.Found) == 0 && len(frames) <= maxAlike && in.comparesThreads()
	if compares {
		t.Frames = in.entries[:0]
	} else {
		size := len(frames) + len(frames)/8
		size = min(size, max(alwaysNamed, in.Budget.Affords(frameCost))) // the walk may have spent it
		if in.foldsRounds(crashed) {
			size = min(size, 4*roundsEvery)
		}
		t.Frames = make([]report.Frame, 0, size)
	}
	folds := in.foldsRounds(crashed)
	ends := make([]int, len(frames)) // where the entries of each frame end
	var left report.LeftOut
	asked := 0 // how many entries have been asked whether they execute a language
	for i := 0; i < len(frames); i++ {
		before := len(t.Frames)
		if before > 1<<12 && cap(t.Frames)-before < 1<<10 { // append grows a large slice by a quarter only, and copies it each time
			more := before
			if !folds { // as many for each frame that is left
				more = max(before/4, min(before*(len(frames)-i)/(i+1)*9/8, in.Budget.Affords(entryCost)))
			}
			t.Frames = slices.Grow(t.Frames, more)
		}
		t.Frames = in.frame(t.Frames, frames, i)
		ends[i] = len(t.Frames)
		for k := range t.Frames[before:] {
			t.Frames[before+k].Index += left.Entries
		}
		cost := frameCost
		if in.overAnother(s.Thread, frames[i].SP()) {
			cost *= overFrame
		}
		if in.Budget.Spend(cost+entryCost*(ends[i]-before-1)+textCost(t.Frames[before:])) != nil {
			leaveLongNames(t.Frames[before:])
			if i+1 >= alwaysNamed {
				in.room.entries(t.Frames[before:])
				frames = frames[:i+1]
				break
			}
			folds = false
		}
		in.room.entries(t.Frames[before:]) // cuts names, which have been charged whole: to find them cost as much
		if folds && in.left.end == 0 && i%roundsEvery == roundsEvery-1 {
			var found bool
			executes := in.executes(t.Frames[asked:])
			asked = len(t.Frames)
			if executes {
				folds = false // the rounds differ in the calls of a language
			} else if in.left, left, found = in.rounds(frames, i); found {
				for ; i+1 < in.left.end; i++ {
					ends[i+1] = len(t.Frames)
				}
			}
		} else if i == in.left.end && i > 0 {
			t.Frames[before].LeftOut = left
		}
	}
	var like *alike
	if compares {
		in.entries = t.Frames
		like = in.alikeTo(&t, s)
		if in.group = like; like != nil && !like.sameCode(s.Frames) {
			in.group = nil
		}
		if like != nil && in.foldsThreads() && in.join(ctx, &t, like, frames, ends) {
			return t
		}
		t.Frames = slices.Clone(t.Frames)
	}
	in.allVariables(ctx, &t, frames, ends)
	if like != nil {
		like.add(t.Frames)
	}
	if in.wantsAround(crashed) {
		in.sources(t.Frames)
		if in.opts.Around.Code {
			for i := range frames[:min(len(frames), maxAroundFrames)] {
				e := &t.Frames[ends[i]-1]
				e.Code = in.code(frames[i], unwind.Address(e.Entry))
				text := 0 // names of functions that are called, too
				for j := range e.Code {
					text += len(e.Code[j].Text)
				}
				if in.Budget.Spend(text/textPerUnit) != nil {
					break
				}
			}
		}
	}
	return t
}

// overAnother reports whether a frame of a thread is in a page in which another thread has frames that were named before. No two
// threads run on one stack, but a dump may say so of all.
func (in *question) overAnother(id unwind.ThreadID, sp unwind.Address) bool {
	const page = 4096
	at := sp / page
	if id == unwind.NullThread || id == in.lastOwner && at == in.lastPage {
		return false
	}
	if in.owners == nil {
		in.owners = map[unwind.Address]unwind.ThreadID{}
	}
	if owner, ok := in.owners[at]; ok && owner != id {
		return true
	}
	in.owners[at], in.lastOwner, in.lastPage = id, id, at
	return false
}

func (in *Engine) registers(f *unwind.Frame) report.Registers {
	var out report.Registers
	regs := f.Registers()
	for r := range arch.Reg(in.arch.NumRegs()) {
		if v, ok := regs.Get(r); ok {
			out = append(out, report.Register{Name: in.arch.RegName(r), Value: report.Addr(v)})
		}
	}
	return out
}

// signal names the signal that a trampoline frame delivered.
func (in *question) signal(frames []*unwind.Frame, physical int, out *report.Frame) {
	if !frames[physical].IsTrampoline() {
		return
	}
	out.Signal = report.UnknownSignal
	if s, sure := in.delivered(frames, physical); sure != "" {
		out.SignalNumber = s.Number
		if name := s.Name(); name != "" {
			out.Signal = name
		}
		if sure != report.Certain {
			out.SignalConfidence = sure
		}
	}
}
