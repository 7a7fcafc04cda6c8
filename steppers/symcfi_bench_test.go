package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/unwindrules"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// deepFrames is how many frames the stacks have that are walked for measurement.
const deepFrames = 10000

func benchmarkDeep(b *testing.B, p unwind.ProcessState, s unwind.FrameStepper) {
	w := must(unwind.NewWalker(p))
	w.AddStepper(s)
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := w.WalkStack(1); len(got.Frames) != deepFrames+1 {
			b.Fatalf("%d frames", len(got.Frames))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deepFrames, "ns/frame")
}

// BenchmarkSymCFI walks a deep recursion by a symbol file.
func BenchmarkSymCFI(b *testing.B) {
	p := newProc(map[string]uint64{"rip": bias + raCaller, "rsp": 0x10000000})
	p.add(0x10000000, libstate.Read|libstate.Write, make([]byte, deepFrames*32+64))
	for i := range uint64(deepFrames) {
		p.put(0x10000000+32*i+16, 0xb9, bias+raCaller)
	}
	f := symFile(b, "STACK CFI INIT 1000 b .cfa: $rsp 8 + .ra: .cfa -8 + ^", "STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^", "STACK CFI 1004 .cfa: $rsp 32 +")
	benchmarkDeep(b, mapper{p}, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(f))))
}

// BenchmarkWinFrame walks a deep recursion by frame data, without code at hand.
func BenchmarkWinFrame(b *testing.B) {
	const start = 0x10000000
	p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": start})
	p.add(start, libstate.Read|libstate.Write, make([]byte, deepFrames*16+64))
	for i := range uint64(deepFrames) {
		p.put32(start+16*i+12, winBase+0x1010)
	}
	frames := winFrames{unwindrules.WinFrame{Start: 0x1000, Size: 0x100, Locals: 8, SavedRegs: 4, Program: espProgram}}
	benchmarkDeep(b, p, must(steppers.NewWinFrameStepper(partsOf(image.Parts{Frames: frames}))))
}
