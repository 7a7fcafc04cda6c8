package lua_test

import (
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
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

var recordNow = flag.Bool("record", false, "make the dumps in testdata/recorded anew, of the Luas of this machine and of COREWALK_LUAS")

// told is all that Lua says of a process.
func told(tb testing.TB, rt tasks.Runtime, p *tasks.Process, died unwind.ThreadID, stack []*unwind.Frame) []string {
	tb.Helper()
	list := []string{rt.(tasks.Describer).Describe()}
	variables := func(all []tasks.SuspendedVariable) {
		for _, v := range all {
			parts := 0
			if v.Tree != nil {
				parts = len(v.Tree().Children)
			}
			list = append(list, fmt.Sprintf("  %s %s = %s (%d)%s", v.Type, v.Name, v.Value, parts, errText(v.Err)))
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
		list = append(list, fmt.Sprintf("raised %s %s %q in %s at %s:%d", e.Relation, e.Type, e.Message, e.Function, filepath.Base(e.File), e.Line))
	}
	for task, err := range rt.Tasks(tb.Context()) {
		if err != nil {
			list = append(list, err.Error())
			continue
		}
		list = append(list, fmt.Sprintf("%s %s", task.Kind, task.Status))
		for _, f := range task.Suspended {
			list = append(list, fmt.Sprintf(" %s %s:%d", f.Function, filepath.Base(f.File), f.Line))
			variables(f.Args)
			variables(f.Locals)
		}
	}
	return list
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return " " + err.Error()
}

// TestRecorded reads kept cores of real Luas. They are slim: corewalk slim made them.
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
			rt, err := lua.Find(s.Process)
			if err != nil || rt == nil {
				t.Fatalf("no Lua is found: %v", err)
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
	for version, exe := range all(t) {
		recordOne(t, version, "judge.lua", exe, "judge.lua", "coroutines")
	}
	for _, exe := range allJIT(t) {
		switch build := filepath.Base(filepath.Dir(filepath.Dir(exe))); { // DIR/bin/luajit
		case build == "usr":
			recordOne(t, "jit-coroutines", "judge.lua", exe, "judge.lua", "coroutines")
			recordOne(t, "jit-values", "jitjudge.lua", exe, "jitjudge.lua", "values")
			recordOne(t, "jit-trace", "jitjudge.lua", exe, "jitjudge.lua", "trace-leaf")
		case strings.Contains(build, "32"): // without GC64
			recordOne(t, "jit-trace-narrow", "jitjudge.lua", exe, "jitjudge.lua", "trace-leaf")
		}
	}
}

func recordOne(t *testing.T, name, program, exe string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, program), b, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := fixture.Dies(dir, exe, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LANG=C.UTF-8"}
	_ = cmd.Run() // it dies
	core := fixture.CoreIn(t, dir)
	slim := filepath.Join(t.TempDir(), "slim")
	if out, err := exec.Command("go", "run", "../../../cmd/corewalk", "slim", core, "-o", slim, "--reach", "4KiB").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := replayed.Open(t, slim)
	a := &remotetest.Asked{ProcessState: s.Process.State}
	q := &tasks.Process{State: a, Symbols: s.Process.Symbols, Modules: s.Process.Modules}
	rt, err := lua.Find(q)
	if err != nil || rt == nil {
		t.Fatalf("%s: no Lua is found: %v", name, err)
	}
	want := told(t, rt, q, s.Died, s.Stack)
	if b, err = os.ReadFile(slim); err != nil {
		t.Fatal(err)
	}
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	name = filepath.Join("testdata/recorded", name)
	if err := os.WriteFile(name+".zst", e.EncodeAll(b, nil), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".txt", []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// victims are the kept cores, to be changed.
func victims(tb testing.TB) (list []remotetest.Victim) {
	tb.Helper()
	paths, _ := filepath.Glob("testdata/recorded/*.zst")
	for _, path := range paths {
		s := replayed.Open(tb, path)
		r := remotetest.Reading{Find: lua.Find, Units: 1 << 21, Tell: func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int {
			return len(told(tb, rt, p, s.Died, s.Stack))
		}}
		list = append(list, r.Victim(tb, s.Process))
	}
	return list
}

// TestDamaged changes words that are read of real Luas into what they are most likely to be wrong as.
func TestDamaged(t *testing.T) {
	step := 449
	if fixture.IsLong(t) {
		step = 7
	}
	remotetest.Damage(t, victims(t), step, 100)
}

// FuzzRecorded changes words of real Luas.
func FuzzRecorded(f *testing.F) { remotetest.Fuzz(f, victims(f)) }
