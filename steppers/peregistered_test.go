package steppers_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A registered process knows one entry of a function table.
type registered struct {
	otherProc
	entry []byte
	base  arch.Address
}

func (r registered) RuntimeFunction(arch.Address) ([]byte, arch.Address, bool) {
	return r.entry, r.base, r.entry != nil
}

// On arm64 the unwind information says where a function ends that was made at run time.
func TestRegisteredFunctionsOfARM64(t *testing.T) {
	const info = 0x800
	for _, tt := range []struct {
		name  string
		at    uint64
		entry []uint32
		want  string
	}{
		{"in it", 0x220, []uint32{0x200, info}, "0x10000104 sp 0x20000120 pe-unwind, pc 0x10000104 saved at 0x20000108, x29 0x77 saved at 0x20000100"},
		{"before its epilogue", 0x2f0, []uint32{0x200, info}, "0x10000104 sp 0x20000120 pe-unwind, pc 0x10000104 saved at 0x20000108, x29 0x77 saved at 0x20000100"},
		{"behind it", 0x300, []uint32{0x200, info}, "none; registered function at 0x10000200: RVA 0x300 is not in 0x200..0x300: no function in the unwind table"},
		{"before it", 0x1fc, []uint32{0x200, info}, "none; registered function at 0x10000200: RVA 0x1fc is not in 0x200..0x300: no function in the unwind table"},
		{"no information", 0x220, []uint32{0x200, 0x2000}, "none; the unwind information of the registered function is not in the dump"},
		{"half an entry", 0x220, []uint32{0x200}, "none; the unwind information of the registered function is not in the dump"},
		{"no entry", 0x220, nil, "none"},
	} {
		// 0x40 instructions, an epilogue at the end, one word of codes: mov x29, sp; stp x29, x30, [sp, -32]!
		p := registered{newForeign(arch.ARM64, map[int][]uint32{0x100: {bl(0x100, 0x200)}, info: {0x40 | 1<<21 | 1<<27, 0xe3e483e1}}), nil, foreignCode}
		p.libs = nil
		for _, w := range tt.entry {
			p.entry = binary.LittleEndian.AppendUint32(p.entry, w)
		}
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + tt.at, arch.ARM64SP: foreignStack + 0x100, arch.ARM64.FP: foreignStack + 0x100})
		p.put(foreignStack+0x100, 0x77, foreignCode+0x104)
		w := walker(t, p, nil, must(steppers.NewPEUnwindStepper(arch.ARM64, noFile)))
		if got := outcome(w, must(w.InitialFrame(1)), "pc", "x29"); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// A process that knows of no such tables is not asked for any.
func TestNoRegisteredFunctions(t *testing.T) {
	p := newForeign(arch.ARM64, nil)
	p.libs = nil
	p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x100, arch.ARM64SP: foreignStack + 0x100})
	w := walker(t, p, nil, must(steppers.NewPEUnwindStepper(arch.ARM64, noFile)))
	if got := outcome(w, must(w.InitialFrame(1)), "pc"); !strings.HasPrefix(got, "none") {
		t.Error(got)
	}
}
