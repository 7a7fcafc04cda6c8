package steppers_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
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
