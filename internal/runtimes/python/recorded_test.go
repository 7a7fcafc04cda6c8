package python_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
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
	"github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

var recordTo = flag.String("record", "", "make the dumps in this directory anew, of the CPythons of this machine or of the dumps that RECORD_DUMPS lists, with the files of RECORD_SEARCH")

// A recording goes with a slim core: what the interpreter's file says, which is not in the core, and what is found.
type recording struct {
	Module  string            // part of the interpreter's path
	Symbols map[string]uint64 // from where the module begins
	Stack   []nativeFrame     // of the thread that died
	Data    map[uint64][]byte // read-only data of files, which no core has: pieces of 64 bytes
	Want    []string
	// Lacks says that no data of files was recorded, so that most types have no names in Want.
	Lacks bool `json:",omitempty"`
}

type nativeFrame struct {
	RA, SP, FP, Entry uint64
	Name              string // of the interpreter's own functions; "?" for those without a name
}

// file is the interpreter's file of a recording.
type file struct {
	unwind.SymbolReader
	rec *recording
	lib *libstate.Library
}

func (f *file) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	at, ok := f.rec.Symbols[name]
	return unwind.Symbol{Name: name, Addr: f.lib.Start + at}, ok && lib == f.lib
}

func (f *file) SymbolAt(_ *libstate.Library, addr unwind.Address) (unwind.Symbol, bool) {
	for _, n := range f.rec.Stack {
		if (n.RA == addr || n.RA-1 == addr) && n.Name != "?" {
			return unwind.Symbol{Name: n.Name, Addr: n.Entry}, n.Name != ""
		}
	}
	return unwind.Symbol{}, false
}

const piece = 64

// A withData is a process that has the data of a recording, too.
type withData struct {
	unwind.ProcessState
	rec   *recording
	whole unwind.ProcessState // where the data is taken from that the process does not have; nil when replaying
}

func (w *withData) ReadMem(at arch.Address, b []byte) (int, error) {
	if n, err := w.ProcessState.ReadMem(at, b); err == nil && n == len(b) {
		return n, nil
	}
	for n := 0; n < len(b); {
		p := (at + uint64(n)) &^ (piece - 1)
		var data [piece]byte
		if got, err := w.ProcessState.ReadMem(p, data[:]); err != nil || got < piece {
			if w.whole != nil && w.rec.Data[p] == nil {
				if got, err := w.whole.ReadMem(p, data[:]); err != nil || got < piece {
					return n, err
				}
				w.rec.Data[p] = data[:]
			}
			if w.rec.Data[p] == nil {
				return n, err
			}
			copy(data[:], w.rec.Data[p])
		}
		n += copy(b[n:], data[(at+uint64(n))%piece:])
	}
	return len(b), nil
}

func (w *withData) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := w.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// noted notes which symbols are asked for.
type noted struct {
	unwind.SymbolReader
	rec *recording
}

func (n *noted) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := n.SymbolReader.SymbolByName(lib, name)
	if ok {
		n.rec.Symbols[name] = s.Addr - lib.Start
	}
	return s, ok
}

