package corewalk_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What a run on a damaged file may cost. The times allow for a busy machine.
const (
	runDeadline = 4 * time.Second  // of the context
	runHang     = 40 * time.Second // until a run counts as hanging
	runSlow     = 12 * time.Second
	runAllocs   = 1 << 30   // bytes allocated in one run
	heapPeak    = 768 << 20 // bytes in use at any time
)

// mutations is how often each fixture is damaged, in each of the ways below: few,
// or COREWALK_MUTATIONS, with COREWALK_SEED for others than the usual ones.
func mutations(t *testing.T) (n int, seed uint64) {
	n = 24
	if testing.Short() {
		n = 2
	}
	if s := os.Getenv("COREWALK_MUTATIONS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal("COREWALK_MUTATIONS: ", err)
		}
	}
	if s := os.Getenv("COREWALK_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("COREWALK_SEED: ", err)
		}
	}
	return n, seed
}

// TestDamagedFiles cuts every fixture's core at many lengths, overwrites parts of
// the core, and parts of the program, its debug files and its libraries, and
// wants an error or a report each time: no panic, no hang, bounded memory.
func TestDamagedFiles(t *testing.T) {
	n, seed := mutations(t)
	sysroot := filepath.Join(t.TempDir(), "sysroot")
	copyTree(t, filepath.Join(fixture.Root(t), "testdata", "sysroot", "amd64"), sysroot)
	stop := watchHeap(t)
	defer stop()
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			h := fnv.New64a()
			io.WriteString(h, c.Name)
			d := newDamaged(t, c, sysroot, rand.New(rand.NewPCG(h.Sum64(), seed)))
			d.cuts(n)
			d.core(2 * n)
			d.files(2 * n)
		})
	}
}

// damaged is a copy of a fixture that is damaged in place, and mended again.
type damaged struct {
	t       *testing.T
	c       fixture.Case
	rng     *rand.Rand
	dir     string // copy of the case's files
	corePth string
	sysroot string
	nodebug string

	head  span   // of the core: headers and notes
	stack span   // of the core: the crashing thread's, from its stack pointer on
	spots []spot // in the files of the modules
}

// A span is a range of a file's bytes.
type span struct{ off, size int64 }

// A spot is a part of a module's file that something reads.
type spot struct {
	path, what string
	span
}

func newDamaged(t *testing.T, c fixture.Case, sysroot string, rng *rand.Rand) *damaged {
	d := &damaged{t: t, c: c, rng: rng, dir: filepath.Join(t.TempDir(), "case"), sysroot: sysroot, nodebug: t.TempDir()}
	copyTree(t, c.Dir, d.dir)
	for _, name := range []string{"core.zst", c.Program + ".zst", "gdb.txt", "case.json", "report.txt", "report.json"} {
		os.Remove(filepath.Join(d.dir, name))
	}
	d.corePth = filepath.Join(d.dir, "core")
	copySparse(t, c.Core(t), d.corePth)
	copySparse(t, c.Binary(t), filepath.Join(d.dir, c.Program))
	d.survive("undamaged")
	d.findCore()
	d.findModules()
	return d
}

// open opens the fixture, damaged as it is.
func (d *damaged) open() (*corewalk.Target, error) {
	opts := []corewalk.Option{corewalk.WithSysroot(d.sysroot), corewalk.WithExecutable(filepath.Join(d.dir, d.c.Program)), corewalk.WithSearch(d.dir)}
	debugDir := d.nodebug
	for i := 0; i+1 < len(d.c.Args); i += 2 {
		if d.c.Args[i] == "--debug-dir" {
			debugDir = filepath.Join(d.dir, d.c.Args[i+1])
		}
	}
	if d.rng.IntN(4) == 0 {
		opts = append(opts, corewalk.WithForceMismatched())
	}
	return corewalk.Open(d.corePth, append(opts, corewalk.WithDebugDir(debugDir))...)
}

// survive does all that the command does, and fails the test when that panics,
// hangs or takes too much. It returns the report, nil when there is none.
func (d *damaged) survive(what string) *report.Report {
	d.t.Helper()
	before, start := allocated(), time.Now()
	var r *report.Report
	done := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
			}
			close(done)
		}()
		r = everything(d.open)
	}()
	select {
	case trouble := <-done:
		if trouble != "" {
			d.t.Errorf("%s: %s", what, trouble)
		}
	case <-time.After(runHang):
		stacks := make([]byte, 1<<20)
		d.t.Fatalf("%s: hangs\n%s", what, stacks[:runtime.Stack(stacks, true)])
	}
	switch took := time.Since(start); {
	case took > runSlow:
		d.t.Errorf("%s: took %v", what, took)
	case took > runSlow/12:
		d.t.Logf("%s: took %v", what, took)
	}
	if n := allocated() - before; n > runAllocs {
		d.t.Errorf("%s: allocated %d MB", what, n>>20)
	}
	return r
}

