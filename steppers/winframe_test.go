package steppers_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
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
	// those before 0x2023 through a register, those before 0x2035 a jump to anywhere.
	code := map[uint32]string{
		0x1000: "\x90\x55\x89\xe5\x56\x83\xec\x08\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x5e\x5d\xc2\x04\x00",
		0x1200: "\xff\xe0\x40\x40\x40\xc3", 0x1300: "\x74\x01\x50\x90\xc3", 0x2000: "\xe8\xfb\xef\xff\xff\x90", 0x2010: "\xe8\xeb\x0f\x00\x00\x90", 0x2020: "\x90\xff\xd0\x90",
		0x2030: "\xe8\xcb\xf1\xff\xff\x90", 0x3000: "\xc3"}
	const this, other, indirect, anywhere = winBase + 0x2005, winBase + 0x2015, winBase + 0x2023, winBase + 0x2035
	const own = winBase + 0x1010
	fpo := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4}
	empty := unwindrules.WinFrame{Start: 0x1000, Size: 0x100}
	ebp := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, Prolog: 3, Program: ebpProgram, FunctionHead: true}
	esp := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4, Prolog: 3, Program: espProgram}
	large := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 200, Program: espProgram}
	prolog := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 0x20, SavedRegs: 4, Prolog: 0x20}
	slow := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Prolog: 8, Program: ebpProgram, FunctionHead: true}
	away := unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$T0 .raSearch = $eip $ebp 4 + ^ = $esp $ebp 8 + ="}
	headESP := esp
	headESP.FunctionHead = true
	for _, tc := range []struct {
		name   string
		frame  unwindrules.WinFrame
		pc     uint32
		sp     uint32
		ebp    uint32 // 1 stands for zero
		noEBP  bool
		called bool // the frame made a call
		code   bool
		stack  map[uint32]uint32 // by offset from sp
		want   string
	}{
		{name: "FPO", frame: fpo, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "FPO that saves nothing", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 12}, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "FPO that saves EBP", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4, UsesBP: true}, stack: map[uint32]uint32{0: 0xeb, 12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0xeb saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "EBP", frame: ebp, stack: map[uint32]uint32{0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "ESP", frame: esp, stack: map[uint32]uint32{12: this},
			want: "0x402005 sp 0x120110 sym-cfi, eip 0x402005 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "EBX and EDI from the stack", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, SavedRegs: 8, Program: ebpProgram + " $ebx $T0 4 - ^ = $edi $T0 8 - ^ = $esi $ebx ="},
			stack: map[uint32]uint32{0x78: 0xd2, 0x7c: 0xb2, 0x80: 0xeb, 0x84: this},
			want:  "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb2 saved at 0x12017c, esi 0xb2 saved at 0x12017c, edi 0xd2 saved at 0x120178"},
		{name: "a sum beyond 32 bits", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$eip $ebp 4294967288 - 4 - ^ = $esp $ebp 4294967288 - ="}, stack: map[uint32]uint32{0x84: this},
			want: "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "registers that are not known", frame: ebp, called: true, stack: map[uint32]uint32{0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx lost, esi lost, edi lost"},
		{name: "a program with a register that is not known", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$eip $ebx ="}, called: true,
			want: "none; \"=\": $ebx: no value"},
		{name: "parameters pushed", frame: esp, stack: map[uint32]uint32{12: 7, 16: winStack, 20: this},
			want: "0x402005 sp 0x120118 scan, eip 0x402005 possibly saved at 0x120114, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120114"},
		{name: "pushed just as many as is likely, and one below", frame: esp, stack: map[uint32]uint32{8: other, 12 + 7*4: this},
			want: "0x402005 sp 0x12012c scan, eip 0x402005 possibly saved at 0x120128, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120128"},
		{name: "pushed more than is likely, and one below", frame: esp, stack: map[uint32]uint32{8: other, 12 + 8*4: this},
			want: "0x402015 sp 0x12010c scan, eip 0x402015 possibly saved at 0x120108, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120108"},
		{name: "pushed more than is likely, and one on top", frame: esp, stack: map[uint32]uint32{0: other, 12 + 8*4: this},
			want: "0x402015 sp 0x120104 scan, eip 0x402015 possibly saved at 0x120100, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120100"},
		{name: "one below, of a frame that made a call", frame: esp, called: true, stack: map[uint32]uint32{8: other, 12: 7, 12 + 8*4: this},
			want: "0x402005 sp 0x120130 scan, eip 0x402005 possibly saved at 0x12012c, ebp 0x120180 possibly computed, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x12012c"},
		{name: "just as far as is searched", frame: esp, stack: map[uint32]uint32{12 + 39*4: this},
			want: "0x402005 sp 0x1201ac scan, eip 0x402005 possibly saved at 0x1201a8, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x1201a8"},
		{name: "farther than is searched", frame: esp, stack: map[uint32]uint32{12: 7, 12 + 40*4: this},
			want: "none; no return address at or near the expected place"},
		{name: "of a large frame just as far up", frame: large, stack: map[uint32]uint32{39 * 4: this},
			want: "0x402005 sp 0x1201a0 scan, eip 0x402005 possibly saved at 0x12019c, ebp 0x120180 possibly in ebp, ebx 0xb possibly in ebx, esi 0x51 possibly in esi, edi 0xd1 possibly in edi; no return address at 0x1201c8; one is at 0x12019c"},
		{name: "of a large frame farther up", frame: large, stack: map[uint32]uint32{40 * 4: this, 200: 7},
			want: "none; no return address at or near the expected place"},
		{name: "the last word of the stack", frame: esp, sp: winStack + 0x4000 - 20, stack: map[uint32]uint32{16: this},
			want: "0x402005 sp 0x124000 scan, eip 0x402005 possibly saved at 0x123ffc, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x123ff8; one is at 0x123ffc"},
		{name: "the expected place is beyond the stack", frame: esp, sp: winStack + 0x4000 - 8, stack: map[uint32]uint32{4: this},
			want: "0x402005 sp 0x124000 scan, eip 0x402005 possibly saved at 0x123ffc, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x124004; one is at 0x123ffc"},
		{name: "nothing, and the expected place is beyond the stack", frame: esp, sp: winStack + 0x4000 - 8,
			want: "none; no return address at or near the expected place"},
		{name: "behind another call", frame: esp, code: true, stack: map[uint32]uint32{12: other, 16: this},
			want: "0x402005 sp 0x120114 scan, eip 0x402005 possibly saved at 0x120110, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120110"},
		{name: "behind an indirect call", frame: esp, code: true, stack: map[uint32]uint32{12: indirect},
			want: "0x402023 sp 0x120110 sym-cfi, eip 0x402023 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "behind a call that leads anywhere", frame: esp, code: true, stack: map[uint32]uint32{12: anywhere},
			want: "0x402035 sp 0x120110 sym-cfi, eip 0x402035 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "behind no call", frame: fpo, code: true, stack: map[uint32]uint32{12: winBase + 0x1234},
			want: "none; no return address at or near the expected place"},
		{name: "by EBP behind no call", frame: ebp, code: true, stack: map[uint32]uint32{0x84: winBase + 0x1234},
			want: "none; 0x401234 is not a return address"},
		{name: "by EBP, low in the module", frame: ebp, stack: map[uint32]uint32{0x80: 0xeb, 0x84: winBase + 0x80},
			want: "0x400080 sp 0x120188 sym-cfi, eip 0x400080 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "by EBP, the module's beginning", frame: ebp, stack: map[uint32]uint32{0x84: winBase},
			want: "none; 0x400000 is not a return address"},
		{name: "by EBP, in no module", frame: ebp, stack: map[uint32]uint32{0x84: 0x7000},
			want: "none; 0x7000 is not a return address"},
		{name: "searched low in the module", frame: esp, stack: map[uint32]uint32{12: winBase + 0x80, 16: this},
			want: "0x402005 sp 0x120114 scan, eip 0x402005 possibly saved at 0x120110, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120110"},
		{name: "EBP that is below", frame: ebp, ebp: winStack + 0x40, stack: map[uint32]uint32{},
			want: "none; the caller's stack pointer would be lower"},
		{name: "its own address on top", frame: empty, stack: map[uint32]uint32{0: own, 4: this},
			want: "0x402005 sp 0x120108 scan, eip 0x402005 possibly saved at 0x120104, ebp 0x120180 possibly in ebp, ebx 0xb possibly in ebx, esi 0x51 possibly in esi, edi 0xd1 possibly in edi; no return address at 0x120100; one is at 0x120104"},
		{name: "its own address, a call made", frame: empty, called: true, stack: map[uint32]uint32{0: own, 4: this},
			want: "0x401010 sp 0x120104 sym-cfi, eip 0x401010 saved at 0x120100, ebp 0x120180, ebx lost, esi lost, edi lost"},
		{name: "its own address farther up", frame: esp, stack: map[uint32]uint32{12: own},
			want: "0x401010 sp 0x120110 sym-cfi, eip 0x401010 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "its own address, which follows a call", frame: unwindrules.WinFrame{Start: 0x2000, Size: 0x100}, pc: 0x2023, code: true, stack: map[uint32]uint32{0: indirect},
			want: "0x402023 sp 0x120104 sym-cfi, eip 0x402023 saved at 0x120100, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "another address on top", frame: empty, stack: map[uint32]uint32{0: own + 1},
			want: "0x401011 sp 0x120104 sym-cfi, eip 0x401011 saved at 0x120100, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "the function's start", frame: headESP, stack: map[uint32]uint32{12: winBase + 0x1000},
			want: "none; no return address at or near the expected place"},
		{name: "a start that begins no function", frame: esp, stack: map[uint32]uint32{12: winBase + 0x1000},
			want: "0x401000 sp 0x120110 sym-cfi, eip 0x401000 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "the second byte of the function", frame: headESP, stack: map[uint32]uint32{12: winBase + 0x1001},
			want: "0x401001 sp 0x120110 sym-cfi, eip 0x401001 saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "the last byte of the module", frame: esp, stack: map[uint32]uint32{12: winBase + winSize - 1},
			want: "0x40ffff sp 0x120110 sym-cfi, eip 0x40ffff saved at 0x12010c, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "the end of the module", frame: esp, stack: map[uint32]uint32{12: winBase + winSize},
			want: "none; no return address at or near the expected place"},
		{name: "first byte", frame: ebp, pc: 0x1000, stack: map[uint32]uint32{0: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120104 analysis, eip 0x402005 saved at 0x120100, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi; the function's code shows how much of its prologue has run"},
		{name: "first byte, and no return address", frame: ebp, pc: 0x1000, stack: map[uint32]uint32{0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "first byte, with EBP on top", frame: ebp, pc: 0x1000, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "EBP pushed", frame: ebp, pc: 0x1001, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120108 sym-cfi, eip 0x402005 saved at 0x120104, ebp 0x120180 saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi; the prologue has not pointed EBP at the frame"},
		{name: "EBP pushed, a call made", frame: ebp, pc: 0x1002, called: true, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx lost, esi lost, edi lost"},
		{name: "another word pushed", frame: ebp, pc: 0x1001, stack: map[uint32]uint32{0: winStack + 0x184, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "EBP pushed on no return address", frame: ebp, pc: 0x1001, stack: map[uint32]uint32{0: winStack + 0x180, 4: 7, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "EBP pushed in another program", frame: headESP, pc: 0x1001, stack: map[uint32]uint32{0: winStack + 0x180, 4: this},
			want: "0x402005 sp 0x120108 scan, eip 0x402005 possibly saved at 0x120104, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120104"},
		{name: "EBP pointed at the frame", frame: slow, pc: 0x1003, ebp: sp, stack: map[uint32]uint32{0: winStack + 0x100, 4: this},
			want: "0x402005 sp 0x120108 sym-cfi, eip 0x402005 saved at 0x120104, ebp 0x120100 saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "EBP pushed, but not known", frame: ebp, pc: 0x1001, noEBP: true, stack: map[uint32]uint32{4: this},
			want: "none; \"=\": $ebp: no value"},
		{name: "EBP pushed to memory that is not there", frame: ebp, pc: 0x1001, sp: winStack - 4, ebp: 1, stack: map[uint32]uint32{4: this},
			want: "none; \"^\": word at 0x4: memory not readable: memory at 0x4: not in the dump"},
		{name: "patched", frame: ebp, pc: 0x1002, stack: map[uint32]uint32{0: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120104 sym-cfi, eip 0x402005 saved at 0x120100, ebp 0x120180 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi; the prologue has not pointed EBP at the frame"},
		{name: "within the patch", frame: ebp, pc: 0x1001, stack: map[uint32]uint32{0: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "in no prologue", frame: ebp, pc: 0x1003, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "in the prologue of no function", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Prolog: 3, Program: ebpProgram}, pc: 0x1001,
			stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want:  "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "before EBP is set at the latest", frame: slow, pc: 0x1004, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120108 sym-cfi, eip 0x402005 saved at 0x120104, ebp 0x120180 saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi; the prologue has not pointed EBP at the frame"},
		{name: "after EBP is set", frame: slow, pc: 0x1005, stack: map[uint32]uint32{0: winStack + 0x180, 4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "in the prologue, by code", frame: slow, pc: 0x1005, code: true,
			stack: map[uint32]uint32{0: 0x61, 4: 0xeb, 8: this, 0x80: 0xec, 0x84: indirect}, ebp: sp + 4,
			want: "0x402005 sp 0x12010c analysis, eip 0x402005 saved at 0x120108, ebp 0xeb saved at 0x120104, ebx 0xb in ebx, esi 0x61 saved at 0x120100, edi 0xd1 in edi; the function's code shows how much of its prologue has run"},
		{name: "in the prologue, behind another call", frame: slow, pc: 0x1005, code: true,
			stack: map[uint32]uint32{0: 0x61, 4: 0xeb, 8: other}, ebp: sp + 4,
			want: "none; 0x402015 is not a return address"},
		{name: "within an instruction of the prologue", frame: slow, pc: 0x1003, code: true, stack: map[uint32]uint32{4: this, 0x80: 0xeb, 0x84: indirect},
			want: "0x402005 sp 0x120108 analysis, eip 0x402005 saved at 0x120104, ebp 0x0 saved at 0x120100, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi; the function's code shows how much of its prologue has run"},
		{name: "in no instruction of the prologue", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Prolog: 0x80, Program: ebpProgram, FunctionHead: true}, pc: 0x1040, code: true,
			stack: map[uint32]uint32{0x80: 0xeb, 0x84: indirect},
			want:  "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "behind a jump to anywhere in the prologue", frame: unwindrules.WinFrame{Start: 0x1200, Size: 0x100, Prolog: 8, Program: ebpProgram, FunctionHead: true}, pc: 0x1203, code: true,
			stack: map[uint32]uint32{0: indirect, 0x80: 0xeb, 0x84: indirect},
			want:  "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "on two paths of the prologue", frame: unwindrules.WinFrame{Start: 0x1300, Size: 0x100, Prolog: 8, Program: ebpProgram, FunctionHead: true}, pc: 0x1303, code: true,
			stack: map[uint32]uint32{0: indirect, 4: indirect, 0x80: 0xeb, 0x84: indirect},
			want:  "0x402023 sp 0x120188 sym-cfi, eip 0x402023 saved at 0x120184, ebp 0xeb saved at 0x120180, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "in FPO's prologue", frame: prolog, stack: map[uint32]uint32{4: this, 0x24: indirect},
			want: "0x402005 sp 0x120108 scan, eip 0x402005 possibly saved at 0x120104, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost"},
		{name: "in FPO's prologue, all set up", frame: prolog, stack: map[uint32]uint32{0x24: this},
			want: "0x402005 sp 0x120128 scan, eip 0x402005 possibly saved at 0x120124, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost"},
		{name: "in FPO's prologue, more than set up", frame: prolog, stack: map[uint32]uint32{0x28: this},
			want: "0x402005 sp 0x12012c scan, eip 0x402005 possibly saved at 0x120128, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x120124; one is at 0x120128"},
		{name: "after FPO's prologue", frame: prolog, pc: 0x1020, stack: map[uint32]uint32{4: this, 0x24: indirect},
			want: "0x402023 sp 0x120128 sym-cfi, eip 0x402023 saved at 0x120124, ebp 0x120180 in ebp, ebx lost, esi lost, edi lost"},
		{name: "in the epilogue", frame: ebp, pc: 0x1014, code: true, stack: map[uint32]uint32{0: 0x61, 4: 0xeb, 8: this, 0x84: indirect},
			want: "0x402005 sp 0x12010c analysis, eip 0x402005 saved at 0x120108, ebp 0xeb saved at 0x120104, ebx 0xb in ebx, esi 0x61 saved at 0x120100, edi 0xd1 in edi; interrupted in the epilogue"},
		{name: "return that is none", frame: ebp, pc: 0x3000, code: true,
			want: "none"},
		{name: "bottom by EBP", frame: ebp, stack: map[uint32]uint32{0x80: 0, 0x84: 0},
			want: "bottom; the return address is zero: the bottom of the stack"},
		{name: "bottom by ESP", frame: esp, stack: map[uint32]uint32{12: 0},
			want: "bottom; the return address is zero: the bottom of the stack"},
		{name: "zero where the return address is near", frame: esp, stack: map[uint32]uint32{12: 0, 16: this},
			want: "0x402005 sp 0x120114 scan, eip 0x402005 possibly saved at 0x120110, ebp 0x120180 possibly in ebp, ebx lost, esi lost, edi lost; no return address at 0x12010c; one is at 0x120110"},
		{name: "zero where one is near, a call made", frame: esp, called: true, stack: map[uint32]uint32{12: 0, 16: this},
			want: "bottom; the return address is zero: the bottom of the stack"},
		{name: "zero where it is not, a call made", frame: away, called: true, stack: map[uint32]uint32{0x84: this},
			want: "0x402005 sp 0x120188 sym-cfi, eip 0x402005 saved at 0x120184, ebp 0x120180, ebx lost, esi lost, edi lost"},
		{name: "zero where it is not", frame: away, ebp: winStack + 0x300, stack: map[uint32]uint32{0x204: this},
			want: "0x402005 sp 0x120308 sym-cfi, eip 0x402005 saved at 0x120304, ebp 0x120300 in ebp, ebx 0xb in ebx, esi 0x51 in esi, edi 0xd1 in edi"},
		{name: "zero below", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$eip 0 = $esp $esp 4 - ="},
			want: "none; the caller's stack pointer would be lower"},
		{name: "nothing on the stack", frame: esp, stack: map[uint32]uint32{12: 3},
			want: "none; no return address at or near the expected place"},
		{name: "a broken program", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "$eip +"}, stack: map[uint32]uint32{12: this},
			want: "none; \"+\": missing operand: malformed postfix program"},
		{name: "a broken record", frame: unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Program: "broken"}, stack: map[uint32]uint32{12: this},
			want: "none; a broken record"},
		{name: "no record", frame: unwindrules.WinFrame{Start: 0x2000, Size: 0x100}, stack: map[uint32]uint32{0: this},
			want: "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.pc == 0 {
				tc.pc = 0x1010
			}
			switch tc.ebp {
			case 0:
				tc.ebp = winStack + 0x180
			case 1:
				tc.ebp = 0
			}
			if tc.sp == 0 {
				tc.sp = sp
			}
			var text map[uint32]string
			if tc.code {
				text = code
			}
			p := newWinProc(text, map[string]uint64{"eip": winBase + uint64(tc.pc), "esp": uint64(tc.sp), "ebp": uint64(tc.ebp), "ebx": 0xb, "esi": 0x51, "edi": 0xd1})
			if tc.noEBP {
				p.regs.Valid &^= arch.Mask(arch.EBP)
			}
			for off, v := range tc.stack {
				p.put32(uint64(tc.sp+off), v)
			}
			w := winWalker(t, p, winFrames{tc.frame})
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, winBase+uint64(tc.pc), uint64(tc.sp), uint64(tc.ebp))
			}
			got := outcome(w, in, "eip", "ebp", "ebx", "esi", "edi")
			if f := tc.frame; f.Program != "broken" && tc.pc-f.Start < f.Size {
				record := fmt.Sprintf("; frame data at %#x+%d: locals %d, saved registers %d, parameters %d, prologue %d, program %q", f.Start, f.Size, f.Locals, f.SavedRegs, f.Params, f.Prolog, f.Program)
				if !strings.Contains(got, record) {
					t.Errorf("%s\nwants%s", got, record)
				}
				got = strings.Replace(got, record, "", 1)
			}
			if got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
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

// A fixedCaller steps from frames at one address to a caller that it is told.
type fixedCaller struct {
	from, ra, sp arch.Address
	nonCall      bool
}

func (fixedCaller) Name() string     { return "Fixed" }
func (fixedCaller) Priority() uint32 { return 1 }
func (s fixedCaller) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if in.RA() != s.from {
		return unwind.StatusNotMe
	}
	out.SetPC(s.ra, unwind.Location{})
	out.SetSP(s.sp)
	out.SetNonCall(s.nonCall)
	return unwind.StatusSuccess
}

// imagesByPath has files of libraries by their path.
type imagesByPath map[string]image.Parts

func (m imagesByPath) Image(lib *libstate.Library) *modules.Image {
	return (*modules.Image)(image.FromParts(m[lib.Path]))
}

// How many bytes of parameters a frame's callee has on the stack: none where that is not
// known, and no more than can be.
func TestWinFrameCalleeParameters(t *testing.T) {
	const sp, caller = winStack + 0x100, winBase + 0x2010
	const program = "$T0 $esp .cbLocals + .cbCalleeParams + = $eip $T0 ^ = $esp $T0 4 + ="
	frames := winFrames{{Start: 0x1000, Size: 0x100, Params: 12}, {Start: 0x1100, Size: 0x100, Params: 1 << 16}, {Start: 0x1200, Size: 0x100, Params: 1<<16 + 8},
		{Start: 0x1300, Size: 0x100, Program: "broken"}, {Start: 0x2000, Size: 0x100, Locals: 8, Program: program}}
	symbols := must(breakpad.Parse([]byte("MODULE windows x86 000000000000000000000000000000000 a.pdb\nFUNC 1000 100 10 f\nFUNC 1100 100 10000 g\nFUNC 1200 100 10008 h\n" +
		"STACK WIN 4 2000 100 0 0 0 0 8 0 1 " + program + "\n")))
	for _, tc := range []struct {
		name        string
		callee      uint64
		symbols     bool // a symbol file has the records
		interrupted bool
		want        uint64
	}{
		{name: "no callee"},
		{name: "a record", callee: winBase + 0x1010, want: 12},
		{name: "as many as can be", callee: winBase + 0x1110, want: 1 << 16},
		{name: "more than can be", callee: winBase + 0x1210, want: 1 << 16},
		{name: "a broken record", callee: winBase + 0x1310},
		{name: "no record", callee: winBase + 0x1410},
		{name: "in no module", callee: 0x10},
		{name: "interrupted", callee: winBase + 0x1010, interrupted: true},
		{name: "of a symbol file", symbols: true, callee: winBase + 0x1010, want: 16},
		{name: "of a symbol file, as many as can be", symbols: true, callee: winBase + 0x1110, want: 1 << 16},
		{name: "of a symbol file, more than can be", symbols: true, callee: winBase + 0x1210, want: 1 << 16},
		{name: "of no symbol", symbols: true, callee: winBase + 0x1310},
	} {
		p := newWinProc(nil, map[string]uint64{"eip": tc.callee, "esp": sp - 8})
		p.add(winStack+0x4000, libstate.Read|libstate.Write, make([]byte, 0x10000))
		for at := uint64(sp); at < winStack+0x14000; at += 4 {
			p.put32(at, winBase+0x4000+uint32(at)&0x3fff)
		}
		files := image.Parts{Frames: frames}
		if tc.symbols {
			files = image.Parts{Breakpad: symbols}
		}
		w := walker(t, p, nil, fixedCaller{tc.callee, caller, sp, tc.interrupted}, must(steppers.NewWinFrameStepper(partsOf(files))))
		in := called(t, w, caller, sp, 0)
		if tc.callee != 0 {
			in = must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		}
		out, err := w.WalkSingleFrame(in)
		if err != nil || out.SP() != sp+8+tc.want+4 {
			t.Errorf("%s: %v, %v; want SP %#x; %q", tc.name, out, err, sp+8+tc.want+4, notes(in))
		}
	}
}

// Of the two places of the return address, with the callee's parameters and without, the
// one with the better candidate wins, and the first if they are equal.
func TestWinFrameBetterPlace(t *testing.T) {
	const sp, lost = winStack + 0x100, 0x500000
	const start, other, indirect, this = lost + 0x1000, winBase + 0x3015, winBase + 0x3023, winBase + 0x3005
	code := map[uint32]string{0x2000: "\xe8\xfb\xef\xff\xff\x90", 0x3000: "\xe8\xfb\xef\xff\xff\x90", 0x3010: "\xe8\xeb\x0f\x00\x00\x90", 0x3020: "\x90\xff\xd0\x90", 0x4000: "\xc3"}
	for _, tc := range []struct {
		name          string
		with, without uint32
		want          uint64 // from SP
	}{
		{"lost code, no call", lost + 0x123, 7, 20},
		{"no call, lost code", 7, lost + 0x123, 12},
		{"lost code twice", lost + 0x123, lost + 0x456, 20},
		{"lost code, any call", lost + 0x123, indirect, 12},
		{"any call, lost code", indirect, lost + 0x123, 20},
		{"any call, a call of it", indirect, this, 12},
		{"a call of it, any call", this, indirect, 20},
		{"a call of it twice", this, this, 20},
		{"a call of another, lost code", other, lost + 0x123, 12},
		{"the start of a lost function, lost code", start, lost + 0x123, 12},
		{"lost code without records, a call of another", lost + 0x12000, other, 20},
	} {
		p := newWinProc(code, map[string]uint64{"eip": winBase + 0x1010, "esp": sp - 4, "ebp": 0})
		first, _ := p.libs.LibraryAt(winBase)
		second := p.addModule(lost, winSize, nil)
		third := p.addModule(lost+winSize, winSize, nil)
		second.Path, third.Path = `C:\lost.dll`, `C:\bare.dll`
		p.libs = libstate.NewTable([]*libstate.Library{first, second, third}, 0)
		p.put32(sp-4, winBase+0x2005)
		p.put32(sp+12, tc.without)
		p.put32(sp+20, tc.with)
		w := walker(t, p, nil, must(steppers.NewWinFrameStepper(imagesByPath{
			first.Path:  {Frames: winFrames{{Start: 0x1000, Size: 0x100, Params: 8}, {Start: 0x2000, Size: 0x100, Locals: 12}}},
			second.Path: {Frames: winFrames{{Start: 0x1000, Size: 0x100, FunctionHead: true}}}})))
		in := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if out, err := w.WalkSingleFrame(in); err != nil || out.SP() != sp+tc.want+4 || out.Trust() != unwind.TrustSymCFI {
			t.Errorf("%s: %v, %v; want it at SP+%d; %q", tc.name, out, err, tc.want, notes(in))
		}
	}
}

// Of a function that is too large to be followed, the prologue's first instructions tell.
func TestWinFrameOfLargeFunction(t *testing.T) {
	const sp, page, size = winStack + 0x100, 0x1000, 0x202000
	text := make([]byte, size)
	copy(text[0x800:], "\xe8\xfb\x07\x00\x00") // calls 0x1000
	for at := page; at < size; at += page {
		copy(text[at:], "\xe9\xfb\x0f\x00\x00") // jumps a page further
	}
	p := newProc32()
	p.addModule(winBase, size, text)
	p.add(winStack, libstate.Read|libstate.Write, make([]byte, 0x1000))
	p.put32(sp, winBase+0x805)
	w := winWalker(t, p, winFrames{{Start: 0x1000, Size: size - page, Prolog: 3, Program: ebpProgram, FunctionHead: true}})
	for pc, want := range map[uint64]bool{0x1000: true, 0x1001: false, 0x1002: true} {
		p := p
		p.setRegs32(map[string]uint64{"eip": winBase + pc, "esp": sp, "ebp": winStack + 0x180})
		f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
		if (err == nil) != want || err == nil && (f.RA() != winBase+0x805 || f.SP() != sp+4 || f.Trust() != unwind.TrustSymCFI) {
			t.Errorf("at %#x: %v, %v", pc, f, err)
		}
	}
}

// Code that ends like a function's end is run up to the return; the frame is at 0x1040.
func TestWinEpilogue(t *testing.T) {
	const sp = winStack + 0x100
	const this, other = winBase + 0x2005, winBase + 0x2015
	const no = "0x402023 sp 0x120188 sym-cfi" // what the record says
	pops := func(n int) string { return strings.Repeat("\x5e", n) }
	for _, tc := range []struct {
		name, code string
		called     bool
		noEBP      bool
		sp, ebp    uint32            // 0 for the usual
		stack      map[uint32]uint32 // by offset from sp
		want       string
	}{
		{name: "return", code: "\xc3", stack: map[uint32]uint32{0: this},
			want: "0x402005 sp 0x120104 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "return that frees parameters", code: "\xc2\x08\x00", stack: map[uint32]uint32{0: this},
			want: "0x402005 sp 0x120104 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "return of a frame that made a call", code: "\xc3", called: true, stack: map[uint32]uint32{0: this}},
		{name: "return to no call", code: "\xc3", stack: map[uint32]uint32{0: winBase + 0x1234}},
		{name: "return to another function's caller", code: "\xc3", stack: map[uint32]uint32{0: other}},
		{name: "jump to another function", code: "\x5e\xe9\x00\x01\x00\x00", stack: map[uint32]uint32{0: 0x61, 4: this},
			want: "0x402005 sp 0x120108 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x61 saved at 0x120100, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "jump as the first instruction", code: "\xe9\x00\x01\x00\x00", stack: map[uint32]uint32{0: this}},
		{name: "call", code: "\x5e\xff\xd0\xc3", stack: map[uint32]uint32{4: this}},
		{name: "as long as can be", code: pops(7) + "\xc3", stack: map[uint32]uint32{24: 0x61, 28: this},
			want: "0x402005 sp 0x120120 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x61 saved at 0x120118, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "longer than can be", code: pops(8) + "\xc3", stack: map[uint32]uint32{28: 0x61, 32: this}},
		{name: "add", code: "\x83\xc4\x08\xc3", stack: map[uint32]uint32{8: this},
			want: "0x402005 sp 0x12010c analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "subtract", code: "\x83\xc4\xf8\xc3", stack: map[uint32]uint32{0xfffffff8: this}},
		{name: "lea with EBP", code: "\x8d\x65\xf8\x5e\x5d\xc3", stack: map[uint32]uint32{0x78: 0x61, 0x7c: 0xeb, 0x80: this},
			want: "0x402005 sp 0x120184 analysis, ebp 0xeb saved at 0x12017c, ebx 0x120180 in ebx, esi 0x61 saved at 0x120178, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "lea with EBX", code: "\x8d\x63\xf8\x5e\x5d\xc3", stack: map[uint32]uint32{0x78: 0x61, 0x7c: 0xeb, 0x80: this, 0: 0x61, 4: 0xeb, 8: this}},
		{name: "lea with an index", code: "\x8d\x64\x05\xf8\x5e\x5d\xc3", stack: map[uint32]uint32{0x78: 0x61, 0x7c: 0xeb, 0x80: this, 0: 0x61, 4: 0xeb, 8: this}},
		{name: "lea with EBP unknown", code: "\x8d\xa5\x10\x01\x12\x00\xc3", noEBP: true, stack: map[uint32]uint32{0x10: this},
			want: "none; \"=\": $ebp: no value"},
		{name: "leave", code: "\xc9\xc3", stack: map[uint32]uint32{0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 analysis, ebp 0xeb saved at 0x120180, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "leave with EBP unknown", code: "\xc9\xc3", noEBP: true, stack: map[uint32]uint32{0: this},
			want: "none; \"=\": $ebp: no value"},
		{name: "leave off the stack", code: "\x5d\xc9\xc3", stack: map[uint32]uint32{0: 0x10}},
		{name: "leave of a frame below", code: "\x5d\xc9\xc3", stack: map[uint32]uint32{0: winStack + 0x80, 0xffffff80: 0xeb, 0xffffff84: this}},
		{name: "leave with EBP popped", code: "\x5d\xc9\xc3", noEBP: true, stack: map[uint32]uint32{0: winStack + 0x140, 0x40: 0xeb, 0x44: this},
			want: "0x402005 sp 0x120148 analysis, ebp 0xeb saved at 0x120140, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "EBP to ESP", code: "\x89\xec\x5d\xc3", stack: map[uint32]uint32{0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 analysis, ebp 0xeb saved at 0x120180, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "EBP to ESP with EBP unknown", code: "\x89\xec\x81\xc4\x00\x01\x12\x00\xc3", noEBP: true, stack: map[uint32]uint32{0: this},
			want: "none; \"=\": $ebp: no value"},
		{name: "pops", code: "\x5f\x5e\x5b\x5d\xc3", stack: map[uint32]uint32{0: 0xd2, 4: 0x52, 8: 0xb2, 12: 0xeb, 16: this},
			want: "0x402005 sp 0x120114 analysis, ebp 0xeb saved at 0x12010c, ebx 0xb2 saved at 0x120108, esi 0x52 saved at 0x120104, edi 0xd2 saved at 0x120100, ecx lost; interrupted in the epilogue"},
		{name: "pop of what calls do not keep", code: "\x59\xc3", stack: map[uint32]uint32{0: 1, 4: this},
			want: "0x402005 sp 0x120108 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "pop of ESP", code: "\x5c\xc3", stack: map[uint32]uint32{4: this}},
		{name: "pop of half a word", code: "\x66\x5e\xc3", stack: map[uint32]uint32{4: this}},
		{name: "pop of a segment", code: "\x1f\xc3", stack: map[uint32]uint32{4: this}},
		{name: "the return address is off the stack", code: "\x81\xc4\x00\x3f\x00\x00\xc3"},
		{name: "the last word of the stack", code: "\x81\xc4\xfc\x3e\x00\x00\xc3", stack: map[uint32]uint32{0x3efc: this},
			want: "0x402005 sp 0x124000 analysis, ebp 0x120180 in ebp, ebx 0x120180 in ebx, esi 0x51 in esi, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "a pop from memory that is not there", code: "\x5e\xc3", sp: winStack - 4, stack: map[uint32]uint32{4: this}},
		{name: "a pop from memory that is not there, and more", code: "\x5e\x83\xc4\x04\xc3", sp: winStack - 4, stack: map[uint32]uint32{4: this}},
		{name: "leave for memory that is not there", code: "\xc9\x83\xc4\x04\xc3", sp: winStack - 8, ebp: winStack - 4, stack: map[uint32]uint32{8: this},
			want: "none; \"^\": word at 0x11fffc: memory not readable: memory at 0x11fffc: not in the dump"},
		{name: "leave after another pop", code: "\x5e\xc9\xc3", stack: map[uint32]uint32{0: winStack + 0x140, 0x40: 0xeb, 0x44: this, 0x80: 0xeb, 0x84: this},
			want: "0x402005 sp 0x120188 analysis, ebp 0xeb saved at 0x120180, ebx 0x120180 in ebx, esi 0x120140 saved at 0x120100, edi 0xd1 in edi, ecx lost; interrupted in the epilogue"},
		{name: "no end", code: "\x5e\x90\x90", stack: map[uint32]uint32{4: this}},
		{name: "no code", code: "\x0f\x0b", stack: map[uint32]uint32{0: this}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			regs := map[string]uint64{"eip": winBase + 0x1040, "esp": sp, "ebp": winStack + 0x180, "ebx": winStack + 0x180, "esi": 0x51, "edi": 0xd1, "ecx": 0xc1}
			if tc.noEBP {
				delete(regs, "ebp")
			}
			p := newWinProc(map[uint32]string{0x1040: tc.code, 0x2000: "\xe8\xfb\xef\xff\xff\x90", 0x2010: "\xe8\xeb\x0f\x00\x00\x90", 0x2020: "\x90\xff\xd0\x90", 0x3000: "\xc3"}, regs)
			p.put32(sp+0x80, 0xec, winBase+0x2023)
			at := uint32(sp)
			if tc.sp != 0 {
				at = tc.sp
			}
			p.setRegs32(map[string]uint64{"esp": uint64(at)})
			if tc.ebp != 0 {
				p.setRegs32(map[string]uint64{"ebp": uint64(tc.ebp)})
			}
			for off, v := range tc.stack {
				p.put32(uint64(at+off), v)
			}
			w := winWalker(t, p, winFrames{{Start: 0x1000, Size: 0x100, Program: ebpProgram, FunctionHead: true}})
			in := must(w.InitialFrame(1))
			if tc.called {
				in = called(t, w, winBase+0x1040, sp, winStack+0x180)
			}
			got := outcome(w, in, "ebp", "ebx", "esi", "edi", "ecx")
			before, note, _ := strings.Cut(got, "; frame data at")
			if _, note, _ = strings.Cut(note, "; "); note != "" {
				before += "; " + note
			}
			if strings.HasPrefix(before, no) {
				before = no
			}
			want := tc.want
			if want == "" {
				want = no
			}
			if before != want {
				t.Errorf("%s\nwant %s", before, want)
			}
		})
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
	rounds := 300
	if !fixture.IsLong(t) {
		rounds /= 3
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	programs := []string{"", ebpProgram, espProgram, "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $ebp $T0 4 - ^ =", "$eip $ebp ^ = $esp $ebp ="}
	longest := 0
	for range rounds {
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
