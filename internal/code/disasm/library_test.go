package disasm

import (
	"debug/elf"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// BenchmarkDecodeLibrary decodes the first 64 KiB of a C library's code.
func BenchmarkDecodeLibrary(b *testing.B) {
	f, err := elf.Open("../../../testdata/sysroot/amd64/usr/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		b.Fatal(err)
	}
	var in Inst
	n := 0
	for b.Loop() {
		n = 0
		for i := 0; i < 1<<16; {
			if DecodeInto(&in, arch.AMD64, code[i:], text.Addr+uint64(i)) != nil {
				i++
				continue
			}
			n++
			i += in.Len
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/inst")
}
