package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// frame appends the entries of one physical frame to out: the functions that left by a tail call on the way to
// its callee, the calls inlined into it, then the frame itself.
func (in *inspection) frame(out []report.Frame, frames []*unwind.Frame, physical int) []report.Frame {
	f := frames[physical]
	base := in.place(f, physical)
	merged, calls := in.merged(frames, physical, in.callsOf(f))
	if !in.opts.NoInlines {
		for _, c := range in.tailCalls(frames, physical) {
			e := virtual(base)
			e.Inlined, e.Tail = c.Inlined, !c.Inlined
			in.fill(&e, c)
			in.inModule(&e, c.Entry)
			e.Index = len(out)
			out = append(out, e)
		}
	}
	for i, c := range calls {
		if i < len(calls)-1 && in.opts.NoInlines {
			continue
		}
		e := base
		if i < len(calls)-1 {
			e = virtual(base)
			e.Inlined = true
		}
		in.fill(&e, c)
		if in.opts.NoInlines && len(calls) > 1 {
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
	if in.opts.Explain {
		var caller *unwind.Frame
		if physical+1 < len(frames) {
			caller = frames[physical+1]
		}
		out[len(out)-1].Explain = in.explain(f, caller)
	}
	if in.opts.Verify && physical > 0 {
		out[len(out)-1].Verify = verdicts(f)
	}
	return out
}

// place returns what is known of a frame without symbols.
func (in *inspection) place(f *unwind.Frame, physical int) report.Frame {
	out := report.Frame{
		Physical: physical,
		PC:       report.Addr(f.RA()),
		SP:       report.Addr(f.SP()),
		Lookup:   report.Addr(f.LookupAddr()),
		Trust:    f.Trust().String(),
		Stepper:  "registers",
	}
	if cfa, ok := f.CFA(); ok {
		out.CFA = report.Addr(cfa)
	}
	if s := f.Stepper(); s != nil {
		out.Stepper = s.Name()
	}
	switch l := f.RALocation(); l.Kind {
	case unwind.LocAddress:
		out.ReturnAddressLocation = report.Location{Address: report.Addr(l.Addr)}
	case unwind.LocRegister:
		out.ReturnAddressLocation = report.Location{Register: in.arch.RegName(l.Reg)}
	}
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(f.LookupAddr()); ok {
			out.Module = lib.Path
			out.Offset = report.Addr(f.RA() - lib.LoadBias)
			if in.Files != nil {
				out.Mismatched = in.Files.Resolve(lib).Forced
			}
		}
	}
	in.signal(f, &out)
	return out
}

// virtual returns the entry of a call that has no frame of its own.
func virtual(base report.Frame) report.Frame {
	base.Signal, base.SignalNumber = "", 0
	base.ReturnAddressLocation = report.Location{}
	return base
}

// inModule sets the module of a tail-called function, which may differ from its caller's, and the
// offset of the function in that module.
func (in *inspection) inModule(e *report.Frame, entry unwind.Address) {
	libs := in.Proc.LibraryTracker()
	if libs == nil {
		return
	}
	if lib, ok := libs.LibraryAt(entry); ok {
		e.Module, e.Offset = lib.Path, report.Addr(entry-lib.LoadBias)
	}
}

func (in *inspection) fill(e *report.Frame, c unwind.Call) {
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

// callsOf returns the calls in a frame, or just its name if the lookup does not know calls. The slice is valid
// until the next call.
func (in *inspection) callsOf(f *unwind.Frame) []unwind.Call {
	in.calls = in.calls[:0]
	switch lookup := in.Walker.SymbolLookup().(type) {
	case nil:
	case unwind.CallLookup:
		w, counts := lookup.(interface{ Work() int64 })
		if !counts {
			in.calls, _ = lookup.LookupCalls(f.LookupAddr(), in.calls)
			break
		}
		before := w.Work()
		in.calls, _ = lookup.LookupCalls(f.LookupAddr(), in.calls)
		_ = f.Spend(int(w.Work() - before)) // what follows notices that nothing is left
	default:
		if name, err := f.Name(); err == nil {
			in.calls = append(in.calls, unwind.Call{Name: name})
		}
	}
	return in.calls
}
