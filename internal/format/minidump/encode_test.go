package minidump

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// DecodeContext reads what EncodeContext wrote; parts of which nothing is known stay unknown.
func TestEncodeContext(t *testing.T) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64, arch.ARM} {
		cpu := CPUOf(a)
		f := &File{System: System{Known: true, CPU: cpu}}
		var regs arch.RegSet
		regs.Set(a.PC, 0x401000)
		regs.Set(a.SP, 0x7ff0)
		regs.Set(a.FP, 0x8000)
		l := layouts(cpu)[0]
		vector := bytes.Repeat([]byte{1, 2, 3, 4}, l.vectorLen/4)
		c, err := f.DecodeContext(EncodeContext(cpu, &regs, vector))
		if err != nil || c.Arch != a || !bytes.Equal(c.Vector, vector) {
			t.Errorf("%s: %v, vector %x", a.Name, err, c.Vector)
		}
		for _, r := range []arch.Reg{a.PC, a.SP, a.FP} {
			want, _ := regs.Get(r)
			if got, ok := c.Regs.Get(r); !ok || got != want {
				t.Errorf("%s: register %d is %#x", a.Name, r, got)
			}
		}
		rec := EncodeContext(cpu, &regs, nil)
		if flags := binary.LittleEndian.Uint32(rec[l.flags:]); flags&l.vector.flag != 0 {
			t.Errorf("%s: flags %#x without vector state", a.Name, flags)
		}
		if EncodeContext(cpu, &regs, vector[1:]) != nil {
			t.Errorf("%s: short vector state was written", a.Name)
		}
	}
	if EncodeContext(CPUUndefined, new(arch.RegSet), nil) != nil || CPUOf(arch.S390X) != CPUUndefined {
		t.Error("an unknown processor has a context")
	}
}
