package lua_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

var recordNow = flag.Bool("record", false, "make the dumps in testdata/recorded anew, of the Luas of this machine and of COREWALK_LUAS")

// A replayed is a kept core, read without any file of this machine.
type replayed struct {
	p     *tasks.Process
	died  unwind.ThreadID
	stack []*unwind.Frame
}

func replay(tb testing.TB, path string) *replayed {
	tb.Helper()
	target, err := corewalk.Open(tb.Context(), path, corewalk.WithSysroot(tb.TempDir()))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	out := &replayed{}
	facts, err := target.Facts(corewalk.FactsOptions{Runtimes: []tasks.Finder{func(p *tasks.Process) (tasks.Runtime, error) {
		out.p = p
		return nil, nil
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(facts.Close)
	out.p.Budget = nil
	if out.died, err = out.p.State.DefaultThread(); err != nil {
		tb.Fatal(err)
	}
	w, err := target.NewWalker()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	s, err := w.WalkStack(out.died)
	if err != nil {
		tb.Fatal(err)
	}
	out.stack = s.Frames
	return out
}

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
			s := replay(t, path)
			rt, err := lua.Find(s.p)
			if err != nil || rt == nil {
				t.Fatalf("no Lua is found: %v", err)
			}
			got := told(t, rt, s.p, s.died, s.stack)
			if want := strings.Split(strings.TrimSpace(string(b)), "\n"); !slices.Equal(got, want) {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// record makes slim cores and what is told of them.
func record(t *testing.T) {
	for version, exe := range all(t) {
		dir := t.TempDir()
		b, err := os.ReadFile("testdata/judge.lua")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "judge.lua"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := fixture.Dies(dir, exe, "judge.lua", "coroutines")
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LANG=C.UTF-8"}
		_ = cmd.Run() // it dies
		core := fixture.CoreIn(t, dir)
		slim := filepath.Join(t.TempDir(), "slim")
		if out, err := exec.Command("go", "run", "../../../cmd/corewalk", "slim", core, "-o", slim, "--reach", "4KiB").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s := replay(t, slim)
		a := &asked{ProcessState: s.p.State, seen: map[uint64]bool{}}
		q := &tasks.Process{State: a, Symbols: s.p.Symbols, Modules: s.p.Modules}
		rt, err := lua.Find(q)
		if err != nil || rt == nil {
			t.Fatalf("%s: no Lua is found: %v", version, err)
		}
		want := told(t, rt, q, s.died, s.stack)
		if b, err = os.ReadFile(slim); err != nil {
			t.Fatal(err)
		}
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		name := filepath.Join("testdata/recorded", version)
		if err := os.WriteFile(name+".zst", e.EncodeAll(b, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".txt", []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// damaged is a process some of whose words are others.
type damaged struct {
	unwind.ProcessState
	words map[uint64]uint64
}

func (d *damaged) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := d.ProcessState.ReadMem(at, b)
	for w := at &^ 7; n > 0 && w-at&^7 < uint64(n)+8; w += 8 {
		if v, ok := d.words[w]; ok {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], v)
			for i := range uint64(8) {
				if k := w + i - at; k < uint64(n) {
					b[k] = word[i]
				}
			}
		}
	}
	return n, err
}

func (d *damaged) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := d.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// asked notes which words are read.
type asked struct {
	unwind.ProcessState
	seen  map[uint64]bool
	words []uint64
}

func (a *asked) note(at uint64, n int) {
	for w := at &^ 7; n > 0 && w-at&^7 < uint64(n)+8; w += 8 {
		if !a.seen[w] {
			a.seen[w] = true
			a.words = append(a.words, w)
		}
	}
}

func (a *asked) ReadMem(at arch.Address, b []byte) (int, error) {
	a.note(at, len(b))
	return a.ProcessState.ReadMem(at, b)
}

func (a *asked) ReadWord(at arch.Address) (uint64, error) {
	a.note(at, 8)
	return a.ProcessState.ReadWord(at)
}

// units is a budget that ends.
type units struct{ left int }

func (u *units) Spend(n int) error {
	if u.left -= n; u.left < 0 {
		return errors.New("spent")
	}
	return nil
}
func (u *units) Err() error { return nil }

// A victim is a kept core whose words are changed.
type victim struct {
	*replayed
	words []uint64 // that are read
	lines int
}

func victims(tb testing.TB) []victim {
	tb.Helper()
	var list []victim
	paths, _ := filepath.Glob("testdata/recorded/*.zst")
	for _, path := range paths {
		s := replay(tb, path)
		a := &asked{ProcessState: s.p.State, seen: map[uint64]bool{}}
		q := &tasks.Process{State: a, Symbols: s.p.Symbols, Modules: s.p.Modules}
		rt, err := lua.Find(q)
		if err != nil || rt == nil {
			tb.Fatal(err)
		}
		lines := len(told(tb, rt, q, s.died, s.stack))
		list = append(list, victim{s, a.words, lines})
	}
	return list
}

// harm reads the core with words of it replaced. Nothing may hang, panic or tell of calls without end.
func (v *victim) harm(tb testing.TB, words map[uint64]uint64) bool {
	tb.Helper()
	p := &tasks.Process{State: &damaged{v.p.State, words}, Symbols: v.p.Symbols, Modules: v.p.Modules, Budget: &units{1 << 21}}
	rt, err := lua.Find(p)
	if err != nil || rt == nil {
		return false
	}
	if n := len(told(tb, rt, p, v.died, v.stack)); n > v.lines+1<<18 {
		tb.Errorf("%d lines of %d, with %#x", n, v.lines, words)
	}
	return true
}

// TestDamaged changes words that are read of real Luas into what they are most likely to be wrong as.
func TestDamaged(t *testing.T) {
	list := victims(t)
	step := 199
	if fixture.IsLong(t) {
		step = 7
	}
	tried, found := 0, 0
	for k := range list {
		v := &list[k]
		for i := k; i < len(v.words); i += step {
			at := v.words[i]
			was, _ := v.p.State.ReadWord(at)
			for _, to := range []uint64{0, at, was + 8, was ^ 1<<40, 1 << 63, 0x7fffffff, was &^ 0xff} {
				if to == was {
					continue
				}
				tried++
				if v.harm(t, map[uint64]uint64{at: to}) {
					found++
				}
			}
		}
	}
	t.Logf("%d times damaged, %d times calls are found", tried, found)
	if tried < 100 || found < tried/2 {
		t.Errorf("%d times damaged, %d times calls are found: too few to mean anything", tried, found)
	}
}

// FuzzRecorded changes words of real Luas.
func FuzzRecorded(f *testing.F) {
	list := victims(f)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 12 || len(data) > 256 {
			return
		}
		v := &list[int(data[0])%len(list)]
		words := map[uint64]uint64{}
		for data = data[1:]; len(data) >= 11; data = data[11:] {
			at := v.words[int(binary.LittleEndian.Uint16(data))%len(v.words)]
			to := binary.LittleEndian.Uint64(data[3:])
			if data[2]&1 != 0 { // another word's address
				to = v.words[to%uint64(len(v.words))] + uint64(data[2]>>1&3)
			}
			words[at] = to
		}
		v.harm(t, words)
	})
}
