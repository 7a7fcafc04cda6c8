package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
)

// frame appends the entries of one physical frame to out: the functions that left by a tail call on the way to
// its callee, the calls inlined into it, then the frame itself.
func (in *naming) frame(out []report.Frame, frames []*unwind.Frame, physical int) []report.Frame {
	f := frames[physical]
	var target unwind.Address
	if !in.NoInlines {
		target = in.calledAs(frames, physical)
	}
	key, again := in.nameKey(frames, physical, target)
	if again {
		if list := in.named[key]; list != nil {
			return in.sameNames(out, list, f, physical)
		}
	}
	from := len(out)
	base := in.place(frames, physical)
	merged, calls := in.merged(frames, physical, in.callsOf(f))
	if !in.NoInlines {
		for _, c := range in.tailCalls(frames, physical, target) {
			e := virtual(base)
			e.Inlined, e.Tail = c.Inlined, !c.Inlined
			in.fill(&e, c)
			in.inModule(&e, c.Entry)
			e.Index = len(out)
			out = append(out, e)
		}
	}
	for i, c := range calls {
		if i < len(calls)-1 && in.NoInlines {
			continue
		}
		e := base
		if i < len(calls)-1 {
			e = virtual(base)
			e.Inlined = true
		}
		in.fill(&e, c)
		if in.NoInlines && len(calls) > 1 {
			e.Source = source(calls[0]) // the current line of the frame, even if it is inlined
		}
		e.Index = len(out)
		out = append(out, e)
	}
	if len(calls) == 0 {
		base.Index = len(out)
		out = append(out, base)
	}
	out[len(out)-1].Merged = merged
	if in.Explain && !f.Tracing() {
		in.unexplained++
	} else if in.Explain {
		var caller *unwind.Frame
		if physical+1 < len(frames) {
			caller = frames[physical+1]
		}
		out[len(out)-1].Explain = in.explain(f, caller)
	}
	if in.Verify && physical > 0 && f.Verified() {
		out[len(out)-1].Verify = verdicts(f)
	} else if in.Verify && physical > 0 {
		in.unverified++
	}
	if again && merged == nil && !in.moved[f] {
		if in.named == nil {
			in.named = map[nameKey][]report.Frame{}
		}
		in.named[key] = slices.Clone(out[from:])
	}
	return out
}

// A nameKey is what decides on the entries of a frame, but for where on the stack it is: its place in the code, how it
// was found, where its callee is, and which function it called.
type nameKey struct {
	ra, lookup, callee, target unwind.Address
	trust                      unwind.Trust
	stepper                    unwind.FrameStepper
	nonCall, crashed, doubtful bool
}

// maxNamed limits how many frames' entries are kept for others.
const maxNamed = 1 << 14

// nameKey returns the key of a frame; false if its entries depend on more, or are not kept.
func (in *naming) nameKey(frames []*unwind.Frame, physical int, target unwind.Address) (nameKey, bool) {
	if physical == 0 || in.Explain || in.Verify || len(in.named) >= maxNamed {
		return nameKey{}, false
	}
	f, callee := frames[physical], frames[physical-1]
	if f.IsTrampoline() || callee.IsTrampoline() {
		return nameKey{}, false // the signal is in memory
	}
	key := nameKey{ra: f.RA(), lookup: f.LookupAddr(), callee: callee.LookupAddr(), target: target,
		trust: f.Trust(), stepper: f.Stepper(), nonCall: f.NonCall(), crashed: in.crashed, doubtful: f.RALocation().Doubtful}
	// Which of several merged calls it was depends on registers.
	if !in.crashed || in.named[key] != nil {
		return key, true
	}
	never, _ := in.neverReturned(frames, physical)
	return key, never == ""
}

// sameNames appends the entries of a frame that has those of another one.
func (in *Engine) sameNames(out, list []report.Frame, f *unwind.Frame, physical int) []report.Frame {
	at := len(out)
	out = append(out, list...)
	cfa, known := f.CFA()
	for i := at; i < len(out); i++ {
		e := &out[i]
		e.Index, e.Physical, e.SP, e.CFA = i, physical, report.Addr(f.SP()), 0
		if known {
			e.CFA = report.Addr(cfa)
		}
	}
	own := &out[len(out)-1]
	own.ReturnAddressLocation = in.returnAddressOf(f)
	return out
}

