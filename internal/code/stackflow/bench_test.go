package stackflow_test

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/unwind/arch"
)

const libc = "../../../testdata/sysroot/amd64/usr/lib/x86_64-linux-gnu/libc.so.6"

// BenchmarkAnalyze analyses the function of a C library whose size is nearest to 10 KB.
func BenchmarkAnalyze(b *testing.B) {
	im, err := image.NewCache(find.New(context.Background(), find.Options{})).Open(libc)
	if err != nil {
		b.Skip(err)
	}
	var start, end uint64
	for d := range im.EHFrame().FDEs() {
		if size := d.End - d.Start; size <= 10240 && size > end-start {
			start, end = d.Start, d.End
		}
	}
	b.SetBytes(int64(end - start))
	b.ReportAllocs()
	var f *stackflow.Func
	for b.Loop() {
		f = stackflow.Analyze(arch.AMD64, im.Code(), start, end)
	}
	if f == nil {
		b.Fatal("the function cannot be followed")
	}
}
