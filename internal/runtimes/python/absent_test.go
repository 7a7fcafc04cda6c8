package python_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// placesIn are the functions and lines among what is told of a process, without values.
func placesIn(told []string) []string {
	var list []string
	for _, line := range told {
		if strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ") {
			list = append(list, line)
		}
	}
	return list
}

// TestWithoutFile: constants of the interpreter, the names of types among them, are not in a core, and its file may be gone.
func TestWithoutFile(t *testing.T) {
	list, _ := filepath.Glob("testdata/recorded/*.zst")
	for _, path := range list {
		if strings.HasSuffix(path, "-windows.zst") { // minidumps have them
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, p, rec, died := replay(t, path, nil)
			rec.Data = nil
			rt, err := python.Find(p)
			if err != nil {
				t.Fatal(err)
			}
			got := told(t, rt, p, died, frameList(t, p, rec.Stack))
			g, want := placesIn(got), placesIn(rec.Want)
			if !qualifies(filepath.Base(path)) { // that a type is the one of functions is among the constants
				for _, list := range [][]string{g, want} {
					for i, s := range list {
						place := strings.TrimLeft(s, " ")
						list[i] = s[:len(s)-len(place)] + plain([]string{place})[0]
					}
				}
			}
			if len(g) == 0 || !slices.Equal(g, want) {
				t.Errorf("%q\nwant %q", g, want)
			}
			for _, line := range []string{"   int amount = 3 <nil>", "   str name = 'ü' <nil>", "   tuple rest = (4,) <nil>"} {
				if slices.Contains(rec.Want, line) && !slices.Contains(got, line) {
					t.Errorf("no %q in\n%s", line, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// lacking is a process of whose memory a dump lacks a part.
type lacking struct {
	unwind.ProcessState
	lo, hi uint64
}

func (l *lacking) ReadMem(at arch.Address, b []byte) (int, error) {
	if at < l.hi && at+uint64(len(b)) > l.lo {
		return 0, &arch.MemError{Addr: max(at, l.lo), Err: arch.ErrNotInDump}
	}
	return l.ProcessState.ReadMem(at, b)
}

func (l *lacking) ReadWord(at arch.Address) (uint64, error) {
	if at < l.hi && at+8 > l.lo {
		return 0, &arch.MemError{Addr: at, Err: arch.ErrNotInDump}
	}
	return l.ProcessState.ReadWord(at)
}

// TestAbsent: memory that a dump lacks does not speak against what is known of an interpreter.
func TestAbsent(t *testing.T) {
	step := 1
	if !fixture.IsLong(t) {
		step = 3
	}
	for _, version := range []string{"3.6.15", "3.11.7", "3.12.1", "3.14.10"} {
		_, p, rec, _ := replay(t, "testdata/recorded/"+version+".zst", nil)
		a := &remotetest.Asked{ProcessState: p.State, Most: 256}
		rt, err := python.Find(&tasks.Process{State: a, Symbols: p.Symbols, Modules: p.Modules})
		if err != nil {
			t.Fatal(err)
		}
		everything(t, rt, p, frameList(t, p, rec.Stack))
		none := 0
		for i := 0; i < len(a.Words); i += step {
			at := a.Words[i]
			q := &tasks.Process{State: &lacking{p.State, at, at + 8}, Symbols: p.Symbols, Modules: p.Modules}
			if _, err := python.Find(q); err != nil {
				none++
				if strings.Contains(err.Error(), "agree") || !strings.Contains(err.Error(), "is not in the dump") {
					t.Errorf("%s without the memory at %#x: %v", version, at, err)
				}
			}
		}
		if none == 0 {
			t.Errorf("%s: it is found whatever is not in the dump", version)
		}
	}
}