// returnAddressOf returns where the return address of a frame was found.
func (in *Engine) returnAddressOf(f *unwind.Frame) report.Location {
	switch l := f.RALocation(); l.Kind {
	case unwind.LocAddress:
		return report.Location{Address: report.Addr(l.Addr)}
	case unwind.LocRegister:
		return report.Location{Register: in.arch.RegName(l.Reg)}
	}
	return report.Location{}
}

// place returns what is known of a frame without symbols.
func (in *question) place(frames []*unwind.Frame, physical int) report.Frame {
	f := frames[physical]
	out := report.Frame{
		Physical: physical,
		PC:       report.Addr(f.RA()),
		SP:       report.Addr(f.SP()),
		Lookup:   report.Addr(f.LookupAddr()),
		Trust:    f.Trust().String(),
		Stepper:  "registers",
		Doubtful: f.RALocation().Doubtful,
	}
	if cfa, ok := f.CFA(); ok {
		out.CFA = report.Addr(cfa)
	}
	if s := f.Stepper(); s != nil {
		out.Stepper = s.Name()
	}
	out.ReturnAddressLocation = in.returnAddressOf(f)
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(f.LookupAddr()); ok {
			out.Module = lib.Path
			out.Offset = report.Addr(f.RA() - lib.LoadBias)
			if in.Files != nil {
				out.Mismatched = in.Files.Resolve(lib).Forced
			}
		}
	}
	if out.Module == "" && physical > 0 && steppers.IsUprobe(in.Proc, f.RA()) {
		out.Function = "[uprobes]" // as the kernel calls the page
	}
	in.signal(frames, physical, &out)
	return out
}

// virtual returns the entry of a call that has no frame of its own.
func virtual(base report.Frame) report.Frame {
	base.Signal, base.SignalNumber, base.SignalConfidence = "", 0, ""
	base.ReturnAddressLocation = report.Location{}
	return base
}

// inModule sets the module of a tail-called function, which may differ from its caller's, and the
// offset of the function in that module.
func (in *Engine) inModule(e *report.Frame, entry unwind.Address) {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return
	}
	if lib, ok := libs.LibraryAt(entry); ok {
		e.Module, e.Offset = lib.Path, report.Addr(entry-lib.LoadBias)
	}
}

func (in *Engine) fill(e *report.Frame, c unwind.Call) {
	e.Function, e.Symbol, e.NoReturn = c.Name, c.LinkageName, c.NoReturn
	e.Source = source(c)
	if !c.Inlined {
		e.Entry = report.Addr(c.Entry)
	}
}

func source(c unwind.Call) report.Source {
	if c.File == "" {
		return report.Source{}
	}
	return report.Source{File: c.File, Line: c.Line, Column: c.Column}
}

// lookUps returns what the look-ups of calls have read so far, whoever asked.
func (in *Engine) lookUps() int64 {
	if w, counts := in.Walker.SymbolLookup().(interface{ Work() int64 }); counts {
		return w.Work()
	}
	return 0
}

// chargeLookUps charges what the look-ups of calls have read since the last time. What follows notices that nothing is left.
func (in *Engine) chargeLookUps() {
	now := in.lookUps()
	_ = in.Budget.Spend(int(now - in.lookedUp))
	in.lookedUp = now
}

// callsOf returns the calls in a frame, or just its name if the lookup does not know calls. The slice is valid
// until the next call.
func (in *Engine) callsOf(f *unwind.Frame) []unwind.Call {
	in.calls = in.calls[:0]
	switch lookup := in.Walker.SymbolLookup().(type) {
	case nil:
	case unwind.CallLookup:
		in.calls, _ = lookup.LookupCalls(f.LookupAddr(), in.calls)
		in.chargeLookUps()
	default:
		if name, err := f.Name(); err == nil {
			in.calls = append(in.calls, unwind.Call{Name: name})
		}
	}
	return in.calls
}
