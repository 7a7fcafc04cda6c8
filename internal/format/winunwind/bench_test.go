package winunwind_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// steps are a frame of each kind: by codes, and in an epilogue.
func steps(tb testing.TB) map[string]func() {
	x64, err := winunwind.New(arch.AMD64, words(0x1000, 0x1100, 0x2000), layout(map[uint32][]byte{
		0x1010: {0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3}, 0x1020: {0x90}, 0x2000: info(1, 0, 4, 0, 4, 2<<4|2, 2, 3<<4, 1, 5<<4)}))
	if err != nil {
		tb.Fatal(err)
	}
	arm64, err := winunwind.New(arch.ARM64, words(0x1000, 1|0x10<<2|2<<16|3<<21|6<<23), image{})
	if err != nil {
		tb.Fatal(err)
	}
	step := func(tab *winunwind.Table, a *arch.Arch, rva uint32) func() {
		f := new(winunwind.Frame)
		return func() {
			f.Regs.Set(a.SP, sp0)
			f.Regs.Set(a.FP, sp0)
			f.Regs.Set(a.PC, base+uint64(rva))
			if err := tab.Step(f, memory{}, base, true); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return map[string]func(){"x64": step(x64, arch.AMD64, 0x1020), "x64-epilogue": step(x64, arch.AMD64, 0x1010), "arm64": step(arm64, arch.ARM64, 0x1020)}
}

func TestStepAllocatesNothing(t *testing.T) {
	for name, step := range steps(t) {
		if n := testing.AllocsPerRun(100, step); n != 0 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for name, step := range steps(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				step()
			}
		})
	}
}
