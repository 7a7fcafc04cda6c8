package steppers

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxStarts bounds the places looked at where a function may begin.
const maxStarts = 16

// choose steps from a frame whose function or path is in doubt. Of all rows that may be
// the frame's, the one whose return address follows a call of the function wins;
// otherwise the only one whose call can have led there.
func (s *AnalysisStepper) choose(x *flowScratch, lookup arch.Address, in, out *unwind.Frame) unwind.Status {
	var best, second candidate
	var bestRow *stackflow.Row
	var bestStart functionStart
	var starts [maxStarts]functionStart
	w := in.Walker()
	for _, st := range s.flows.starts(starts[:0], lookup, in) {
		flow := s.flows.follow(w, st.addr|modeOf(in), st.end)
		if flow.Func == nil {
			continue
		}
		x.rows, _ = flow.Rows(x.rows[:0], lookup-flow.bias)
		for _, row := range x.rows {
			c, _ := s.tryRow(row, in, out)
			if !c.called {
				continue
			}
			switch s.flows.calls(w, c.ra, st.addr, lookup) {
			case InFunc:
				if out.Tracing() {
					out.Notef("from the code at %#x on, called before %#x: CFA %#x", st.addr, c.ra, c.cfa)
				}
				return s.fill(row, &c, in, out)
			case PCUnknown:
				if bestRow == nil {
					best, bestRow, bestStart = c, row, st
				} else if c != best && second.ra == 0 && (!st.weak || bestStart.weak) {
					second = c
				}
			}
		}
	}
	if bestRow == nil || second.ra != 0 {
		if out.Tracing() {
			why := "no code path to %#x shows where the frame is"
			if second.ra != 0 {
				why = "the code paths to %#x differ in where the frame is"
			}
			out.Notef(why, lookup)
		}
		return unwind.StatusNotMe
	}
	if out.Tracing() {
		out.Notef("from the code at %#x on: CFA %#x", bestStart.addr, best.cfa)
	}
	best.doubt = best.doubt || bestStart.weak
	return s.fill(bestRow, &best, in, out)
}

// calls reports whether the call that returns to ra calls the function at start, or
// leads to pc in another way.
func (fl *flows) calls(w *unwind.Walker, ra, start, pc arch.Address) PCState {
	site, _ := callBefore(w.ProcessState(), ra)
	if withoutMode(w.ProcessState().Arch(), site.Target) == start {
		return InFunc
	}
	return fl.pcInFunc(w, site.Target, pc)
}

// A functionStart is a place where a function may begin.
type functionStart struct {
	addr, end arch.Address // end is 0 if not known
	weak      bool         // only the code around it says so
}

// starts lists where the function that contains addr may begin, most likely first.
func (fl *flows) starts(list []functionStart, addr arch.Address, in *unwind.Frame) []functionStart {
	w := in.Walker()
	p := w.ProcessState()
	im, lib := fl.image(p, addr)
	if start, end, ok := named(w, addr); ok {
		return append(list, functionStart{addr: start, end: end})
	}
	if start, size, ok := functionAt(w, addr); ok && size == 0 {
		list = append(list, functionStart{addr: start})
	}
	if im != nil && !im.ELF().DebugOnly() {
		bias := im.Bias(lib.LoadBias)
		if t := im.EHFrame(); t != nil {
			if start, end, ok := t.FDEForPC(addr - bias); ok {
				list = append(list, functionStart{addr: start + bias, end: end + bias})
			}
		}
		list = called(list, im.CallTargets(p.Arch()), addr, modeOf(in), bias, p.Arch())
	}
	return fl.padded(list, w, addr, modeOf(in))
}

// called appends the nearest call targets up to addr. They are code pointers of the
// file; only those that reach code in addr's instruction set (mode) count. The next
// target after addr is the function's end.
func called(list []functionStart, targets []uint64, addr, mode, bias arch.Address, a *arch.Arch) []functionStart {
	i, _ := slices.BinarySearch(targets, addr-bias+1+mode)
	end := arch.Address(0)
	for _, to := range targets[i:] {
		if to += bias; withoutMode(a, to)^to == mode {
			if to-addr < maxFuncCode {
				end = withoutMode(a, to)
			}
			break
		}
	}
	for n := 0; i > 0 && n < maxCalled && len(list) < maxStarts; {
		i--
		to := targets[i] + bias
		if addr-withoutMode(a, to) > maxFuncCode {
			break
		}
		if withoutMode(a, to)^to != mode {
			continue // in the other instruction set
		}
		list = append(list, functionStart{addr: withoutMode(a, to), end: end})
		n++
	}
	return list
}

// maxCalled bounds the targets of calls that are tried.
const maxCalled = 4

// maxPadded is how far before an address to look for padding, in bytes.
const maxPadded = 4096

// padded appends the addresses before addr where the code looks like the start of a
// function. mode says which instruction set the code is in.
func (fl *flows) padded(list []functionStart, w *unwind.Walker, addr, mode arch.Address) []functionStart {
	p := w.ProcessState()
	from := max(addr, maxPadded) - maxPadded
	if m, ok, _ := mappingAt(p, addr); ok {
		from = max(from, m.Start)
	}
	if w.Spend(paddedCost) != nil {
		return list
	}
	code := readFunc(p, from, addr+1)
	kept := func(at uint64, ends func() bool) bool { return fl.keptEnd(w, at, ends) }
	for _, at := range stackflow.StartsKept(p.Arch(), code, from, withoutMode(p.Arch(), addr)|mode, maxStarts-len(list), kept) {
		list = append(list, functionStart{addr: at, weak: true})
	}
	return list
}

const (
	// paddedCost is what looking for padding costs of the walk's budget, and endCost what decoding the code before an address does
	// that was not yet looked at.
	paddedCost = 256
	endCost    = 64
	// maxEnds limits the addresses of which is kept whether there is padding before them.
	maxEnds = 1 << 16
)

// keptEnd returns whether a function seems to end before at, a code pointer: what ends has found out once.
func (fl *flows) keptEnd(w *unwind.Walker, at arch.Address, ends func() bool) bool {
	fl.mu.Lock()
	v, ok := fl.ends[at]
	fl.mu.Unlock()
	if ok {
		return v
	}
	if w.Spend(endCost) != nil {
		return false
	}
	v = ends()
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.ends == nil || len(fl.ends) >= maxEnds {
		fl.ends = map[arch.Address]bool{}
	}
	fl.ends[at] = v
	return v
}
