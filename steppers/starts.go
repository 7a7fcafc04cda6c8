package steppers

import (
	"strings"

	"github.com/corewalk/corewalk/internal/image"
	"github.com/corewalk/corewalk/internal/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// named returns where the function that addr is in begins and ends, by its
// symbol. Of a part that the compiler moved away the function it belongs to is
// meant; it ends where nobody knows then.
func (s *AnalysisStepper) named(w *unwind.Walker, lib *libstate.Library, addr arch.Address) (start, end arch.Address, ok bool) {
	syms := w.SymbolReader()
	if lib == nil || syms == nil {
		return 0, 0, false
	}
	sym, ok := syms.SymbolAt(lib, addr)
	if !ok || sym.Addr > addr || sym.Size == 0 {
		return 0, 0, false
	}
	if image.IsColdPart(sym.Name) {
		name, _, _ := strings.Cut(sym.Name, ".cold")
		if sym, ok = syms.SymbolByName(lib, name); !ok {
			return 0, 0, false
		}
	}
	return sym.Addr, sym.Addr + sym.Size, true
}

// maxStarts bounds the places looked at where a function may begin.
const maxStarts = 16

// choose steps from a frame whose function or path is in doubt: of all rows that
// may be the frame's, the one whose return address follows a call of the
// function wins, else the only one that can have led there.
func (s *AnalysisStepper) choose(x *flowScratch, lookup arch.Address, in, out *unwind.Frame) unwind.Status {
	var best, second candidate
	var bestRow *stackflow.Row
	var bestStart arch.Address
	var starts [maxStarts]functionStart
	w := in.Walker()
	for _, st := range s.starts(starts[:0], lookup, in) {
		flow := s.flows.follow(w, s.pointer(in, st.addr), st.end)
		if flow.Func == nil {
			continue
		}
		x.rows, _ = flow.Rows(x.rows[:0], lookup-flow.bias)
		for _, row := range x.rows {
			c, ok := s.tryRow(row, in, out)
			if !ok || !c.called {
				continue
			}
			switch s.calls(w, c.ra, st.addr, lookup) {
			case InFunc:
				if out.Tracing() {
					out.Notef("by the code from %#x on, which the call before %#x calls: CFA %#x", st.addr, c.ra, c.cfa)
				}
				return s.fill(row, &c, in, out)
			case PCUnknown:
				if bestRow == nil {
					best, bestRow, bestStart = c, row, st.addr
				} else if c != best && second.ra == 0 && !st.weak {
					second = c
				}
			}
		}
	}
	if bestRow == nil || second.ra != 0 {
		if out.Tracing() {
			out.Notef("no code that leads to %#x tells where the frame is: %v", lookup, second.ra != 0)
		}
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("by the code from %#x on: CFA %#x", bestStart, best.cfa)
	}
	return s.fill(bestRow, &best, in, out)
}

// calls tells whether the call that returns to ra calls the function at start,
// or leads to pc otherwise.
func (s *AnalysisStepper) calls(w *unwind.Walker, ra, start, pc arch.Address) PCState {
	site, ok := callBefore(w.ProcessState(), ra)
	if !ok {
		return OutsideFunc
	}
	if !site.Direct {
		return PCUnknown
	}
	if withoutMode(w.ProcessState().Arch(), site.Target) == start {
		return InFunc
	}
	return pcInFunc(w, site.Target, pc)
}

// A functionStart is a place where a function may begin.
type functionStart struct {
	addr, end arch.Address // end is 0 where it is not known
	weak      bool         // only its surroundings say so
}

// starts lists where the function that addr is in may begin, the most likely
// place first.
func (s *AnalysisStepper) starts(list []functionStart, addr arch.Address, in *unwind.Frame) []functionStart {
	w := in.Walker()
	p := w.ProcessState()
	im, lib := s.flows.image(p, addr)
	if start, end, ok := s.named(w, lib, addr); ok {
		list = append(list, functionStart{addr: start, end: end})
	} else if start, size, ok := functionAt(w, addr); ok && size == 0 {
		list = append(list, functionStart{addr: start})
	}
	if im != nil {
		if t := im.EHFrame(); t != nil {
			if start, end, ok := t.FDEForPC(addr - lib.LoadBias); ok {
				list = append(list, functionStart{addr: start + lib.LoadBias, end: end + lib.LoadBias})
			}
		}
	}
	return list
}
