package steppers

import (
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// chainLinks is how many records must follow each other before a chain is believed that
// has not led back to a library.
const chainLinks = 2

// generatedChain reports whether the frame is in code of no library, and fp begins a
// chain of records up its stack: each has a code address and leads further up, for
// chainLinks records or until a call in a library. Interpreters keep such chains
// although calls do not precede their return addresses: they push the address and jump.
// A call before the first one must be able to lead to pc. An interrupted frame that seems
// to have its return address where a call leaves it may not have its record yet.
func (s *FrameFuncStepper) generatedChain(fp, pc arch.Address, in *unwind.Frame) bool {
	p, a, word := in.Walker().ProcessState(), s.m.arch, uint64(s.m.arch.RegSize)
	if !isCode(p, in.LookupAddr()) || libraryAt(p, in.LookupAddr()) != nil {
		return false
	}
	if interrupted(in) {
		if raw, _, err := leftByCall(a, in); err == nil {
			if _, isCall := callBefore(p, codePointer(in.Walker(), raw+a.ReturnOffset)); isCall {
				return false
			}
		}
	}
	for n := range chainLinks {
		if fp%word != 0 || fp > endOfStack(in)-2*word {
			return false
		}
		raw, err := a.ReadReg(p, fp+uint64(s.m.chain.ra))
		ra := codePointer(in.Walker(), raw)
		if err != nil || !isCode(p, ra-1) {
			return false
		}
		site, isCall := callBefore(p, ra)
		if n == 0 && s.flows.pcInFunc(in.Walker(), site.Target, pc) == OutsideFunc {
			return false
		}
		if libraryAt(p, ra-1) != nil {
			return isCall || unreadCode(p, ra)
		}
		next, err := a.ReadReg(p, fp+uint64(s.m.chain.fp))
		if err != nil || next <= fp {
			return false
		}
		fp = next
	}
	return true
}
