package steppers_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A 32-bit process of Windows: a module at winBase, and a stack.
const (
	winBase  = 0x400000
	winSize  = 0x10000
	winStack = 0x120000
)

// winFrames are records of frames.
type winFrames []unwindrules.WinFrame

func (l winFrames) WinFrame(rva uint32) (*unwindrules.WinFrame, error) {
	var best *unwindrules.WinFrame
	for i := range l {
		if w := &l[i]; rva-w.Start < w.Size && (best == nil || w.Start > best.Start) {
			best = w
		}
	}
	if best != nil && best.Program == "broken" {
		return nil, errors.New("a broken record")
	}
	return best, nil
}

// newWinProc makes the process; code is by address in the module, nil for none at hand.
func newWinProc(code map[uint32]string, regs map[string]uint64) proc32 {
	p := newProc32()
	var text []byte
	if code != nil {
		text = []byte(strings.Repeat("\xcc", winSize))
		for at, b := range code {
			copy(text[at:], b)
		}
	}
	p.addModule(winBase, winSize, text)
	p.add(winStack, libstate.Read|libstate.Write, make([]byte, 0x4000))
	p.setRegs32(regs)
	return p
}

func winWalker(t testing.TB, p unwind.ProcessState, frames image.WinFrames) *unwind.Walker {
	return walker(t, p, nil, must(steppers.NewWinFrameStepper(partsOf(image.Parts{Frames: frames}))))
}

// Programs as Microsoft's linker writes them.
const (
	ebpProgram = "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = $P $T0 8 + .cbParams + ="
	espProgram = "$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + ="
)