// everything opens, analyses with and without explaining, and prints.
func everything(open func() (*corewalk.Target, error)) *report.Report {
	ctx, cancel := context.WithTimeout(context.Background(), runDeadline)
	defer cancel()
	t, err := open()
	if t == nil {
		if err == nil {
			panic("neither a target nor an error")
		}
		return nil
	}
	defer t.Close()
	in := t.Info()
	report.WriteInfoText(io.Discard, in, report.TextOptions{})
	report.WriteInfoJSON(io.Discard, in)
	report.WriteMissing(io.Discard, in.Modules)
	if err != nil {
		return nil
	}
	r, err := t.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		return nil
	}
	report.WriteText(io.Discard, r, report.TextOptions{MaxFrames: 200, ShowRegisters: true})
	report.WriteJSON(io.Discard, r)
	if e, err := t.Analyze(ctx, corewalk.AnalyzeOptions{Explain: true, MaxFrames: 50}); err == nil {
		report.WriteText(io.Discard, e, report.TextOptions{Explain: true})
	}
	return r
}

// findCore notes where the core's headers and notes end, and where its stack is.
func (d *damaged) findCore() {
	data, err := os.ReadFile(d.c.Core(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		d.t.Fatal(err)
	}
	t, err := d.open()
	if t == nil {
		d.t.Fatal(err)
	}
	defer t.Close()
	w, err := t.NewWalker()
	if err != nil {
		d.t.Fatal(err)
	}
	defer w.Close()
	tid, err := t.Core().DefaultThread()
	if err != nil {
		d.t.Fatal(err)
	}
	top, err := w.InitialFrame(tid)
	if err != nil {
		d.t.Fatal(err)
	}
	size := int64(len(data))
	for i := range f.Progs {
		p := &f.Progs[i]
		switch end := int64(p.Off + p.Filesz); {
		case p.Type == elffile.PT_NOTE:
			d.head.size = min(end, size)
		case p.Type == elffile.PT_LOAD && top.SP() >= p.Vaddr && top.SP() < p.Vaddr+p.Filesz:
			at := int64(p.Off + top.SP() - p.Vaddr)
			d.stack = span{min(at, size), max(0, min(2048, end-at, size-at))}
		}
	}
}

// findModules lists what may be damaged in the files of the modules.
func (d *damaged) findModules() {
	t, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	defer t.Close()
	seen := map[string]bool{}
	for _, m := range t.Info().Modules {
		for _, path := range []string{m.File, m.DebugFile} {
			if path != "" && !seen[path] {
				seen[path] = true
				d.spots = append(d.spots, spotsOf(d.t, path)...)
			}
		}
	}
	// Split and shared debug information.
	filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !seen[path] && path != d.corePth {
			d.spots = append(d.spots, spotsOf(d.t, path)...)
		}
		return nil
	})
	if len(d.spots) == 0 {
		d.t.Fatal("no file to damage")
	}
	for _, s := range d.spots {
		if !strings.HasPrefix(s.path, d.dir) && !strings.HasPrefix(s.path, d.sysroot) {
			d.t.Fatalf("%s is not ours to damage", s.path)
		}
	}
}

// spotsOf lists the headers of an ELF file and those of its sections that a walk
// or a lookup reads.
func spotsOf(t *testing.T, path string) []spot {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		return nil
	}
	shoff := int64(binary.LittleEndian.Uint64(data[40:]))
	spots := []spot{{path, "ELF header", span{0, 64}}, {path, "program headers", span{64, int64(56 * len(f.Progs))}},
		{path, "section headers", span{shoff, int64(len(data)) - shoff}}}
	for _, s := range f.Sections() {
		name := s.Name()
		for _, prefix := range []string{".eh_frame", ".debug_", ".zdebug_", ".symtab", ".strtab", ".dyn", ".gnu", ".note", ".text", ".shstrtab"} {
			if strings.HasPrefix(name, prefix) && s.Size > 0 && s.Type != elffile.SHT_NOBITS {
				// Often more than the rest: tables near their start are read by all.
				spots = append(spots, spot{path, name, span{int64(s.Off), int64(s.Size)}})
				if s.Size > 512 {
					spots = append(spots, spot{path, name, span{int64(s.Off), 256}})
				}
			}
		}
	}
	return spots
}

