package steppers_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FuzzWalk walks stacks of arbitrary contents, over arbitrary code and call frame
// instructions, with all default steppers: a walk must end, keep its frames, and
// say why it ended.
func FuzzWalk(f *testing.F) {
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		return b
	}
	f.Add(uint64(bias+fnCallee+8), uint64(stack+0x100), uint64(stack+0x110), words(0, 0, stack+0x200, bias+raCaller), []byte{}, []byte{})
	f.Add(uint64(0), uint64(stack+0x100), uint64(0), words(bias+raSpill, bias+raWrong), []byte{}, []byte{0x0e, 0x10})
	f.Add(uint64(bias+restorer1), uint64(stack), uint64(1), words(bias+restorer1), text[restorer1], []byte{0x07, 0x10})
	f.Fuzz(func(t *testing.T, pc, sp, fp uint64, mem, code, prog []byte) {
		p := newProc(map[string]uint64{"rip": pc, "rsp": sp, "rbp": fp, "rbx": stack})
		copy(p.segs[3].data[0x100:], mem)
		copy(p.segs[1].data[0x200:], code)
		im := buildImage(t, func(eh, _ *cfitest.Section) {
			c := eh.AddCIE(cfitest.CIE{Insns: plain()})
			eh.AddFDE(c, fnCaller, 11, plain())
			eh.AddFDE(c, 0x1200, uint64(max(len(code), 1)), new(cfitest.Program).Raw(prog[:min(len(prog), 256)]...))
		})
		g, err := steppers.DefaultGroup(arch.AMD64, fileOfAll{im})
		if err != nil {
			t.Fatal(err)
		}
		const limit = 4096
		w, err := unwind.NewWalker(mapper{p}, unwind.WithGroup(g), unwind.WithSymbolReader(symbols(names)), unwind.WithMaxFrames(limit))
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.WalkStackContext(context.Background(), 1)
		if len(s.Frames) == 0 || len(s.Frames) > limit {
			t.Fatalf("%d frames", len(s.Frames))
		}
		if (err == nil) != (s.End == unwind.EndBottom) {
			t.Errorf("end %v with %v", s.End, err)
		}
		if err != nil && !errors.Is(err, unwind.ErrNoStepper) && !errors.Is(err, unwind.ErrLoop) && !errors.Is(err, unwind.ErrMaxFrames) {
			t.Errorf("unexpected error %v", err)
		}
		for i, f := range s.Frames {
			if i > 0 && (f.Trust() == unwind.TrustScan || f.Trust() == unwind.TrustFramePointer || f.Trust() == unwind.TrustWildPC) {
				if m, ok := (mapper{p}).MappingAt(f.RA() - 1); !ok || m.Perm&libstate.Exec == 0 {
					t.Errorf("frame %d, by %v, is at %#x, which is not in code", i, f.Trust(), f.RA())
				}
			}
		}
	})
}
