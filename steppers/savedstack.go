package steppers

import (
	"iter"
	"slices"

	"github.com/corewalk/corewalk/unwind/arch"
)

// StacksSaved yields the stack and instruction pointers that signal frames in b, memory of a stack, may have saved: pairs
// of words that lie as far apart as in a signal frame of a, and whose processor's state can be that of a program. Some pairs
// are of no signal frame: the caller checks where they point to. A signal frame of which b has these words is always found if
// its words are aligned as b is. It yields nothing if the layout on a is not known.
func StacksSaved(a *arch.Arch, b []byte) iter.Seq2[arch.Address, arch.Address] {
	return func(yield func(sp, pc arch.Address) bool) {
		m := machineOf(a)
		if m == nil || m.sigFrame == nil {
			return
		}
		pairs := m.sigFrame.pairs(a, nil)
		for i := range m.restorers {
			if f := m.restorers[i].frame; f != nil {
				pairs = f.pairs(a, pairs)
			}
		}
		for at := 0; at+a.WordSize <= len(b); at += a.WordSize {
			for _, p := range pairs {
				sp, pc, ok := p.in(a, b, at)
				if ok && !yield(sp, pc) {
					return
				}
			}
		}
	}
}

// A savedPair says where a signal frame has the instruction pointer and the processor's state, in bytes from the stack
// pointer.
type savedPair struct {
	pc, state int
	mask      uint64 // the bits of the state that every program has alike; 0 if none are known
	want      uint64
}

// pairs adds the frame's pair to list, unless it is there or the frame has none.
func (f *sigFrame) pairs(a *arch.Arch, list []savedPair) []savedPair {
	at := map[arch.Reg]int{}
	for _, s := range f.saved {
		at[s.reg] = int(s.addr)
		if wide := int(s.size) - a.WordSize; wide > 0 && a.Big() {
			at[s.reg] += wide // the low word
		}
	}
	sp, hasSP := at[a.SP]
	pc, hasPC := at[a.PC]
	if !hasSP || !hasPC {
		return list
	}
	p := savedPair{pc: pc - sp}
	state := arch.NoReg
	switch a {
	case arch.AMD64: // Intel's manual, volume 1, 3.4.3: bit 1 is set; 3, 5, 15, 22 and above are not
		state, p.mask, p.want = arch.EFLAGS, ^uint64(0x3f_7fd5), 2
	case arch.X86:
		state, p.mask, p.want = arch.X86EFLAGS, 0xffff_ffff&^0x3f_7fd5, 2
	case arch.ARM64: // ARM's manual, C5.2.18: the mode is EL0
		state, p.mask = arch.ARM64CPSR, 0xffff_ffff_0000_001f
	}
	if there, ok := at[state]; ok {
		p.state = there - sp
	} else {
		p.mask = 0
	}
	if slices.Contains(list, p) {
		return list
	}
	return append(list, p)
}

// in returns the pair with the stack pointer at b[at:]; false if b does not have it.
func (p savedPair) in(a *arch.Arch, b []byte, at int) (sp, pc arch.Address, ok bool) {
	has := func(to int) bool { return to >= 0 && to+a.WordSize <= len(b) }
	if !has(at+p.pc) || p.mask != 0 && (!has(at+p.state) || a.Word(b[at+p.state:])&p.mask != p.want) {
		return 0, 0, false
	}
	return a.Word(b[at:]), a.Word(b[at+p.pc:]), true
}
