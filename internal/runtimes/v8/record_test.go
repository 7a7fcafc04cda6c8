package v8

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

var recordTo = flag.String("record", "", "record the stack of the thread that crashed in the core of the first test into this file")

// A recorder records which pages are read, and which symbols are asked for.
type recorder struct {
	unwind.ProcessState
	unwind.SymbolReader
	*recording
}

// note keeps what was read; the rest of its pages stays empty, so that recordings are small.
func (r *recorder) note(at uint64, b []byte) {
	for i := range b {
		p := (at + uint64(i)) &^ (page - 1)
		if r.Pages[p] == nil {
			r.Pages[p] = make([]byte, page)
		}
		r.Pages[p][(at+uint64(i))%page] = b[i]
	}
}

func (r *recorder) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := r.ProcessState.ReadMem(at, b)
	r.note(at, b[:n])
	return n, err
}

func (r *recorder) ReadWord(at arch.Address) (uint64, error) {
	v, err := r.ProcessState.ReadWord(at)
	if err == nil {
		r.note(at, binary.LittleEndian.AppendUint64(nil, v))
	}
	return v, err
}

func (r *recorder) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := r.SymbolReader.SymbolByName(lib, name)
	if _, have := r.Symbols[name]; ok && !have {
		r.Symbols[name] = s
	}
	return s, ok
}

func (r *recorder) SymbolAt(lib *libstate.Library, at uint64) (unwind.Symbol, bool) {
	s, ok := r.SymbolReader.SymbolAt(lib, at)
	if ok || lib != nil {
		r.At[at] = s.Name
	}
	return s, ok
}

// Record records what the walk of the frames of a stack reads, from the first of V8's on.
func Record(t *testing.T, p *tasks.Process, stack *unwind.Stack) {
	if *recordTo == "" {
		return
	}
	rec := &recording{Pages: map[uint64][]byte{}, Symbols: map[string]unwind.Symbol{}, At: map[uint64]string{}}
	r := &recorder{p.State, p.Symbols, rec}
	q := &tasks.Process{State: r, Symbols: r, Modules: p.Modules}
	j := New(func() *tasks.Process { return q })
	e := j.anywhere()
	for _, f := range stack.Frames {
		lib, _ := p.State.LibraryTracker().LibraryAt(f.LookupAddr())
		if lib == nil || e.builtinOf(lib, f) != "" {
			rec.PC, rec.SP, rec.FP = f.RA(), f.SP(), f.FP()
			break
		}
	}
	group := unwind.NewAddrRangeGroup()
	group.RegisterStepper(j)
	w, err := unwind.NewWalker(r, unwind.WithGroup(group))
	if err != nil {
		t.Fatal(err)
	}
	f, err := unwind.NewFrame(rec.PC, rec.SP, rec.FP, w)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := w.WalkStackFromFrame(f)
	list, _ := j.Stretches(context.Background(), 1, s.Frames)
	rec.Want, rec.Variables = shown(list), held(list)
	rec.write(t)
	t.Logf("%d pages, %d frames:\n%s", len(rec.Pages), len(s.Frames), strings.Join(rec.Want, "\n"))
}

// write writes a recording into the file of -record.
func (rec *recording) write(t *testing.T) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(rec); err != nil {
		t.Fatal(err)
	}
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err := os.WriteFile(*recordTo, z.EncodeAll(b.Bytes(), nil), 0o644); err != nil {
		t.Fatal(err)
	}
}

// RecordTasks records what the search for async functions reads. The search reads much of the heap, of which little leads to
// the functions: pages are left out as long as the same functions are found without them.
func RecordTasks(t *testing.T, p *tasks.Process) {
	if *recordTo == "" {
		return
	}
	id, err := p.State.DefaultThread()
	if err != nil {
		t.Fatal(err)
	}
	regs, err := p.State.Registers(id)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{Pages: map[uint64][]byte{}, Symbols: map[string]unwind.Symbol{}, At: map[uint64]string{}}
	rec.SP, _ = regs.Get(arch.RSP)
	r := &recorder{p.State, p.Symbols, rec}
	q := &tasks.Process{State: r, Symbols: r, Modules: p.Modules}
	j := New(func() *tasks.Process { return q })
	rec.Tasks = listed(t, j)
	if got := (&recorded{recording: rec}).tasks(t); !slices.Equal(got, rec.Tasks) {
		t.Fatalf("the pages that were read lead to\n%s\nnot to\n%s", strings.Join(got, "\n"), strings.Join(rec.Tasks, "\n"))
	}
	all := len(rec.Pages)
	for size := all / 2; size > 0; size /= 2 {
		for pages := range slices.Chunk(slices.Sorted(maps.Keys(rec.Pages)), size) {
			less := *rec
			less.Pages = maps.Clone(rec.Pages)
			for _, at := range pages {
				delete(less.Pages, at)
			}
			if j := (&recorded{recording: &less}).script(); j.anywhere() != nil && slices.Equal(listed(t, j), rec.Tasks) {
				rec = &less
			}
		}
	}
	rec.write(t)
	t.Logf("%d of %d pages:\n%s", len(rec.Pages), all, strings.Join(rec.Tasks, "\n"))
}

// RecordRaised records what the exception of a thread that crashed is read from.
func RecordRaised(t *testing.T, p *tasks.Process, stack *unwind.Stack) {
	if *recordTo == "" {
		return
	}
	live := New(func() *tasks.Process { return p })
	list, err := live.Stretches(context.Background(), 1, stack.Frames)
	if err != nil || live.engine == nil {
		t.Fatal(err)
	}
	rec := &recording{Pages: map[uint64][]byte{}, Symbols: map[string]unwind.Symbol{}, At: map[uint64]string{}}
	rec.Error, _ = live.engine.thrown(stack.Frames, list)
	rec.Reason = live.engine.reason(rec.Error, stack.Frames, list)
	r := &recorder{p.State, p.Symbols, rec}
	j := New(func() *tasks.Process { return &tasks.Process{State: r, Symbols: r, Modules: p.Modules} })
	rec.Want = raisedLines(j.anywhere().chain(rec.Error, rec.Reason))
	rec.write(t)
	t.Logf("%d pages:\n%s", len(rec.Pages), strings.Join(rec.Want, "\n"))
}
