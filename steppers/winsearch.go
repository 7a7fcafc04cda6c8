package steppers

import (
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A winGrade says how plausible a word is as the return address of a frame.
type winGrade uint8

const (
	noReturn   winGrade = iota
	mayReturn           // in a module whose code is not available
	afterCall           // after a call
	calledThis          // after a call of the frame's function
)

// grade grades a return address for the frame.
func (x *winStep) grade(ra arch.Address) winGrade {
	g := x.s.flows.grade(x.in, ra, x.ruled)
	if g == mayReturn && x.s.beginsFunction(x.in.Walker().ProcessState(), ra) {
		return noReturn
	}
	return g
}

// grade grades a return address for a frame. ruled says that a rule for the frame gave it: it
// is not refused for being where modules usually have their headers.
func (fl *flows) grade(in *unwind.Frame, ra arch.Address, ruled bool) winGrade {
	w := in.Walker()
	site, ok := callBefore(w.ProcessState(), ra)
	switch {
	case ok: // an indirect call has no target, and may call any function
		switch fl.pcInFunc(w, site.Target, instruction(in)) {
		case InFunc:
			return calledThis
		case PCUnknown:
			return afterCall
		}
	case fl.mayReturn(w, ra, ruled):
		return mayReturn
	}
	return noReturn
}

// beginsFunction reports whether a function begins at an address. A pointer to the
// function is then more likely than the return address of a call that ends the function
// before it.
func (s *WinFrameStepper) beginsFunction(p unwind.ProcessState, addr arch.Address) bool {
	lib := libraryAt(p, addr)
	if lib == nil {
		return false
	}
	frames := fileOf(s.files, lib).WinFrames()
	if frames == nil {
		return false
	}
	rva := uint32(addr - lib.Start)
	w, _ := frames.WinFrame(rva)
	return w != nil && w.Start == rva && w.FunctionHead
}

// gradeAt grades the word at an address.
func (x *winStep) gradeAt(at uint32) winGrade {
	ra, err := x.read(uint64(at))
	if err != nil {
		return noReturn
	}
	if ra == x.in.RA() && uint64(at) == x.in.SP() && x.in.IsTopFrame() {
		if _, called := callBefore(x.in.Walker().ProcessState(), ra); !called {
			return noReturn // a system call stub leaves its own address on the stack
		}
	}
	return x.grade(ra)
}

// searchWords is how far to search for the return address from its place in the record,
// in words. A function that was interrupted may have pushed parameters of a call
// (pushedWords), or have removed its frame.
const (
	searchWords = 40
	pushedWords = 8
)

// search finds where the return address is. It takes the better of the two places where
// it should be, with and without the parameters of the call in progress. If it is at
// neither, it searches around them.
func (x *winStep) search(c unwindrules.WinCall) (unwindrules.WinCall, unwind.Trust, unwind.Status) {
	bare := c
	bare.CalleeParams = 0
	if x.w.Program == "" && x.inProlog() {
		if at, ok := x.first(c.ESP, (x.w.FrameSize(0)+4)/4); ok {
			bare.RaAt = at
			return bare, unwind.TrustScan, unwind.StatusSuccess
		}
	}
	grade := x.gradeAt(x.w.RaSearch(c))
	if c.CalleeParams != 0 {
		if g := x.gradeAt(x.w.RaSearch(bare)); g > grade {
			c, grade = bare, g
		}
	}
	if grade != noReturn {
		return c, unwind.TrustSymCFI, unwind.StatusSuccess
	}
	start := x.w.RaSearch(c)
	v, err := x.read(uint64(start))
	zero := err == nil && v == 0
	if zero && !interrupted(x.in) {
		return c, unwind.TrustSymCFI, unwind.StatusSuccess // the bottom of the stack
	}
	at, ok := x.near(bare)
	switch {
	case !ok && zero:
		return c, unwind.TrustSymCFI, unwind.StatusSuccess
	case !ok:
		note(x.out, "no return address at or near the expected place")
		return c, 0, unwind.StatusNotMe
	}
	if x.out.Tracing() {
		x.out.Notef("no return address at %#x; one is at %#x", start, at)
	}
	c.RaAt = at
	return c, unwind.TrustScan, unwind.StatusSuccess
}

// near searches for the return address around its place in the record.
func (x *winStep) near(c unwindrules.WinCall) (at uint32, ok bool) {
	from := x.w.RaSearch(c)
	if at, ok = x.first(from, pushedWords); !ok && interrupted(x.in) {
		at, ok = x.first(c.ESP, (from-c.ESP)/4)
	}
	if !ok {
		at, ok = x.first(from, searchWords)
	}
	return at, ok
}

// first finds the first word in a range of the stack that can be a return address. If
// the code can be read, that is one after a call.
func (x *winStep) first(from, words uint32) (at uint32, ok bool) {
	end := min(endOfStack(x.in), uint64(from)+4*uint64(min(words, searchWords)))
	for a := uint64(from); a+4 <= end; a += 4 {
		if x.gradeAt(uint32(a)) != noReturn {
			return uint32(a), true
		}
	}
	return 0, false
}
