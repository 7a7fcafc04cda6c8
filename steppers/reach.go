package steppers

import (
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A PCState says whether a pc is in a function.
type PCState uint8

const (
	PCUnknown   PCState = iota // it cannot be told
	InFunc                     // it is
	OutsideFunc                // it is not
)

// String gives StackwalkerAPI's name.
func (s PCState) String() string {
	return [...]string{"unknown_s", "in_func", "outside_func", "?"}[s&3]
}

// maxTailCalls bounds the jumps out of a function that are followed.
const maxTailCalls = 8

// pcInFunc tells whether pc is in the function that begins at entry, or in one
// that it reaches by a linkage stub or a tail call.
func pcInFunc(w *unwind.Walker, entry, pc arch.Address) PCState {
	p := w.ProcessState()
	if entry == 0 || !isCode(p, pc) {
		return PCUnknown
	}
	if !isCode(p, entry) {
		return OutsideFunc
	}
	entry, bound := throughStub(p, entry)
	if !bound {
		return PCUnknown
	}
	var tails tailCalls
	state := inBody(w, entry, pc, &tails)
	if state != OutsideFunc {
		return state
	}
	if tails.indirect {
		return PCUnknown
	}
	for _, to := range tails.to[:tails.n] {
		to, bound := throughStub(p, to)
		if !bound {
			return PCUnknown
		}
		var more tailCalls
		switch s := inBody(w, to, pc, &more); {
		case s == InFunc:
			return InFunc
		case s == PCUnknown || more.n > 0 || more.indirect:
			state = PCUnknown // another jump further, it may be
		}
	}
	return state
}

// tailCalls are the jumps by which control leaves a function.
type tailCalls struct {
	to       [maxTailCalls]arch.Address
	n        int
	indirect bool // there are more, to who knows where
}

func (t *tailCalls) add(to arch.Address) {
	if t.n == len(t.to) {
		t.indirect = true
		return
	}
	t.to[t.n] = to
	t.n++
}

// inBody tells whether pc is in the body of the function at entry, and how else
// control leaves that. Symbols decide where there are any, else the code does.
func inBody(w *unwind.Walker, entry, pc arch.Address, tails *tailCalls) PCState {
	if entry == pc {
		return InFunc
	}
	start, size, ok := functionAt(w, pc)
	if ok && start == entry {
		return InFunc
	}
	state := walkBody(w.ProcessState(), entry, pc, tails)
	if ok && start > entry && state == InFunc {
		return OutsideFunc // another function begins in between
	}
	if ok && entry > start && size != 0 && entry-start < size {
		return InFunc // an entry in the middle of pc's function
	}
	return state
}

// walkBody runs through the code from entry on. A function ends after an
// instruction that control does not pass, when no branch leads further.
func walkBody(p unwind.ProcessState, entry, pc arch.Address, tails *tailCalls) PCState {
	end := entry + maxFuncCode
	need := entry + maxTailBody
	if pc > entry && pc < end {
		need = max(need, pc+afterPC)
	}
	code := readFunc(p, entry, need)
	far := entry // the furthest branch target so far
	var jumps [maxTailCalls]arch.Address
	n := 0
	for at := entry; ; {
		if at == pc {
			return InFunc
		}
		in, err := disasm.Decode(p.Arch(), code[at-entry:], at)
		if err != nil {
			return PCUnknown
		}
		switch in.Kind {
		case disasm.CondJump:
			if in.Target > at && in.Target < end {
				far = max(far, in.Target)
			}
		case disasm.Jump:
			if n < len(jumps) {
				jumps[n] = in.Target
				n++
			}
		case disasm.JumpIndirect:
			tails.indirect = true
		}
		next := in.Next()
		if in.Kind.EndsBlock() && in.Kind != disasm.CondJump && !in.Conditional && next > far {
			for _, to := range jumps[:n] {
				if to < entry || to >= next {
					tails.add(to)
				}
			}
			return OutsideFunc
		}
		at = next
	}
}

// maxTailBody is how much of a function is read to look for its tail calls.
const maxTailBody = 2048

// mayHaveCalled reports whether the call that returns to ra can have led to pc.
func mayHaveCalled(w *unwind.Walker, ra, pc arch.Address) bool {
	site, ok := callBefore(w.ProcessState(), ra)
	return ok && (!site.Direct || pcInFunc(w, site.Target, pc) != OutsideFunc)
}
