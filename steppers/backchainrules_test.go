package steppers_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// starts are symbols of no known size: each reaches up to the next.
type starts []arch.Address

func (s starts) SymbolByName(*libstate.Library, string) (unwind.Symbol, bool) {
	return unwind.Symbol{}, false
}

func (s starts) SymbolAt(_ *libstate.Library, addr arch.Address) (sym unwind.Symbol, ok bool) {
	for _, at := range s {
		if at <= addr {
			sym, ok = unwind.Symbol{Name: "f", Addr: at}, true
		}
	}
	return sym, ok
}

// ppcStarts are those of ppcMore.
var ppcStarts = starts{foreignCode + 0x100, foreignCode + 0x200, foreignCode + 0x300, foreignCode + 0x400, foreignCode + 0x500, foreignCode + 0x600}

// ppcMore is ppcCode, a function that calls itself, one that calls that, and an indirect call.
var ppcMore = func() map[int][]uint32 {
	code := maps.Clone(ppcCode)
	code[0x500] = []uint32{0x7c0802a6, 0x4bfffffd, 0x60000000, 0x4e800020} // mflr r0; bl 0x500; nop; blr
	code[0x600] = []uint32{0x4bffff01, 0x60000000, 0x4e800021, 0x60000000} // bl 0x500; nop; blrl; nop
	return code
}()