// cuts shortens the core to n lengths.
func (d *damaged) cuts(n int) {
	whole, err := os.ReadFile(d.c.Core(d.t))
	if err != nil {
		d.t.Fatal(err)
	}
	size := int64(len(whole))
	for i := range n {
		at := d.rng.Int64N(size)
		if i%2 == 0 {
			at = d.rng.Int64N(d.head.size + 4096)
		}
		at = min(at, size)
		if err := os.Truncate(d.corePth, at); err != nil {
			d.t.Fatal(err)
		}
		d.survive(fmt.Sprintf("core cut to %d bytes", at))
	}
	os.Remove(d.corePth)
	copySparse(d.t, d.c.Core(d.t), d.corePth)
}

// core damages headers, notes and the stack.
func (d *damaged) core(n int) {
	for i := range n {
		at := d.head
		if i%2 == 1 && d.stack.size > 0 {
			at = d.stack
		}
		d.damage("core", []spot{{d.corePth, "core", at}})
	}
}

// files damages a file of a module, in one to four places.
func (d *damaged) files(n int) {
	for range n {
		first := d.spots[d.rng.IntN(len(d.spots))]
		some := []spot{first}
		for d.rng.IntN(2) == 0 && len(some) < 4 {
			if s := d.spots[d.rng.IntN(len(d.spots))]; s.path == first.path {
				some = append(some, s)
			}
		}
		d.damage(filepath.Base(first.path), some)
	}
}

// damage overwrites something in each spot, runs, and mends.
func (d *damaged) damage(name string, spots []spot) {
	f, err := os.OpenFile(spots[0].path, os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	type patch struct {
		off int64
		was []byte
	}
	var patches []patch
	var what []string
	for _, s := range spots {
		for range 1 + d.rng.IntN(3) {
			with := d.hostile()
			off := s.off + d.rng.Int64N(max(1, s.size))
			if d.rng.IntN(4) == 0 { // a word from elsewhere: an address that means something
				off &^= 7
				with = make([]byte, 8)
				f.ReadAt(with, (s.off+d.rng.Int64N(max(1, s.size)))&^7)
			}
			was := make([]byte, len(with))
			n, _ := f.ReadAt(was, off)
			if n == 0 {
				continue
			}
			patches = append(patches, patch{off, was[:n]})
			what = append(what, fmt.Sprintf("%s %s at %#x: % x", name, s.what, off, with[:min(n, 16)]))
			f.WriteAt(with[:n], off)
		}
	}
	d.survive(strings.Join(what, ", "))
	for i := len(patches) - 1; i >= 0; i-- {
		if _, err := f.WriteAt(patches[i].was, patches[i].off); err != nil {
			d.t.Fatal(err)
		}
	}
}

// hostile makes bytes that parsers stumble over.
func (d *damaged) hostile() []byte {
	words := []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff,
		1 << 32, 1 << 47, 1<<63 - 1, 1 << 63, ^uint64(0) - 7, ^uint64(0)}
	var b [8]byte
	switch d.rng.IntN(5) {
	case 0: // one bit, or a byte
		return []byte{byte(1) << d.rng.IntN(8)}
	case 1, 2:
		binary.LittleEndian.PutUint64(b[:], words[d.rng.IntN(len(words))])
		return b[:1<<d.rng.IntN(4)]
	case 3: // a small number: another offset, count, form, opcode
		binary.LittleEndian.PutUint64(b[:], d.rng.Uint64N(1<<d.rng.IntN(24)))
		return b[:1<<d.rng.IntN(4)]
	}
	noise := make([]byte, 1+d.rng.IntN(64))
	fill := byte(d.rng.Uint32())
	for i := range noise {
		noise[i] = fill
		if fill&1 == 1 {
			noise[i] = byte(d.rng.Uint32())
		}
	}
	return noise
}

// allocated is how many bytes the program has ever allocated.
func allocated() uint64 { return metric("/gc/heap/allocs:bytes") }