// open opens a dump, and what a runtime reads of its process.
func open(tb testing.TB, path string, opts ...corewalk.Option) (*corewalk.Target, *tasks.Process, int) {
	tb.Helper()
	target, err := corewalk.Open(tb.Context(), path, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { target.Close() })
	var p *tasks.Process
	died := 0
	facts, err := target.Facts(corewalk.FactsOptions{Runtimes: []tasks.Finder{func(q *tasks.Process) (tasks.Runtime, error) {
		p = q
		id, err := q.State.DefaultThread()
		if err != nil {
			tb.Fatal(err)
		}
		died = int(id)
		return nil, nil
	}}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(facts.Close)
	p.Budget = nil
	return target, p, died
}

// told is all that a runtime says of a process.
func told(tb testing.TB, rt tasks.Runtime, p *tasks.Process, died int, stack []*unwind.Frame) []string {
	tb.Helper()
	list := []string{rt.(interface{ Describe() string }).Describe()}
	ids, _ := p.State.ThreadIDs()
	slices.Sort(ids)
	framer := rt.(tasks.Framer)
	for _, id := range ids {
		frames := stack
		if int(id) != died {
			frames = frameList(tb, p, []nativeFrame{{RA: 1, SP: 1, FP: 1}})
		}
		stretches, err := framer.Stretches(tb.Context(), id, frames)
		list = append(list, fmt.Sprintf("thread %d died %t error %v", id, int(id) == died, err))
		for _, s := range stretches {
			if int(id) == died {
				list = append(list, fmt.Sprintf(" frames %d to %d ended %t", s.From, s.To, s.Ended))
			}
			for _, c := range s.Calls {
				list = append(list, fmt.Sprintf("  %s %s:%d", c.Function, c.File[strings.LastIndexAny(c.File, `/\`)+1:], c.Line))
				args, own := c.Variables(true, tasks.Limits{})
				for _, v := range append(args, own...) {
					if strings.HasSuffix(c.File, "small.py") {
						list = append(list, fmt.Sprintf("   %s %s = %s %v", v.Type, v.Name, v.Value, v.Err))
					}
				}
			}
		}
	}
	for _, e := range rt.(tasks.Raiser).Raised(unwind.ThreadID(died)) {
		list = append(list, fmt.Sprintf("%s %s %s %s:%d %t", e.Relation, e.Type, e.Message, e.Function, e.Line, e.Handled))
	}
	for task, err := range rt.Tasks(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		line := fmt.Sprintf("task %s %s", task.Name, task.State)
		for _, f := range task.Suspended {
			line += fmt.Sprintf(" %s:%d", f.Function, f.Line)
		}
		list = append(list, line)
	}
	return list
}

// frameList makes frames.
func frameList(tb testing.TB, p *tasks.Process, stack []nativeFrame) []*unwind.Frame {
	tb.Helper()
	w, err := unwind.NewWalker(p.State)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { w.Close() })
	var list []*unwind.Frame
	for _, n := range stack {
		f, err := unwind.NewFrame(n.RA, n.SP, n.FP, w)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, f)
	}
	return list
}

// replay finds the interpreter in a slim core, as a recording says what its file has.
func replay(tb testing.TB, path string, whole unwind.ProcessState) (tasks.Runtime, *tasks.Process, *recording, int) {
	tb.Helper()
	b, err := os.ReadFile(strings.TrimSuffix(path, ".zst") + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	rec := &recording{}
	if err := json.Unmarshal(b, rec); err != nil {
		tb.Fatal(err)
	}
	target, p, died := open(tb, path, corewalk.WithSysroot(tb.TempDir())) // no file of this machine
	if c := target.Core(); c != nil {
		c.SetBacking(nil)
	} else {
		target.Minidump().SetBacking(nil)
	}
	f := &file{rec: rec}
	if rec.Data == nil {
		rec.Data = map[uint64][]byte{}
	}
	q := &tasks.Process{State: &withData{p.State, rec, whole}, Symbols: f}
	for _, lib := range p.Modules {
		if strings.HasSuffix(lib.Path, rec.Module) {
			q.Modules, f.lib = append(q.Modules, lib), lib
		}
	}
	rt, err := python.Find(q)
	if err != nil || rt == nil {
		tb.Fatalf("%s: no interpreter is found: %v", path, err)
	}
	return rt, q, rec, died
}

// TestRecorded reads kept cores of real interpreters. They are slim: corewalk slim made them.
func TestRecorded(t *testing.T) {
	if *recordTo != "" {
		record(t)
	}
	list, _ := filepath.Glob("testdata/recorded/*.zst")
	if len(list) < 7 {
		t.Fatalf("%d cores", len(list))
	}
	for _, path := range list {
		t.Run(filepath.Base(path), func(t *testing.T) {
			compare(t, path)
		})
	}
}

// compare replays a recording, without any file of this machine.
func compare(t *testing.T, path string) {
	t.Helper()
	rt, p, rec, died := replay(t, path, nil)
	got := told(t, rt, p, died, frameList(t, p, rec.Stack))
	if len(got) < 30 || !slices.Equal(got, rec.Want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(rec.Want, "\n"))
	}
	if has := len(rec.Data) > 0 || rec.Module[0] == '\\'; has == rec.Lacks { // minidumps of Windows have their modules' data
		t.Errorf("%d pieces of data of files are in the recording", len(rec.Data))
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("which files are open is known on Linux only")
	}
	for _, lib := range p.Modules {
		if lib.Path != "" && strings.Contains(string(maps), lib.Path+"\n") {
			t.Errorf("%s of this machine is open", lib.Path)
		}
	}
}

// smallDump is the core of testdata/small.py, without the environment of whoever records it.
func smallDump(t *testing.T, py string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/small.py")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "small.py")
	if err := os.WriteFile(program, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := fixture.Dies(dir, py, "-I", program, "said")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	_ = cmd.Run() // it dies
	return fixture.CoreIn(t, dir)
}

// neutral replaces directories of the machine in a core by others of the same length.
func neutral(b []byte) []byte {
	home, _ := os.UserHomeDir()
	for _, from := range []string{filepath.Join(home, ".pyenv/versions"), home + "/"} {
		to := ("/opt/pythons" + strings.Repeat("/", len(from)))[:len(from)]
		if len(from) < 8 {
			to = "/home/"[:len(from)-1] + "/"
		}
		b = bytes.ReplaceAll(b, []byte(from), []byte(to))
	}
	return b
}

// record makes slim cores and what goes with them.
func record(t *testing.T) {
	dumps := map[string]string{}
	if list := os.Getenv("RECORD_DUMPS"); list != "" { // of Windows: named like the recording
		for _, path := range filepath.SplitList(list) {
			dumps[strings.TrimSuffix(filepath.Base(path), ".dmp")] = path
		}
	} else {
		for version, py := range interpreters(t) {
			dumps[version] = smallDump(t, py)
		}
	}
	for version, core := range dumps {
		slim := filepath.Join(t.TempDir(), "slim")
		args := []string{"run", "../../../cmd/corewalk", "slim", core, "-o", slim, "--reach", "4KiB"}
		var opts []corewalk.Option
		for _, dir := range filepath.SplitList(os.Getenv("RECORD_SEARCH")) {
			args, opts = append(args, "--search", dir), append(opts, corewalk.WithSearch(dir))
		}
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		b, err := os.ReadFile(slim)
		if err != nil {
			t.Fatal(err)
		}
		b = neutral(b)
		z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		path := filepath.Join(*recordTo, version+".zst")
		if err := os.WriteFile(path, z.EncodeAll(b, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		rec := &recording{Symbols: map[string]uint64{}}
		target, p, died := open(t, core, opts...)
		var lib *libstate.Library
		for _, l := range p.Modules {
			if rt, _ := python.Find(&tasks.Process{State: p.State, Symbols: &noted{p.Symbols, rec}, Modules: []*libstate.Library{l}}); rt != nil {
				lib = l
			}
		}
		rec.Module = lib.Path[strings.LastIndexAny(lib.Path, `/\`):]
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		s, err := w.WalkStackContext(t.Context(), unwind.ThreadID(died))
		if err != nil {
			t.Log(err)
		}
		for _, f := range s.Frames {
			n := nativeFrame{RA: f.RA(), SP: f.SP(), FP: f.FP()}
			if l, ok := p.State.LibraryTracker().LibraryAt(f.LookupAddr()); ok && l == lib {
				n.Name = "?"
				if sym, ok := p.Symbols.SymbolAt(lib, f.LookupAddr()); ok {
					n.Name, n.Entry = sym.Name, sym.Addr
				}
			}
			rec.Stack = append(rec.Stack, n)
		}
		write := func() {
			b, err := json.MarshalIndent(rec, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(strings.TrimSuffix(path, ".zst")+".json", append(b, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write()
		rt, q, again, died := replay(t, path, p.State)
		rec.Want = told(t, rt, q, died, frameList(t, q, rec.Stack))
		rec.Data = again.Data
		write()
		// What is read of the slim core is what is read of the whole one.
		whole, err := python.Find(p)
		if err != nil {
			t.Fatal(err)
		}
		if all := told(t, whole, p, died, s.Frames); !slices.Equal(all[1:], rec.Want[1:]) {
			t.Errorf("%s: of the whole core\n%s\nof the slim one\n%s", version, strings.Join(all, "\n"), strings.Join(rec.Want, "\n"))
		}
		compare(t, path) // the recording has all that is read
	}
}

// everything asks a runtime for all that it can tell, and returns how many calls it told of.
func everything(tb testing.TB, rt tasks.Runtime, p *tasks.Process, stack []*unwind.Frame) int {
	tb.Helper()
	n := 0
	ids, _ := p.State.ThreadIDs()
	for _, id := range ids {
		stretches, _ := rt.(tasks.Framer).Stretches(tb.Context(), id, stack)
		for _, s := range stretches {
			for _, c := range s.Calls {
				n++
				if c.Variables != nil {
					c.Variables(true, tasks.Limits{})
				}
			}
		}
		rt.(tasks.Raiser).Raised(id)
	}
	for range rt.Tasks(tb.Context()) {
		n++
	}
	return n
}

// BenchmarkCalls reads all calls of the threads of a core, with arguments and local variables; first also finds the interpreter,
// and reads code and types for the first time.
func BenchmarkCalls(b *testing.B) {
	for _, version := range []string{"3.8.18", "3.12.1", "3.14.10"} {
		_, p, rec, _ := replay(b, "testdata/recorded/"+version+".zst", nil)
		stack := frameList(b, p, rec.Stack)
		find := func() tasks.Runtime {
			rt, err := python.Find(&tasks.Process{State: p.State, Symbols: p.Symbols, Modules: p.Modules})
			if err != nil {
				b.Fatal(err)
			}
			return rt
		}
		calls := func(rt tasks.Runtime) (n int) {
			ids, _ := p.State.ThreadIDs()
			for _, id := range ids {
				stretches, _ := rt.(tasks.Framer).Stretches(b.Context(), id, stack)
				for _, s := range stretches {
					for _, c := range s.Calls {
						n++
						c.Variables(true, tasks.Limits{})
					}
				}
			}
			return n
		}
		b.Run(version+"/first", func(b *testing.B) {
			n := 0
			for b.Loop() {
				n += calls(find())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/call")
		})
		b.Run(version+"/again", func(b *testing.B) {
			rt, n := find(), 0
			for b.Loop() {
				n += calls(rt)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/call")
		})
	}
}

// victims are kept cores, to be changed.
func victims(tb testing.TB) (list []remotetest.Victim) {
	tb.Helper()
	for _, version := range []string{"3.6.15", "3.8.18", "3.11.7", "3.12.1", "3.13.5t", "3.14.10"} {
		_, p, rec, _ := replay(tb, "testdata/recorded/"+version+".zst", nil)
		stack := frameList(tb, p, rec.Stack)
		r := remotetest.Reading{Find: python.Find, Noted: 256, Units: 1 << 22, Tell: func(tb testing.TB, rt tasks.Runtime, p *tasks.Process) int {
			return everything(tb, rt, p, stack)
		}}
		list = append(list, r.Victim(tb, p))
	}
	return list
}

// TestDamaged changes each word that is read of real interpreters into what it is most likely to be wrong as.
func TestDamaged(t *testing.T) {
	step := 97
	if fixture.IsLong(t) {
		step = 1
	}
	remotetest.Damage(t, victims(t), step, 1000)
}

// FuzzRecorded changes words of real interpreters.
func FuzzRecorded(f *testing.F) { remotetest.Fuzz(f, victims(f)) }

// TestLimits: values are as short, and as long, as somebody asks for.
func TestLimits(t *testing.T) {
	_, p, rec, _ := replay(t, "testdata/recorded/3.12.1.zst", nil)
	rt, err := python.Find(&tasks.Process{State: p.State, Symbols: p.Symbols, Modules: p.Modules})
	if err != nil {
		t.Fatal(err)
	}
	stack := frameList(t, p, rec.Stack)
	values := func(limits tasks.Limits) (out []string, parts int) {
		ids, _ := p.State.ThreadIDs()
		for _, id := range ids {
			stretches, _ := rt.(tasks.Framer).Stretches(t.Context(), id, stack)
			for _, s := range stretches {
				for _, c := range s.Calls {
					args, own := c.Variables(true, limits)
					for _, v := range append(args, own...) {
						out = append(out, v.Name+" = "+v.Value)
						if v.Tree != nil {
							parts += len(v.Tree().Children)
						}
					}
				}
			}
		}
		return out, parts
	}
	usual, usualParts := values(tasks.Limits{})
	one, oneParts := values(tasks.Limits{Elements: 1, String: 3, Depth: 1})
	if len(one) != len(usual) || len(one) == 0 || oneParts >= usualParts {
		t.Fatalf("%d variables with %d parts, without limits %d with %d", len(one), oneParts, len(usual), usualParts)
	}
	shorter := 0
	for i := range one {
		if len(one[i]) < len(usual[i]) {
			shorter++
		}
		if strings.Count(one[i], "'") == 2 && !strings.Contains(one[i], "[") && len(one[i]) > len("name = 'abc'...")+20 {
			t.Errorf("a long text: %s", one[i])
		}
	}
	if shorter == 0 {
		t.Errorf("nothing is shorter: %q", one)
	}
}