// Where functions keep the stack pointer of their caller, what was interrupted is left by the
// link register or by the stack, where one of them shows who called; and by neither where
// both may.
func TestBackChainChoices(t *testing.T) {
	const (
		leaf, framed, caller, again    = foreignCode + 0x100, foreignCode + 0x204, foreignCode + 0x310, foreignCode + 0x500
		lrOfLeaf, lrOfFramed, raCaller = foreignCode + 0x308, foreignCode + 0x30c, foreignCode + 0x404
		ofAgain, intoAgain, indirect   = foreignCode + 0x508, foreignCode + 0x604, foreignCode + 0x60c
		sp, other, hidden              = foreignStack + 0x100, foreignStack + 2*foreignSize, foreignCode + 2*foreignSize
		end                            = foreignStack + foreignSize
		noReg                          = 1 // of the link register: not known
	)
	one := func(ra uint64) map[uint64]uint64 { return map[uint64]uint64{0: sp + 0x40, 0x44: ra} }
	two := func(ra1, ra2 uint64) map[uint64]uint64 {
		return map[uint64]uint64{0: sp + 0x20, 0x20: sp + 0x60, 0x24: ra1, 0x64: ra2}
	}
	for _, c := range []struct {
		name   string
		pc, lr uint64
		called bool              // the frame made a call: it was not interrupted
		sp     uint64            // sp by default
		words  map[uint64]uint64 // on the stack, from SP
		ra, to uint64            // the caller's pc and SP; 0 for none
		bottom bool
		note   string
	}{
		{name: "leaf", pc: leaf, lr: lrOfLeaf, words: one(raCaller), ra: lrOfLeaf, to: sp},
		{name: "leaf, the chain's end at its caller", pc: leaf, lr: lrOfLeaf, note: "neither the link register"},
		{name: "leaf, nothing on the stack but its caller's record", pc: leaf, lr: lrOfLeaf, words: map[uint64]uint64{0: sp + 0x40}, note: "neither"},
		{name: "leaf with a frame", pc: framed, lr: lrOfFramed, words: two(0, raCaller), ra: lrOfFramed, to: sp + 0x20},
		{name: "leaf with a frame, whose caller nobody called", pc: framed, lr: lrOfFramed, words: two(0, intoAgain), note: "neither"},
		{name: "leaf with a frame, the chain going down", pc: framed, lr: lrOfFramed,
			words: map[uint64]uint64{0: sp + 0x20, 0x20: sp - 0x20, uint64(1<<64 - 0x1c): raCaller}, note: "neither"},
		{name: "the stack alone", pc: framed, lr: noReg, words: one(lrOfFramed), ra: lrOfFramed, to: sp + 0x40},
		{name: "neither register nor stack", pc: framed, lr: noReg, words: one(raCaller), note: "neither"},
		{name: "a register of another call", pc: framed, lr: lrOfLeaf, words: one(raCaller), note: "neither"},
		{name: "both, the same", pc: framed, lr: lrOfFramed, words: one(lrOfFramed), ra: lrOfFramed, to: sp + 0x40},
		{name: "it has called others since", pc: caller, lr: lrOfFramed, words: one(raCaller), ra: raCaller, to: sp + 0x40},
		{name: "it calls itself", pc: again, lr: ofAgain, words: one(intoAgain), note: "neither"},
		{name: "it calls itself, both the same", pc: again, lr: ofAgain, words: one(ofAgain), ra: ofAgain, to: sp + 0x40},
		{name: "an indirect call", pc: framed, lr: noReg, words: one(indirect), ra: indirect, to: sp + 0x40},
		{name: "a call made", pc: lrOfFramed, called: true, lr: noReg, words: one(raCaller), ra: raCaller, to: sp + 0x40},
		{name: "a call made, of another function", pc: raCaller, called: true, lr: noReg, words: one(lrOfLeaf), note: "no saved stack pointer from a call of this function"},
		{name: "a call made, returning to code that is not there", pc: raCaller, called: true, lr: noReg, words: one(hidden + 0x40), ra: hidden + 0x40, to: sp + 0x40},
		{name: "a call made, nothing on the stack", pc: raCaller, called: true, lr: noReg, words: map[uint64]uint64{0: 4}, note: "no saved"},
		{name: "a call made, the chain's end", pc: raCaller, called: true, lr: noReg, bottom: true, note: "the back chain ends: the outermost frame"},
		{name: "a call made, SP nowhere", pc: raCaller, called: true, sp: 0x10, lr: noReg, note: "no saved"},
		{name: "not aligned", pc: lrOfFramed, called: true, lr: noReg, words: map[uint64]uint64{0: sp + 0x42, 0x46: raCaller}, note: "no saved"},
		{name: "the same stack pointer", pc: lrOfFramed, called: true, lr: noReg, words: map[uint64]uint64{0: sp, 4: raCaller}, note: "no saved"},
		{name: "the last place on the stack", pc: lrOfFramed, called: true, lr: noReg, words: map[uint64]uint64{0: end - 8, end - sp - 4: raCaller}, ra: raCaller, to: end - 8},
		{name: "another mapping", pc: lrOfFramed, called: true, lr: noReg, words: map[uint64]uint64{0: other + 0x40, other + 0x44 - sp: raCaller}, note: "no saved"},
	} {
		for named, syms := range map[string]unwind.SymbolReader{"named": ppcStarts, "bare": nil} {
			t.Run(c.name+", "+named, func(t *testing.T) {
				p := newForeign(arch.PPC, ppcMore)
				p.add(other, libstate.Read|libstate.Write, make([]byte, foreignSize))
				p.segs = append(p.segs, seg{m: libstate.Mapping{Start: hidden, End: hidden + foreignSize, Perm: libstate.Read | libstate.Exec}})
				at := uint64(sp)
				if c.sp != 0 {
					at = c.sp
				}
				for off, v := range c.words {
					p.putWords(at+off, v)
				}
				p.set(map[arch.Reg]uint64{arch.PPCNIP: c.pc, arch.PPCSP: at})
				if c.lr != noReg {
					p.set(map[arch.Reg]uint64{arch.PPCLR: c.lr})
				}
				w := walker(t, p, syms, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
				in := called(t, w, c.pc, at, 0)
				if !c.called {
					in = must(w.InitialFrame(1))
				}
				f, err := w.WalkSingleFrame(in)
				switch {
				case c.bottom:
					if !errors.Is(err, unwind.ErrStackBottom) {
						t.Errorf("%v, %v; want the bottom; %q", f, err, notes(in))
					}
				case c.ra == 0:
					if !errors.Is(err, unwind.ErrNoStepper) {
						t.Errorf("%v, %v; want no caller; %q", f, err, notes(in))
					}
				case err != nil || f.RA() != c.ra || f.SP() != c.to:
					t.Errorf("%v, %v; want %#x with SP %#x; %q", f, err, c.ra, c.to, notes(in))
				}
				if text := strings.Join(notes(in), "\n"); !strings.Contains(text, c.note) {
					t.Errorf("notes %q do not say %q", text, c.note)
				}
			})
		}
	}
}

// With words of eight bytes the return address is two words above the stack pointer: one
// that cannot be read ends nothing.
func TestBackChainAtTheEnd(t *testing.T) {
	const sp, end = foreignStack + 0x100, foreignStack + foreignSize
	p := newForeign(arch.PPC64, ppcCode)
	p.putWords(sp, end-16)
	w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.PPC64, nil)))
	if f, err := w.WalkSingleFrame(called(t, w, foreignCode+0x404, sp, 0)); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("%v, %v; want no caller", f, err)
	}
}