func metric(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watchHeap fails the test when at any time too much memory is in use. The
// function it returns ends the watch.
func watchHeap(t *testing.T) func() {
	var peak atomic.Uint64
	quit, gone := make(chan bool), make(chan bool)
	go func() {
		defer close(gone)
		for {
			select {
			case <-quit:
				return
			case <-time.After(2 * time.Millisecond):
				if n := metric("/memory/classes/heap/objects:bytes"); n > peak.Load() {
					peak.Store(n)
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-gone
		t.Logf("at most %d MB in use", peak.Load()>>20)
		if peak.Load() > heapPeak {
			t.Errorf("%d MB were in use", peak.Load()>>20)
		}
	}
}

// copyTree copies a directory, following no links but keeping them.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		dest := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(dest, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dest)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, data, 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// copySparse copies a file, leaving holes for zeros.
func copySparse(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zeros := make([]byte, 64<<10)
	for off := 0; off < len(data); off += len(zeros) {
		block := data[off:min(off+len(zeros), len(data))]
		if bytes.Equal(block, zeros[:len(block)]) {
			continue
		}
		if _, err := f.WriteAt(block, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

// A file that another process cuts short between Open and Analyze is an error of
// its own, and no crash of the program.
func TestFilesCutWhileRead(t *testing.T) {
	c := fixture.Get(t, "amd64-recursion-O0")
	for _, which := range []string{"core", c.Program} {
		t.Run(which, func(t *testing.T) {
			dir := t.TempDir()
			copySparse(t, c.Core(t), filepath.Join(dir, "core"))
			copySparse(t, c.Binary(t), filepath.Join(dir, c.Program))
			target, err := corewalk.Open(filepath.Join(dir, "core"), corewalk.WithSysroot(c.Sysroot(t)),
				corewalk.WithDebugDir(t.TempDir()), corewalk.WithExecutable(filepath.Join(dir, c.Program)))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			if err := os.Truncate(filepath.Join(dir, which), 0); err != nil {
				t.Fatal(err)
			}
			for range 2 { // what the first left behind does not trip the second
				_, err = target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
				if !errors.Is(err, corewalk.ErrChanged) && which == "core" {
					t.Errorf("Analyze: %v", err)
				}
			}
			in := target.Info()
			if which == "core" && (len(in.Warnings) == 0 || in.Warnings[len(in.Warnings)-1].Code != report.WarnChanged) {
				t.Errorf("Info: %+v", in.Warnings)
			}
			if len(in.Mappings) == 0 {
				t.Errorf("Info leaves out what was read before: %+v", in)
			}
		})
	}
}

// A core whose notes reach over memory full of zeros has millions of empty notes.
func TestEndlessNotes(t *testing.T) {
	core := corebuild.New()
	core.Thread(7, 11, corebuild.AMD64Regs(nil))
	core.Note(strings.Repeat("\x00long name", 1<<20), 5, nil)
	core.RawNotes(make([]byte, 24<<20))
	before := allocated()
	target, err := corewalk.OpenReader(bytes.NewReader(core.Bytes()), "core")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	in := target.Info()
	if err := report.WriteInfoText(io.Discard, in, report.TextOptions{}); err != nil {
		t.Error(err)
	}
	var js bytes.Buffer
	if err := report.WriteInfoJSON(&js, in); err != nil || js.Len() > 20<<20 {
		t.Errorf("%d bytes of JSON, %v", js.Len(), err)
	}
	if n := len(in.Notes); n < 100_000 || n > 200_000 || len(in.Warnings) == 0 {
		t.Errorf("%d notes, %v", n, in.Warnings)
	}
	if n := allocated() - before; n > runAllocs/2 {
		t.Errorf("allocated %d MB", n>>20)
	}
}

// FuzzOpen opens bytes as a core, with a fixture's program and libraries for it.
func FuzzOpen(f *testing.F) {
	c := fixture.Get(f, "amd64-recursion-O0")
	for _, name := range []string{c.Name, "amd64-signal-altstack", "amd64-vdso"} {
		data, err := os.ReadFile(fixture.Get(f, name).Core(f))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 24<<10)]) // headers, notes, the first pages
	}
	core := corebuild.New()
	core.Thread(7, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RSP: 0x7000, arch.RIP: 0x1010, arch.RBP: 0x7008}))
	core.PSInfo(7, "small", "small core")
	core.Files(corebuild.Mapping{Start: 0x1000, End: 0x2000, Path: "/opt/corewalk-fixtures/recursion-O0/recursion"})
	core.Load(0x1000, elffile.PF_R|elffile.PF_X, 0x1000, nil)
	core.Load(0x7000, elffile.PF_R|elffile.PF_W, 0x100, make([]byte, 0x100))
	f.Add(core.Bytes())
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(f)), corewalk.WithExecutable(c.Binary(f)), corewalk.WithDebugDir(f.TempDir())}
	f.Fuzz(func(t *testing.T, data []byte) {
		everything(func() (*corewalk.Target, error) {
			return corewalk.OpenReader(bytes.NewReader(data), "fuzz", opts...)
		})
	})
}