// TestWinFrame steps from a frame at 0x1010 with stack pointer sp.
func TestWinFrame(t *testing.T) {
	const sp = winStack + 0x100
	// The bytes before 0x2005 call 0x1000, those before 0x2015 another function,
	// those before 0x2023 through a register.
	code := map[uint32]string{
		0x1000: "\x90\x55\x89\xe5\x56\x83\xec\x08\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x5e\x5d\xc2\x04\x00",
		0x2000: "\xe8\xfb\xef\xff\xff\x90", 0x2010: "\xe8\xeb\x0f\x00\x00\x90", 0x2020: "\x90\xff\xd0\x90", 0x3000: "\xc3"}
	const this, other, indirect = winBase + 0x2005, winBase + 0x2015, winBase + 0x2023
	fpo := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4}
	ebp := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, Prolog: 3, Program: ebpProgram, FunctionHead: true}
	esp := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4, Prolog: 3, Program: espProgram}
	for _, tc := range []struct {
		name   string
		frame  unwindrules.WinFrame
		pc     uint32
		ebp    uint32
		code   bool
		stack  map[uint32]uint32 // by offset from sp
		want   string
		bottom bool
	}{
		{name: "FPO", frame: fpo, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "FPO that saves nothing", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 12}, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi"},
		{name: "FPO that saves EBP", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4, UsesBP: true}, stack: map[uint32]uint32{0: 0xeb, 12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0xeb saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi"},
		{name: "EBP", frame: ebp, stack: map[uint32]uint32{0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi"},
		{name: "ESP", frame: esp, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "parameters pushed", frame: esp, stack: map[uint32]uint32{12: 7, 16: winStack, 20: this},
			want: "0x402005 sp 0x120118 scan, eip 0x402005 saved at 0x120114, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "behind another call", frame: esp, code: true, stack: map[uint32]uint32{12: other, 16: this},
			want: "0x402005 sp 0x120114 scan, eip 0x402005 saved at 0x120110, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "behind an indirect call", frame: esp, code: true, stack: map[uint32]uint32{12: indirect},
			want: "0x402023 sp 0x120110 sym-cfi, eip 0x402023 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "behind no call", frame: fpo, code: true, stack: map[uint32]uint32{12: winBase + 0x1234}},
		{name: "by EBP behind no call", frame: ebp, code: true, stack: map[uint32]uint32{0x84: winBase + 0x1234}},
		{name: "EBP that is below", frame: ebp, ebp: winStack + 0x40, stack: map[uint32]uint32{}},
		{name: "first byte", frame: ebp, pc: 0x1000, stack: map[uint32]uint32{0: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120104 analysis, eip 0x402005 saved at 0x120100, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi"},
		{name: "EBP pushed", frame: ebp, pc: 0x1001, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120108 sym-cfi, eip 0x402005 saved at 0x120104, ebp 0x120180 saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi"},
		{name: "in the prologue, by code", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Prolog: 8, Program: ebpProgram, FunctionHead: true}, pc: 0x1005, code: true,
			stack: map[uint32]uint32{0: 0x61, 4: 0xeb, 8: this, 0x80: 0xec, 0x84: indirect}, ebp: sp + 4,
			want: "0x402005 sp 0x12010c analysis, eip 0x402005 saved at 0x120108, ebp 0xeb saved at 0x120104, ebx 0xb in ebx, esi 0x61 saved at 0x120100"},
		{name: "in FPO's prologue", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 0x20, SavedRegs: 4, Prolog: 0x20}, stack: map[uint32]uint32{4: this, 0x24: indirect},
			want: "0x402005 sp 0x120108 scan, eip 0x402005 saved at 0x120104, ebp 0x120180 in ebp, ebx lost, esi lost"},
		{name: "in the epilogue", frame: ebp, pc: 0x1014, code: true, stack: map[uint32]uint32{0: 0x61, 4: 0xeb, 8: this, 0x84: indirect},
			want: "0x402005 sp 0x12010c analysis, eip 0x402005 saved at 0x120108, ebp 0xeb saved at 0x120104, ebx 0xb in ebx, esi 0x61 saved at 0x120100"},
		{name: "return that is none", frame: ebp, pc: 0x3000, code: true},
		{name: "bottom by EBP", frame: ebp, stack: map[uint32]uint32{0x80: 0, 0x84: 0}, bottom: true},
		{name: "bottom by ESP", frame: esp, stack: map[uint32]uint32{12: 0}, bottom: true},
		{name: "nothing on the stack", frame: esp, stack: map[uint32]uint32{12: 3}},
		{name: "a broken program", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$eip +"}, stack: map[uint32]uint32{12: this}},
		{name: "a broken record", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "broken"}, stack: map[uint32]uint32{12: this}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pc == 0 {
				tc.pc = 0x1010
			}
			if tc.ebp == 0 {
				tc.ebp = winStack + 0x180
			}
			var text map[uint32]string
			if tc.code {
				text = code
			}
			p := newWinProc(text, map[string]uint64{"eip": winBase + uint64(tc.pc), "esp": sp, "ebp": uint64(tc.ebp), "ebx": 0xb, "esi": 0x51})
			for off, v := range tc.stack {
				p.put32(sp+uint64(off), v)
			}
			w := winWalker(t, p, winFrames{tc.frame})
			in := must(w.InitialFrame(1))
			out, err := w.WalkSingleFrame(in)
			got := ""
			if out != nil {
				got = frameText(out, "eip", "ebp", "ebx", "esi")
			}
			if got != tc.want || errors.Is(err, unwind.ErrStackBottom) != tc.bottom {
				t.Errorf("%s, %v\nwant %s\n%s", got, err, tc.want, strings.Join(notes(in), "\n"))
			}
		})
	}
}

// The parameters of the call under way are on the stack, unless the caller had room for
// them among its own.
func TestWinFrameParameters(t *testing.T) {
	const sp = winStack + 0x100
	for _, room := range []bool{false, true} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp, "ebp": 0})
		p.put32(sp, winBase+0x2005)
		locals := uint32(8)
		if room {
			locals += 8
		}
		p.put32(sp+4+16, winBase+0x3005)
		p.put32(sp+4+16+4+4, 0) // the bottom
		frames := winFrames{{Start: 0x1000, Size: 0x100, Params: 8}, {Start: 0x2000, Size: 0x100, Locals: locals}, {Start: 0x3000, Size: 0x100, Locals: 4}}
		s, err := winWalker(t, p, frames).WalkStack(1)
		if err != nil || len(s.Frames) != 3 || s.Frames[2].RA() != winBase+0x3005 || s.Frames[2].SP() != sp+24 || s.Frames[2].Trust() != unwind.TrustSymCFI {
			t.Errorf("room %t: %v, %v", room, s.Frames, err)
		}
	}
}

// A symbol file tells of parameters where it has no record of the frame, and where a
// function begins.
func TestSymbolWinFrames(t *testing.T) {
	f := must(breakpad.Parse([]byte("MODULE windows x86 000000000000000000000000000000000 a.pdb\nFUNC 1000 100 8 f\nFUNC 2000 100 0 g\nFUNC 3000 100 0 h\n" +
		"STACK WIN 4 2000 100 3 0 0 0 8 0 1 " + espProgram + "\nSTACK WIN 4 2003 fd 0 0 0 0 8 0 1 " + espProgram + "\n")))
	frames := image.FromParts(image.Parts{Breakpad: f}).WinFrames()
	for rva, head := range map[uint32]bool{0x2001: true, 0x2010: false} {
		if w, err := frames.WinFrame(rva); err != nil || w.FunctionHead != head || w.Locals != 8 {
			t.Errorf("%#x: %+v, %v", rva, w, err)
		}
	}
	const sp = winStack + 0x100
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x2010, "esp": sp, "ebp": 0})
	p.put32(sp+8+8, winBase+0x3005)
	w := winWalker(t, p, frames)
	in := must(w.InitialFrame(1))
	if _, err := w.WalkSingleFrame(in); err != nil {
		t.Error(err) // by a search
	}
	// The same as the caller of f, with f's parameters.
	p.setRegs32(map[string]uint64{"eip": winBase + 0x1010, "esp": sp - 12, "ebp": sp - 8})
	p.put32(sp-8, 0, winBase+0x2010)
	g := must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{Breakpad: f})))
	s, _ := must(unwind.NewWalker(p, unwind.WithGroup(g))).WalkStack(1)
	if len(s.Frames) < 3 || s.Frames[1].Trust() != unwind.TrustFramePointer || s.Frames[2].RA() != winBase+0x3005 || s.Frames[2].Trust() != unwind.TrustSymCFI {
		t.Errorf("%v", s.Frames)
	}
}