// Stack pointers that functions of S/390 saved.
func TestSavedStackPointers(t *testing.T) {
	const ra1, ra2, sp, area = foreignCode + 0x206, foreignCode + 0x306, foreignStack + 0x100, 112
	const end = foreignStack + foreignSize
	for _, c := range []struct {
		name  string
		top   bool
		lr    uint64            // 0 for not known
		saved map[uint64]uint64 // return addresses, by stack pointer
		to    uint64            // 0 for none
	}{
		{name: "its own", saved: map[uint64]uint64{sp: ra1, sp + 0x200: ra2}, to: sp + 0x200},
		{name: "interrupted, at SP", top: true, saved: map[uint64]uint64{sp: ra2}, to: sp},
		{name: "interrupted, called by none of them", top: true, lr: ra2, saved: map[uint64]uint64{sp + 0x40: foreignCode + 0x406, sp + 0x140: foreignCode + 0x506}},
		{name: "interrupted, a leaf", top: true, lr: ra2, saved: map[uint64]uint64{sp + 0x40: foreignCode + 0x506, sp + 0x140: foreignCode + 0x406}, to: sp},
		{name: "interrupted, further on", top: true, saved: map[uint64]uint64{sp + 8: ra2}, to: sp + 8},
		{name: "what is beside it is no code", saved: map[uint64]uint64{sp + 0x80: 0x1234, sp + 0x200: ra2}, to: sp + 0x200},
		{name: "what is beside it is data", saved: map[uint64]uint64{sp + 0x80: sp, sp + 0x200: ra2}, to: sp + 0x200},
		{name: "none", saved: nil},
		{name: "beyond the stack", saved: map[uint64]uint64{end: ra2}},
		{name: "the last on the stack", saved: map[uint64]uint64{end - area - 16: ra2}, to: end - area - 16},
	} {
		p := newForeign(arch.S390X, nil)
		p.add(end, libstate.Read|libstate.Write, make([]byte, foreignSize))
		code := p.segs[0].data
		copy(code[0x200:], []byte{0xc0, 0xe5, 0, 0, 0, 0}) // brasl %r14,.
		copy(code[0x300:], []byte{0xc0, 0xe5, 0xff, 0xff, 0xff, 0x80})
		copy(code[0x400:], []byte{0xc0, 0xe5, 0, 0, 0, 0})
		copy(code[0x2f8:], []byte{7, 0, 7, 0, 7, 0, 7, 0})             // nops
		copy(code[0x500:], []byte{0xc0, 0xe5, 0xff, 0xff, 0xfe, 0xfc}) // brasl to them
		for at, ra := range c.saved {
			p.putWords(at+area, ra, at)
		}
		if c.lr != 0 {
			p.set(map[arch.Reg]uint64{arch.S390X.RA: c.lr})
		}
		p.set(map[arch.Reg]uint64{arch.S390X.PC: foreignCode + 0x200, arch.S390X.SP: sp})
		w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.S390X, nil)))
		in := called(t, w, ra1, sp, 0)
		if c.top {
			in = must(w.InitialFrame(1))
		}
		f, err := w.WalkSingleFrame(in)
		if c.to == 0 {
			if !errors.Is(err, unwind.ErrNoStepper) {
				t.Errorf("%s: %v, %v; want no caller", c.name, f, err)
			}
		} else if err != nil || f.RA() != ra2 || f.SP() != c.to {
			t.Errorf("%s: %v, %v; want SP %#x; %q", c.name, f, err, c.to, notes(in))
		}
	}
}

// Where control does not get from one place in a function to the other, only symbols say that
// both are in it: then the link register may be of an earlier call.
func TestBackChainSameFunction(t *testing.T) {
	const pc, lr, caller, sp = foreignCode + 0x710, foreignCode + 0x708, foreignCode + 0x804, foreignStack + 0x100
	for _, c := range []struct {
		syms   unwind.SymbolReader
		behind uint32 // the instruction behind the call
		ra, to uint64
	}{
		{nil, 0x60000000, lr, sp},
		{nil, 0x48000008, caller, sp + 0x40}, // b 0x710
		{starts{foreignCode + 0x700, foreignCode + 0x800}, 0x60000000, caller, sp + 0x40},
		{starts{foreignCode + 0x700, foreignCode + 0x70c, foreignCode + 0x800}, 0x60000000, lr, sp},
	} {
		p := newForeign(arch.PPC, map[int][]uint32{
			0x700: {0x41820010, 0x4e800021, c.behind, 0x4e800020, 0x60000000, 0x4e800020}, // beq 0x710; blrl; nop; blr; nop; blr
			0x800: {0x4bffff01, 0x60000000},                                               // bl 0x700; nop
		})
		p.putWords(sp, sp+0x40)
		p.putWords(sp+0x44, caller)
		p.set(map[arch.Reg]uint64{arch.PPCNIP: pc, arch.PPCSP: sp, arch.PPCLR: lr})
		w := walker(t, p, c.syms, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
		in := must(w.InitialFrame(1))
		if f, err := w.WalkSingleFrame(in); err != nil || f.RA() != c.ra || f.SP() != c.to {
			t.Errorf("%v: %v, %v; want %#x with SP %#x; %q", c.syms, f, err, c.ra, c.to, notes(in))
		}
	}
}
