package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A PCState says whether a pc is in a function.
type PCState uint8

const (
	PCUnknown   PCState = iota // it is not known
	InFunc                     // it is
	OutsideFunc                // it is not
)

// String gives StackwalkerAPI's name.
func (s PCState) String() string {
	return [...]string{"unknown_s", "in_func", "outside_func", "?"}[s&3]
}

// maxTailCalls limits the jumps out of a function that are followed.
const maxTailCalls = 8

// pcInFunc says whether pc is in the function that begins at entry, or in one that it
// reaches by a linkage stub or a tail call.
func (fl *flows) pcInFunc(w *unwind.Walker, entry, pc arch.Address) PCState {
	p := w.ProcessState()
	if entry == 0 || !isCode(p, pc) {
		return PCUnknown
	}
	if !isCode(p, withoutMode(p.Arch(), entry)) {
		return OutsideFunc
	}
	entry, bound := throughStub(p, entry)
	if !bound {
		return PCUnknown
	}
	var tails tailCalls
	state := fl.inBody(w, entry, pc, &tails)
	if tails.indirect {
		return PCUnknown
	}
	for _, to := range tails.to[:tails.n] {
		to, bound := throughStub(p, to)
		if !bound {
			return PCUnknown
		}
		var more tailCalls
		switch s := fl.inBody(w, to, pc, &more); {
		case s == InFunc:
			return InFunc
		case s == PCUnknown || more.n > 0 || more.indirect:
			state = PCUnknown // another jump further, it may be
		}
	}
	return state
}

// tailCalls are the jumps with which control leaves a function.
type tailCalls struct {
	to       [maxTailCalls]arch.Address
	n        int
	indirect bool // there are more, with unknown targets
}

func (t *tailCalls) add(to arch.Address) {
	if t.n == len(t.to) {
		t.indirect = true
		return
	}
	t.to[t.n] = to
	t.n++
}

// inBody says whether pc is in the body of the function at entry, and with which jumps
// control leaves that. Symbols decide if there are any; otherwise the code does.
func (fl *flows) inBody(w *unwind.Walker, entry, pc arch.Address, tails *tailCalls) PCState {
	a := w.ProcessState().Arch()
	at := withoutMode(a, entry)
	if at == pc {
		return InFunc
	}
	start, size, ok := functionAt(w, pc)
	if ok && start == at {
		return InFunc
	}
	if ok && at-start < size {
		return InFunc // a second entry point in the middle of pc's function
	}
	if _, ok := decodeAt(w.ProcessState(), entry); !ok {
		return PCUnknown // of an architecture without a decoder, or not code
	}
	end := arch.Address(0)
	if s, e, named := named(w, at); named && s == at {
		end = e
	}
	flow := fl.follow(w, entry, end)
	if flow.Func == nil {
		return PCUnknown
	}
	rows, _ := flow.Rows(nil, pc-flow.bias)
	if len(rows) > 0 && (!ok || start <= at) { // otherwise another function begins in between
		return InFunc
	}
	for _, t := range flow.Tails {
		tails.add(t.To + flow.bias)
	}
	tails.indirect = tails.indirect || flow.TailsUnknown
	return OutsideFunc
}

// leadsTo reports whether control can get from one place in a function to another
// without leaving the function.
func (fl *flows) leadsTo(w *unwind.Walker, from, to arch.Address) bool {
	flow := fl.follow(w, from, 0)
	if flow.Func == nil {
		return false
	}
	rows, _ := flow.Rows(nil, withoutMode(w.ProcessState().Arch(), to)-flow.bias)
	return len(rows) > 0
}

// hasCalled reports whether the call that returns to ra leads to the function at pc.
func (fl *flows) hasCalled(w *unwind.Walker, ra, pc arch.Address) bool {
	site, ok := callBefore(w.ProcessState(), ra)
	return ok && site.Direct && fl.pcInFunc(w, site.Target, pc) == InFunc
}

// mayHaveCalled reports whether the call that returns to ra can have led to pc.
func (fl *flows) mayHaveCalled(w *unwind.Walker, ra, pc arch.Address) bool {
	site, ok := callBefore(w.ProcessState(), ra)
	return ok && fl.pcInFunc(w, site.Target, pc) != OutsideFunc
}
