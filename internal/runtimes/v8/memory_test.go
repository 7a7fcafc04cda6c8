package v8

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A recording is the memory that the walk of one stack reads, and where the walk begins.
type recording struct {
	Pages      map[uint64][]byte        // by address
	Symbols    map[string]unwind.Symbol // by name
	At         map[uint64]string        // V8's own code, by the addresses that were asked for
	PC, SP, FP uint64
	Want       []string
	Variables  []string // of all calls; none were recorded if it is empty
	Error      uint64   // what was thrown, and what a promise was rejected with: Want are the exceptions
	Reason     uint64
	Tasks      []string // async functions; if there are some, Want is empty and SP is that of the only thread
}

const page = 4096

var errAbsent = errors.New("no memory is there")

// recorded is a process that has the memory of a recording and nothing else.
type recorded struct {
	libstate.LibraryState
	*recording
	lib       *libstate.Library
	reads     int
	variables []string // what walk found
	short     []string // the same with narrow limits
}

func (r *recorded) ReadMem(at arch.Address, b []byte) (int, error) {
	r.reads++
	n := 0
	for n < len(b) {
		p := r.Pages[(at+uint64(n))&^(page-1)]
		if p == nil {
			return n, errAbsent
		}
		n += copy(b[n:], p[(at+uint64(n))%page:])
	}
	return n, nil
}

func (r *recorded) ReadWord(at arch.Address) (uint64, error) {
	if p := r.Pages[at&^(page-1)]; p != nil && at%page <= page-8 {
		r.reads++
		return binary.LittleEndian.Uint64(p[at%page:]), nil
	}
	var b [8]byte
	_, err := r.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (r *recorded) Arch() *arch.Arch                        { return arch.AMD64 }
func (r *recorded) ProcessID() int                          { return 1 }
func (r *recorded) ThreadIDs() ([]unwind.ThreadID, error)   { return []unwind.ThreadID{1}, nil }
func (r *recorded) DefaultThread() (unwind.ThreadID, error) { return 1, nil }
func (r *recorded) Registers(unwind.ThreadID) (s arch.RegSet, err error) {
	if len(r.Tasks) == 0 {
		return s, unwind.ErrNoThread
	}
	s.Set(arch.RSP, r.SP)
	return s, nil
}
func (r *recorded) PreStackwalk(unwind.ThreadID) error    { return nil }
func (r *recorded) PostStackwalk(unwind.ThreadID) error   { return nil }
func (r *recorded) IsFirstParty() bool                    { return false }
func (r *recorded) LibraryTracker() libstate.LibraryState { return r }
func (r *recorded) ExecutablePath() string                { return "" }

// LibraryAt says that code which has a name is Node's.
func (r *recorded) LibraryAt(at arch.Address) (*libstate.Library, bool) {
	if _, ok := r.At[at]; ok {
		return r.lib, true
	}
	return nil, false
}

func (r *recorded) SymbolAt(_ *libstate.Library, at uint64) (unwind.Symbol, bool) {
	name, ok := r.At[at]
	return unwind.Symbol{Name: name}, ok
}

func (r *recorded) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := r.recording.Symbols[name]
	return s, ok
}

// script is the JavaScript of the recorded process.
func (r *recorded) script() *JavaScript {
	r.lib = &libstate.Library{Path: "/usr/bin/node"}
	return New(func() *tasks.Process {
		return &tasks.Process{State: r, Symbols: r, Modules: []*libstate.Library{r.lib}}
	})
}

// walk walks the recorded stack and shows it.
func (r *recorded) walk(tb testing.TB) []string {
	j := r.script()
	group := unwind.NewAddrRangeGroup()
	if err := group.RegisterStepper(j); err != nil {
		tb.Fatal(err)
	}
	w, err := unwind.NewWalker(r, unwind.WithGroup(group))
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	f, err := unwind.NewFrame(r.PC, r.SP, r.FP, w)
	if err != nil {
		tb.Fatal(err)
	}
	s, _ := w.WalkStackFromFrame(f)
	list, _ := j.Stretches(context.Background(), 1, s.Frames)
	r.variables = held(list)
	r.short = heldUpTo(list, tasks.Limits{Elements: 2, String: 3, Depth: 1})
	return shown(list)
}

// shown writes calls in lines.
func shown(list []tasks.Stretch) (out []string) {
	for _, st := range list {
		for i, c := range st.Calls {
			out = append(out, fmt.Sprintf("%s %s:%d:%d %s %v", c.Function, c.File, c.Line, c.Column, c.Kind, i < len(st.Calls)-1))
		}
	}
	return out
}

// held writes the variables of calls in lines.
func held(list []tasks.Stretch) (out []string) { return heldUpTo(list, tasks.Limits{}) }

func heldUpTo(list []tasks.Stretch, limits tasks.Limits) (out []string) {
	for _, st := range list {
		for _, c := range st.Calls {
			if c.Variables == nil || !strings.HasSuffix(c.File, "variables.js") { // the others have much of Node's own
				continue
			}
			args, own := c.Variables(true, limits)
			for _, v := range append(args, own...) {
				out = append(out, fmt.Sprintf("%s %s=%s %v", c.Function, v.Name, v.Value, v.Err))
			}
		}
	}
	return out
}

// read reads a recording of testdata.
func read(tb testing.TB, name string) *recorded {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	z, err := decompress.NewReader(bytes.NewReader(data), decompress.Sniff(data))
	if err != nil {
		tb.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	rec := new(recording)
	if err := gob.NewDecoder(bytes.NewReader(plain)).Decode(rec); err != nil {
		tb.Fatal(err)
	}
	return &recorded{recording: rec}
}

var recordings = []string{"node18-hot.zst", "node20-all.zst", "node22-sparkplug.zst", "node24-hot.zst", "node24-variables.zst",
	"node18-wasm.zst", "node20-wasm.zst", "node22-wasm.zst", "node24-wasm.zst"}

// TestRecordings walks recorded stacks of real programs: interpreted functions, compiled ones, inlined ones.
func TestRecordings(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := read(t, name)
			got := r.walk(t)
			if strings.Join(got, "\n") != strings.Join(r.Want, "\n") || len(got) < 10 {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(r.Want, "\n"))
			}
			if got := r.variables; len(r.Variables) > 0 && strings.Join(got, "\n") != strings.Join(r.Variables, "\n") {
				t.Errorf("variables\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(r.Variables, "\n"))
			}
		})
	}
}

func (r *recorded) Subscribe(func(*libstate.Library, libstate.Change)) func() { return func() {} }

// TestLimits: values are as short as somebody asks for.
func TestLimits(t *testing.T) {
	r := read(t, "node24-variables.zst")
	r.walk(t)
	if len(r.short) != len(r.variables) || len(r.short) == 0 {
		t.Fatalf("%d variables, %d without limits", len(r.short), len(r.variables))
	}
	var shorter [3]int // of elements, of text, of depth
	for i, s := range r.short {
		if len(s) > len(r.variables[i])+8 {
			t.Errorf("%s, without limits %s", s, r.variables[i])
		}
		if s == r.variables[i] {
			continue
		}
		switch {
		case strings.Contains(s, "'..."):
			shorter[1]++
		case strings.Contains(s, "[Object]"), strings.Contains(s, "[Array]"):
			shorter[2]++
		case strings.Contains(s, ", ..."):
			shorter[0]++
		}
	}
	for i, n := range shorter {
		if n == 0 {
			t.Errorf("nothing is shorter by limit %d: %q", i, r.short)
		}
	}
}
