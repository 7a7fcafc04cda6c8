package steppers_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The caller's window of 128 bytes lies above SP, wholly on the stack, and its registers
// are the locals and ins that were saved there; the frame's ins are its outs.
func TestWindowPlaces(t *testing.T) {
	const bias, sp, top = 2047, smallStack + 0x100 - 2047, smallStack + 0x2000 - 2047
	const caller = smallCode + 0x80
	code := make([]byte, 0x100)
	binary.BigEndian.PutUint32(code[0x20:], 0x9de3bf50) // save
	binary.BigEndian.PutUint32(code[0x80:], 0x40000000|(1<<30-(0x80-0x20)/4)&(1<<30-1))
	for fp, want := range map[uint64]bool{sp: false, sp - 8: false, sp + 8: true, sp + 12: false, top - 128: true, top - 120: false, top: false} {
		c := coreOf(t, arch.SPARC64, elffile.EM_SPARCV9, map[arch.Reg]uint64{arch.SPARCPC: smallCode + 0x28, arch.SPARCSP: sp,
			arch.SPARCFP: fp, arch.SPARCI7: caller}, append([]byte(nil), code...), make([]byte, 0x400))
		w := walker(t, c, nil, must(steppers.NewFrameFuncStepper(arch.SPARC64, nil)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if (err == nil) != want {
			t.Errorf("frame pointer SP%+d: %v, %v; %q", int64(fp-sp), f, err, notes(in))
		}
		if err != nil {
			continue
		}
		if cfa, ok := in.CFA(); !ok || cfa != fp+bias {
			t.Errorf("CFA %#x, %v; want %#x", cfa, ok, fp+bias)
		}
		for i := range arch.Reg(16) {
			if _, loc, ok := f.Reg(arch.SPARCL0 + i); !ok || loc != unwind.AtAddress(fp+bias+8*uint64(i)) {
				t.Errorf("%s is at %s, %v", arch.SPARC64.RegName(arch.SPARCL0+i), loc.Describe(arch.SPARC64), ok)
			}
		}
		for i := range arch.Reg(8) {
			_, loc, ok := f.Reg(arch.SPARCO0 + i)
			if from := unwind.InRegister(arch.SPARCI0 + i); !ok || loc != from {
				t.Errorf("%s is at %s, %v; want it in %s", arch.SPARC64.RegName(arch.SPARCO0+i), loc.Describe(arch.SPARC64), ok, from.Describe(arch.SPARC64))
			}
		}
		if f.Trust() != unwind.TrustFramePointer {
			t.Errorf("trust %v", f.Trust())
		}
	}
}

// windowProc is a process of SPARC: a function with a window at 0x100, and calls of it
// at 0x200 and 0x300. Its stack is mapped further than it is in the dump.
func windowProc(more map[int][]uint32) otherProc {
	code := map[int][]uint32{0x100: {0x9de3bf50, 0x01000000, 0x01000000, 0x01000000}, 0x200: {0x7fffffc0, 0x01000000}, 0x300: {0x7fffff80, 0x01000000}}
	for at, words := range more {
		code[at] = words
	}
	p := newForeign(arch.SPARC64, code)
	p.segs[1].m.End += foreignSize
	return p
}

// From a frame with a window of its own to the caller, whose registers are where the window
// was saved unless they are known otherwise.
func TestWindowSteps(t *testing.T) {
	const bias, sp, fp = 2047, foreignStack + 0x100 - 2047, foreignStack + 0x200 - 2047
	const end, lost = foreignStack + foreignSize - bias, 0x40000000
	for _, tc := range []struct {
		name     string
		sp       uint64
		fp, link uint64 // 0 where only the window has them
		window   map[uint64]uint64
		want     string
	}{
		{name: "in registers", fp: fp, link: foreignCode + 0x200,
			want: "0x10000208 sp 0x1ffffa01 frame-pointer, o0 0x0 saved at 0x20000140, sp 0x1ffffa01 in fp, o7 0x10000200 in i7, l0 0x0 saved at 0x20000200, i7 0x0 saved at 0x20000278, g7 lost, tstate lost, CFA 0x20000200"},
		{name: "in the window", window: map[uint64]uint64{64: 0x24, 112: fp, 120: foreignCode + 0x200},
			want: "0x10000208 sp 0x1ffffa01 frame-pointer, o0 0x24 saved at 0x20000140, sp 0x1ffffa01 saved at 0x20000170, o7 0x10000200 saved at 0x20000178, l0 0x0 saved at 0x20000200, i7 0x0 saved at 0x20000278, g7 lost, tstate lost, CFA 0x20000200"},
		{name: "the window is not in the dump", sp: end - 8*14,
			want: "none; the caller's stack pointer: memory at 0x20001000: not mapped"},
		{name: "half of it is", sp: end - 8*15, window: map[uint64]uint64{112: end + 0x100},
			want: "none"},
		{name: "the window is not in the dump, nor is the caller's", sp: end, fp: end + 0x100, link: foreignCode + 0x200,
			want: "0x10000208 sp 0x20000901 frame-pointer, o0 lost, sp 0x20000901 in fp, o7 0x10000200 in i7, l0 lost, i7 lost, g7 lost, tstate lost, CFA 0x20001100"},
		{name: "the end by the frame pointer", window: map[uint64]uint64{120: foreignCode + 0x200},
			want: "bottom; the chain of windows ends: the outermost frame"},
		{name: "the end by the return address", window: map[uint64]uint64{112: fp},
			want: "bottom; the chain of windows ends: the outermost frame"},
		{name: "below", fp: sp - 8, link: foreignCode + 0x200,
			want: "none; the caller's stack pointer 0x1ffff8f9 is not on the stack above SP 0x1ffff901"},
		{name: "no call", fp: fp, link: foreignCode + 0x300 + 4,
			want: "none; 0x1000030c, in i7, does not follow a call"},
		{name: "lost code", fp: fp, link: lost + 0x100,
			want: "0x40000108 sp 0x1ffffa01 frame-pointer, o0 0x0 saved at 0x20000140, sp 0x1ffffa01 in fp, o7 0x40000100 in i7, l0 0x0 saved at 0x20000200, i7 0x0 saved at 0x20000278, g7 lost, tstate lost, CFA 0x20000200"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := windowProc(nil)
			p.segs = append(p.segs, seg{m: libstate.Mapping{Start: lost, End: lost + 0x1000, Perm: libstate.Read | libstate.Exec}})
			at := tc.sp
			if at == 0 {
				at = sp
			}
			regs := map[arch.Reg]uint64{arch.SPARCPC: foreignCode + 0x108, arch.SPARCSP: at, arch.SPARCG7: 7, arch.SPARCTSt: 0x75}
			if tc.fp != 0 {
				regs[arch.SPARCFP], regs[arch.SPARCI7] = tc.fp, tc.link
			}
			p.set(regs)
			for off, v := range tc.window {
				p.putWords(at+bias+off, v)
			}
			w := walker(t, p, nil, must(steppers.NewFrameFuncStepper(arch.SPARC64, nil)))
			if got := outcome(w, must(w.InitialFrame(1)), "o0", "sp", "o7", "l0", "i7", "g7", "tstate"); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

// Whether an interrupted function has its own window: by the code from its start, which its
// symbol or the call in o7 tells. What cannot be told counts as yes.
func TestHasWindow(t *testing.T) {
	const bias, sp, fp = 2047, foreignStack + 0x100 - 2047, foreignStack + 0x200 - 2047
	const nop = 0x01000000
	for _, tc := range []struct {
		name     string
		code     []uint32 // of the function at 0x400
		pc       uint64   // from its start
		sym      uint64   // its size; 0 for no symbol
		o7       uint64
		noO7     bool
		called   bool // the function made a call
		withBody bool // of 4 KB more
		want     string
	}{
		{name: "first instruction", code: []uint32{0x9de3bf50, nop}, sym: 8, want: "leaf"},
		{name: "after save", code: []uint32{0x9de3bf50, nop}, sym: 8, pc: 4, want: "window"},
		{name: "after save of a register", code: []uint32{0x9de38001, nop}, sym: 8, pc: 4, want: "window"},
		{name: "before save", code: []uint32{nop, 0x9de3bf50}, sym: 8, pc: 4, want: "leaf"},
		{name: "after a later save", code: []uint32{nop, 0x9de3bf50, nop}, sym: 12, pc: 8, want: "window"},
		{name: "after a save further on", code: []uint32{nop, nop, nop, nop, 0x9de3bf50, nop}, sym: 24, pc: 20, want: "window"},
		{name: "after restore", code: []uint32{0x81e80000, nop, nop}, sym: 12, pc: 8, want: "leaf"},
		{name: "after what is near save", code: []uint32{0x9ddbbf50, 0x9debbf50, 0x9dc3bf50, nop}, sym: 16, pc: 12, want: "leaf"},
		{name: "after another kind of instruction", code: []uint32{0xdde3bf50, 0x5de3bf50, 0x1de3bf50, nop}, sym: 16, pc: 12, want: "leaf"},
		{name: "a call made", code: []uint32{nop, nop, nop}, sym: 12, pc: 8, called: true, want: "window"},
		{name: "by the call of it", code: []uint32{nop, nop, nop}, pc: 8, o7: 0x500, want: "leaf"},
		{name: "by the call of it, after save", code: []uint32{0x9de3bf50, nop, nop}, pc: 8, o7: 0x500, want: "window"},
		{name: "by a call of a later function", code: []uint32{nop, nop, nop}, pc: 8, o7: 0x510, want: "window"},
		{name: "by an indirect call", code: []uint32{nop, nop, nop}, pc: 8, o7: 0x520, want: "window"},
		{name: "by no call", code: []uint32{nop, nop, nop}, pc: 8, o7: 0x530, want: "window"},
		{name: "o7 not known", code: []uint32{nop, nop, nop}, pc: 8, noO7: true, want: "window"},
		{name: "leaf, o7 not known", code: []uint32{nop, nop, nop}, pc: 8, sym: 12, noO7: true, want: "none"},
		{name: "leaf, o7 behind no call", code: []uint32{nop, nop, nop}, pc: 8, sym: 12, o7: 0x530, want: "none; 0x10000538, in o7, does not follow a call"},
		{name: "as far as is looked", withBody: true, sym: 0x1800, pc: 4096, want: "leaf"},
		{name: "farther", withBody: true, sym: 0x1800, pc: 4100, want: "window"},
		{name: "lost code", withBody: true, sym: 0x3000, pc: 0x1c00 + 8, o7: 0x540, want: "window"},
	} {
		p := windowProc(map[int][]uint32{0x400: tc.code, 0x500: {0x7fffffc0, nop}, 0x510: {0x40000040, nop}, 0x520: {0x9fc04000, nop}, 0x540: {0x40000000 + 0x1ac0/4, nop}})
		lib, _ := p.libs.LibraryAt(foreignCode)
		if tc.withBody {
			body := make([]byte, 0x1000)
			p.add(foreignCode+foreignSize, libstate.Read|libstate.Exec, body)
			p.segs = append(p.segs, seg{m: libstate.Mapping{Start: foreignCode + 2*foreignSize, End: foreignCode + 3*foreignSize, Perm: libstate.Read | libstate.Exec}})
			lib.End += 2 * foreignSize
			lib.Mappings = append(lib.Mappings, p.segs[2].m, p.segs[3].m)
			p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
		}
		o7 := uint64(0x200)
		if tc.o7 != 0 {
			o7 = tc.o7
		}
		p.set(map[arch.Reg]uint64{arch.SPARCPC: foreignCode + 0x400 + tc.pc, arch.SPARCSP: sp, arch.SPARCFP: fp, arch.SPARCI7: foreignCode + 0x300})
		if !tc.noO7 {
			p.set(map[arch.Reg]uint64{arch.SPARCO7: foreignCode + o7})
		}
		syms := symbols{}
		switch {
		case tc.name == "lost code":
		case tc.sym != 0:
			syms = symbols{{Name: "f", Addr: foreignCode + 0x400, Size: tc.sym}}
		}
		w := walker(t, p, syms, must(steppers.NewFrameFuncStepper(arch.SPARC64, nil)))
		in := must(w.InitialFrame(1))
		if tc.called {
			in = called(t, w, foreignCode+0x400+tc.pc, sp, fp)
			in.SetReg(arch.SPARCI7, foreignCode+0x300, unwind.Location{})
			in.SetReg(arch.SPARCO7, foreignCode+0x200, unwind.Location{})
		}
		want := tc.want
		switch want {
		case "leaf":
			want = fmt.Sprintf("%#x sp %#x frame-pointer, CFA %#x", foreignCode+o7+8, uint64(sp), uint64(sp+bias))
		case "window":
			want = fmt.Sprintf("%#x sp %#x frame-pointer, CFA %#x", foreignCode+0x308, uint64(fp), uint64(fp+bias))
		}
		if got := outcome(w, in); got != want {
			t.Errorf("%s: %s; want %s", tc.name, got, want)
		}
	}
}
