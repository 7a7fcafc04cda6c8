package hotspot

import (
	"bytes"
	"context"
	"encoding/gob"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Record, if it is not "", is the file into which Record records the first stack that it is given.
var recordTo = flag.String("record", "", "record the stack of main in the core of the first test into this file")

// A recorder records which pages are read.
type recorder struct {
	unwind.ProcessState
	pages map[uint64][]byte
}

func (r *recorder) note(at uint64, n int) {
	if n <= 0 { // nothing is there, perhaps at the end of all addresses
		return
	}
	for p := at &^ (page - 1); p < at+uint64(n); p += page {
		if r.pages[p] == nil {
			b := make([]byte, page)
			if got, _ := r.ProcessState.ReadMem(p, b); got == page {
				r.pages[p] = b
			}
		}
	}
}

func (r *recorder) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := r.ProcessState.ReadMem(at, b)
	r.note(at, n)
	return n, err
}

func (r *recorder) ReadWord(at arch.Address) (uint64, error) {
	v, err := r.ProcessState.ReadWord(at)
	if err == nil {
		r.note(at, 8)
	}
	return v, err
}

// Record records what the walk of the Java frames of a stack reads, from the first of them on, and what their variables
// need if values, and the exceptions of the thread if raised.
func Record(t *testing.T, p *tasks.Process, frames []*unwind.Frame, values, raised bool) {
	if *recordTo == "" {
		return
	}
	state := &recorder{p.State, map[uint64][]byte{}}
	q := &tasks.Process{State: state, Symbols: p.Symbols, Modules: p.Modules}
	j := New(func() *tasks.Process { return q })
	vm := j.machine()
	rec := &recording{Pages: state.pages, Symbols: map[string]uint64{}, Values: values, Raised: raised}
	for _, lib := range p.Modules {
		for _, table := range []string{"Struct", "Type", "IntConstant"} {
			for _, n := range []string{"s", "EntryArrayStride", "EntryTypeNameOffset", "EntryFieldNameOffset", "EntryIsStaticOffset", "EntryOffsetOffset",
				"EntryAddressOffset", "EntryTypeStringOffset", "EntrySizeOffset",
				"EntryNameOffset", "EntryValueOffset"} {
				if s, ok := p.Symbols.SymbolByName(lib, "gHotSpotVM"+table+n); ok {
					rec.Symbols[s.Name] = s.Addr
				}
			}
		}
	}
	for _, f := range frames {
		if vm.blobAt(f.LookupAddr()) != nil {
			rec.PC, rec.SP, rec.FP = f.RA(), f.SP(), f.FP()
			break
		}
	}
	group := unwind.NewAddrRangeGroup()
	group.RegisterStepper(j)
	w, err := unwind.NewWalker(state, unwind.WithGroup(group))
	if err != nil {
		t.Fatal(err)
	}
	f, err := unwind.NewFrame(rec.PC, rec.SP, rec.FP, w)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := w.WalkStackFromFrame(f)
	list, _ := j.Stretches(context.Background(), 1, s.Frames)
	rec.Want = shown(list, values)
	if raised {
		rec.Want = append(rec.Want, raisedLines(j)...)
	}
	vm.Threads()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(rec); err != nil {
		t.Fatal(err)
	}
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err := os.WriteFile(*recordTo, z.EncodeAll(b.Bytes(), nil), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages, %d frames:\n%s", len(rec.Pages), len(s.Frames), strings.Join(rec.Want, "\n"))
}
