package systemtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// What a run on a damaged file may cost. The times allow for a busy machine.
const (
	runDeadline = 4 * time.Second  // of the context
	runHang     = 40 * time.Second // until a run counts as hanging
	runSlow     = 12 * time.Second
	runAllocs   = 1 << 30   // bytes allocated in one run
	heapPeak    = 768 << 20 // bytes in use at any time
)

// sampleStep says which fixtures every run damages: one in so many, some 200 runs on
// damaged files. With COREWALK_LONG=1 all are damaged.
const sampleStep = 24

// mutations is how often each fixture is damaged, in each of the ways below: few,
// or COREWALK_MUTATIONS, with COREWALK_SEED for others than the usual ones.
func mutations(t *testing.T) (n int, seed uint64) {
	n = 4
	if os.Getenv("COREWALK_LONG") == "1" {
		n = 8
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
	for _, a := range []string{"amd64", "i386"} { // they have no path in common
		copyTree(t, filepath.Join(fixture.Root(t), "testdata", "sysroot", a), sysroot)
	}
	stop := watchHeap(t)
	defer stop()
	for i, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			if i%sampleStep != 0 || c.Name == "amd64-overflow" { // whose stack is deep
				fixture.LongPart(t)
			}
			fixture.TurnPart(t)
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
	return corewalk.Open(context.Background(), d.corePth, append(opts, corewalk.WithDebugDir(debugDir))...)
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
	if e, err := t.AnalyzeWith(ctx, corewalk.FactsOptions{Explain: true}, corewalk.AnalyzeOptions{MaxFrames: 50}); err == nil {
		report.WriteText(io.Discard, e, report.TextOptions{Explain: true})
	}
	return r
}
