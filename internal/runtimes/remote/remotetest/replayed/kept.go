package replayed

import (
	"bytes"
	"debug/elf"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
)

var (
	recordNow = flag.Bool("record", false, "make the dumps in testdata/recorded anew, of the interpreters of this machine and of those that COREWALK_... lists")
	retell    = flag.Bool("retell", false, "write anew what is told of the dumps in testdata/recorded")
)

// Kept are the kept dumps of a runtime, in testdata/recorded: slim cores, which corewalk slim made of programs that died, and what is told of them.
type Kept struct {
	Find  tasks.Finder
	Least int // so many there are, or more
	Noted int // see remotetest.Reading
	Step  int // see remotetest.Damage; when the tests may not take long
	// Large memory, of so many bytes or more, is blanked where nobody reads it when a dump is recorded; 0 for none.
	Large uint64
}

const (
	keptDir   = "testdata/recorded"
	dumpEnds  = ".zst"
	toldEnds  = ".txt"
	longStep  = 7
	leastHurt = 100
	units     = 1 << 21
)

func (k *Kept) paths(tb testing.TB) []string {
	tb.Helper()
	list, _ := filepath.Glob(filepath.Join(keptDir, "*"+dumpEnds))
	if len(list) < k.Least {
		tb.Fatalf("%d cores", len(list))
	}
	return list
}

// Test compares what is told of the dumps with what was told of them. With -record it calls record first, which calls Record.
func (k *Kept) Test(t *testing.T, record func(t *testing.T)) {
	t.Helper()
	if *recordNow {
		record(t)
	}
	for _, path := range k.paths(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := Open(t, path)
			got := k.told(t, s, s.Process)
			name := strings.TrimSuffix(path, dumpEnds) + toldEnds
			if *retell {
				write(t, name, []byte(strings.Join(got, "\n")+"\n"))
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Split(strings.TrimSpace(string(b)), "\n"); !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func (k *Kept) told(t *testing.T, s *Dump, p *tasks.Process) []string {
	t.Helper()
	rt, err := k.Find(p)
	if err != nil || rt == nil {
		t.Fatalf("no runtime is found: %v", err)
	}
	return remotetest.Told(t, rt, p, s.Died, s.Stack)
}

// Record makes a slim core of a core and what is told of it. root is the directory that was the root of the program, "" for that of this machine.
func (k *Kept) Record(t *testing.T, name, core, root string) {
	t.Helper()
	slim := filepath.Join(t.TempDir(), "slim")
	args := []string{"run", "../../../cmd/corewalk", "slim", core, "-o", slim, "--reach", "4KiB"}
	if root != "" {
		args = append(args, "--sysroot", root)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := Open(t, slim)
	a := &remotetest.Asked{ProcessState: s.Process.State}
	want := k.told(t, s, &tasks.Process{State: a, Symbols: s.Process.Symbols, Modules: s.Process.Modules})
	b, err := os.ReadFile(slim)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.ReplaceAll(b, []byte("/root/"), []byte("/home/")) // where somebody built it
	if k.Large > 0 {
		forget(t, b, a.Has, s.Stack[0].SP(), k.Large)
	}
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	name = filepath.Join(keptDir, name)
	write(t, name+dumpEnds, e.EncodeAll(b, nil))
	write(t, name+toldEnds, []byte(strings.Join(want, "\n")+"\n"))
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// forget blanks what is in large memory that nobody read, without the stack: it only makes the core larger.
func forget(t *testing.T, core []byte, read func(uint64) bool, stack, large uint64) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(core))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range f.Progs {
		if s.Type != elf.PT_LOAD || s.Filesz < large || s.Flags&elf.PF_W == 0 || stack-s.Vaddr < s.Memsz {
			continue
		}
		for at := uint64(0); at+8 <= s.Filesz; at += 8 {
			if !read(s.Vaddr + at) {
				clear(core[s.Off+at : s.Off+at+8])
			}
		}
	}
}

// victims are the dumps, to be changed.
func (k *Kept) victims(tb testing.TB) (list []remotetest.Victim) {
	tb.Helper()
	for _, path := range k.paths(tb) {
		s := Open(tb, path)
		r := remotetest.Reading{Find: k.Find, Noted: k.Noted, Units: units, Tell: func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int {
			return len(remotetest.Told(tb, rt, p, s.Died, s.Stack))
		}}
		list = append(list, r.Victim(tb, s.Process))
	}
	return list
}

// Damage changes words that are read of the dumps into what they are most likely to be wrong as: many of them in a long test.
func (k *Kept) Damage(t *testing.T, long bool) {
	t.Helper()
	step := k.Step
	if long {
		step = longStep
	}
	remotetest.Damage(t, k.victims(t), step, leastHurt)
}

// Fuzz changes words of the dumps.
func (k *Kept) Fuzz(f *testing.F) {
	f.Helper()
	remotetest.Fuzz(f, k.victims(f))
}