func TestWinFrameStepperParameters(t *testing.T) {
	if _, err := steppers.NewWinFrameStepper(nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": winStack})
	if s, _ := winWalker(t, p, nil).WalkStack(1); len(s.Frames) != 1 {
		t.Errorf("%d frames without records", len(s.Frames))
	}
	p.setRegs32(map[string]uint64{"eip": 0x10})
	if s, _ := winWalker(t, p, winFrames{}).WalkStack(1); len(s.Frames) != 1 {
		t.Errorf("%d frames outside of modules", len(s.Frames))
	}
}

// bounded is a process that knows where its thread's stack is.
type bounded struct{ proc32 }

func (bounded) StackBounds(unwind.ThreadID) (low, high arch.Address, ok bool) {
	return winStack, winStack + 0x1000, true
}

// On stacks of arbitrary contents walks end, each frame is further up, and none is beyond
// the stack's base.
func TestWalksOfRandomStacks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	programs := []string{"", ebpProgram, espProgram, "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $ebp $T0 4 - ^ =", "$eip $ebp ^ = $esp $ebp ="}
	longest := 0
	for range 300 {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + uint64(rnd.IntN(winSize)), "esp": winStack + uint64(rnd.IntN(64))*4, "ebp": winStack + uint64(rnd.IntN(0x400))*4})
		for at := uint64(0); at < 0x4000; at += 4 {
			v := uint32(rnd.IntN(64))
			switch rnd.IntN(4) {
			case 0:
				v = winBase + uint32(rnd.IntN(winSize))
			case 1:
				v = winStack + uint32(rnd.IntN(0x4000))
			}
			p.put32(winStack+at, v)
		}
		var frames winFrames
		for at := uint32(0); at < winSize; at += 0x100 {
			frames = append(frames, unwindrules.WinFrame{Start: at, Size: 0x100, Locals: uint32(rnd.IntN(16)) * 4, SavedRegs: uint32(rnd.IntN(5)) * 4,
				Params: uint32(rnd.IntN(4)) * 4, Prolog: uint32(rnd.IntN(16)), UsesBP: rnd.IntN(2) == 0, FunctionHead: true, Program: programs[rnd.IntN(len(programs))]})
		}
		g := must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{Frames: frames})))
		s, _ := must(unwind.NewWalker(bounded{p}, unwind.WithGroup(g))).WalkStack(1)
		longest = max(longest, len(s.Frames))
		for i, f := range s.Frames[1:] {
			if f.SP() <= s.Frames[i].SP() || f.SP() > winStack+0x1000 {
				t.Fatalf("frame %d: %v follows %v", i+1, f, s.Frames[i])
			}
		}
	}
	if longest < 20 {
		t.Errorf("no walk has more than %d frames", longest)
	}
}

// FuzzWinFrame steps by arbitrary records over arbitrary stacks and code.
func FuzzWinFrame(f *testing.F) {
	f.Add(espProgram, uint32(8), uint32(4), uint32(0), uint32(0), true, binary.LittleEndian.AppendUint32(make([]byte, 12), winBase+0x2005), []byte{})
	f.Add("", uint32(1<<31), uint32(1<<31), uint32(12), uint32(9), false, []byte{1}, []byte("\x5e\x5d\xc3"))
	f.Fuzz(func(t *testing.T, program string, locals, saved, params, prolog uint32, bp bool, mem, code []byte) {
		p := newWinProc(map[uint32]string{0x1010: string(code)}, map[string]uint64{"eip": winBase + 0x1010, "esp": winStack + 0x100, "ebp": winStack + 0x180})
		copy(p.at(winStack).data[0x100:], mem)
		frames := winFrames{{Size: winSize, Program: program, Locals: locals, SavedRegs: saved, Params: params, Prolog: prolog, UsesBP: bp, FunctionHead: bp}}
		g := must(steppers.DefaultGroup(arch.X86, partsOf(image.Parts{Frames: frames})))
		s, _ := must(unwind.NewWalker(bounded{p}, unwind.WithGroup(g), unwind.WithMaxFrames(4096))).WalkStack(1)
		for i, f := range s.Frames[1:] {
			if f.SP() <= s.Frames[i].SP() {
				t.Fatalf("frame %d: %v follows %v", i+1, f, s.Frames[i])
			}
		}
	})
}
