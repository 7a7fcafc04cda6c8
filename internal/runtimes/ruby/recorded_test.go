package ruby_test

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

var recordNow = flag.Bool("record", false, "make the dumps in testdata/recorded anew, of the Rubies of this machine and of COREWALK_RUBIES")

// told is all that Ruby says of a process.
func told(tb testing.TB, rt tasks.Runtime, p *tasks.Process, died unwind.ThreadID, stack []*unwind.Frame) []string {
	tb.Helper()
	list := []string{rt.(tasks.Describer).Describe()}
	variables := func(all []tasks.SuspendedVariable) {
		for _, v := range all {
			parts := 0
			if v.Tree != nil {
				parts = len(v.Tree().Children)
			}
			list = append(list, fmt.Sprintf("  %s %s = %s (%d)", v.Type, v.Name, v.Value, parts))
		}
	}
	stretches, err := rt.(tasks.Framer).Stretches(tb.Context(), died, stack)
	list = append(list, fmt.Sprintf("error %v", err))
	for _, s := range stretches {
		list = append(list, fmt.Sprintf("frames %d to %d, ended %t", s.From, s.To, s.Ended))
		for _, c := range s.Calls {
			list = append(list, fmt.Sprintf(" %s %s:%d %t", c.Function, filepath.Base(c.File), c.Line, c.Approximate))
			if c.Variables != nil {
				args, own := c.Variables(true, tasks.Limits{})
				variables(args)
				variables(own)
			}
		}
	}
	for _, e := range rt.(tasks.Raiser).Raised(died) {
		list = append(list, fmt.Sprintf("raised %s %s %q in %s at %s:%d, handled %t", e.Relation, e.Type, e.Message, e.Function, filepath.Base(e.File), e.Line, e.Handled))
	}
	ids, _ := p.State.ThreadIDs()
	var threads []*tasks.Task
	for i, id := range ids {
		list = append(list, fmt.Sprintf("thread %d %q %q", i, rt.(tasks.ThreadNamer).ThreadName(id), rt.(tasks.ThreadNoter).ThreadNotes(id)))
		threads = append(threads, &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, State: tasks.StateWaiting})
	}
	rt.(tasks.Resolver).Resolve(tb.Context(), threads, nil)
	for i, t := range threads {
		if t.Wait != nil {
			list = append(list, fmt.Sprintf("thread %d waits: %s %s %+v %t", i, t.Wait.Kind, t.Wait.Reason, t.Wait.Object, t.Wait.Proved))
			for _, h := range t.Wait.Holders {
				list = append(list, fmt.Sprintf(" thread %d ends it: %s", slices.Index(ids, unwind.ThreadID(h.ID)), h.Certainty))
			}
		}
	}
	for task, err := range rt.Tasks(tb.Context()) {
		if err != nil {
			list = append(list, err.Error())
			continue
		}
		list = append(list, fmt.Sprintf("%s %s %s", task.Kind, task.Status, task.Wait.Reason))
		for _, f := range task.Suspended {
			list = append(list, fmt.Sprintf(" %s %s:%d", f.Function, filepath.Base(f.File), f.Line))
			variables(f.Args)
			variables(f.Locals)
		}
	}
	return list
}

// TestRecorded reads kept cores of real Rubies. They are slim: corewalk slim made them.
func TestRecorded(t *testing.T) {
	if *recordNow {
		record(t)
	}
	list, _ := filepath.Glob("testdata/recorded/*.zst")
	if len(list) < 3 {
		t.Fatalf("%d cores", len(list))
	}
	for _, path := range list {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(strings.TrimSuffix(path, ".zst") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			s := replayed.Open(t, path)
			rt, err := ruby.Find(s.Process)
			if err != nil || rt == nil {
				t.Fatalf("no Ruby is found: %v", err)
			}
			got := told(t, rt, s.Process, s.Died, s.Stack)
			if want := strings.Split(strings.TrimSpace(string(b)), "\n"); !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// record makes slim cores and what is told of them.
func record(t *testing.T) {
	for _, p := range all(t) {
		dir := p.dir(t, "small.rb")
		cmd := p.command(dir, "--disable-gems", "small.rb")
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LANG=C.UTF-8"}
		_ = cmd.Run() // it dies
		core := fixture.CoreIn(t, dir)
		slim := filepath.Join(t.TempDir(), "slim")
		args := []string{"run", "../../../cmd/corewalk", "slim", core, "-o", slim, "--reach", "4KiB"}
		if p.root != "" {
			args = append(args, "--sysroot", p.root)
		}
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s := replayed.Open(t, slim)
		a := &remotetest.Asked{ProcessState: s.Process.State}
		q := &tasks.Process{State: a, Symbols: s.Process.Symbols, Modules: s.Process.Modules}
		rt, err := ruby.Find(q)
		if err != nil || rt == nil {
			t.Fatalf("%s: no Ruby is found: %v", p.version, err)
		}
		want := told(t, rt, q, s.Died, s.Stack)
		b, err := os.ReadFile(slim)
		if err != nil {
			t.Fatal(err)
		}
		forget(t, b, a.Has, s.Stack[0].SP())
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		name := filepath.Join("testdata/recorded", p.version)
		if err := os.WriteFile(name+".zst", e.EncodeAll(b, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".txt", []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// forget blanks what is in large memory that nobody read, without the stack: it only makes the core larger.
func forget(t *testing.T, core []byte, read func(uint64) bool, stack uint64) {
	f, err := elf.NewFile(bytes.NewReader(core))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD || s.Filesz < 1<<15 || s.Flags&elf.PF_W == 0 || stack-s.Vaddr < s.Memsz {
			continue
		}
		for at := uint64(0); at+8 <= s.Filesz; at += 8 {
			if !read(s.Vaddr + at) {
				clear(core[s.Off+at : s.Off+at+8])
			}
		}
	}
}

// victims are the kept cores, to be changed.
func victims(tb testing.TB) (list []remotetest.Victim) {
	tb.Helper()
	paths, _ := filepath.Glob("testdata/recorded/*.zst")
	for _, path := range paths {
		s := replayed.Open(tb, path)
		r := remotetest.Reading{Find: ruby.Find, Noted: 128, Units: 1 << 21, Tell: func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int {
			return len(told(tb, rt, p, s.Died, s.Stack))
		}}
		list = append(list, r.Victim(tb, s.Process))
	}
	return list
}

// TestDamaged changes words that are read of real Rubies into what they are most likely to be wrong as.
func TestDamaged(t *testing.T) {
	step := 399
	if fixture.IsLong(t) {
		step = 7
	}
	remotetest.Damage(t, victims(t), step, 100)
}

// FuzzRecorded changes words of real Rubies.
func FuzzRecorded(f *testing.F) { remotetest.Fuzz(f, victims(f)) }
