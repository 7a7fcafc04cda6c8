package hotspot

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A recording is the memory that the walk of one Java stack reads, and where the walk begins.
type recording struct {
	Pages      map[uint64][]byte // by address
	Symbols    map[string]uint64
	PC, SP, FP uint64
	Want       []string
	Values     bool // the variables are recorded, too
	Raised     bool // and so are the exceptions of the thread
}

const page = 4096

// recorded is a process that has the memory of a recording and nothing else.
type recorded struct {
	*recording
	reads int
}

func (r *recorded) ReadMem(at arch.Address, b []byte) (int, error) {
	r.reads++
	n := 0
	for n < len(b) {
		p := r.Pages[(at+uint64(n))&^(page-1)]
		if p == nil {
			return n, fmt.Errorf("no memory at %#x", at)
		}
		n += copy(b[n:], p[(at+uint64(n))%page:])
	}
	return n, nil
}

func (r *recorded) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := r.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (r *recorded) Arch() *arch.Arch                        { return arch.AMD64 }
func (r *recorded) ProcessID() int                          { return 1 }
func (r *recorded) ThreadIDs() ([]unwind.ThreadID, error)   { return []unwind.ThreadID{1}, nil }
func (r *recorded) DefaultThread() (unwind.ThreadID, error) { return 1, nil }
func (r *recorded) Registers(unwind.ThreadID) (s arch.RegSet, err error) {
	return s, unwind.ErrNoThread
}
func (r *recorded) PreStackwalk(unwind.ThreadID) error                            { return nil }
func (r *recorded) PostStackwalk(unwind.ThreadID) error                           { return nil }
func (r *recorded) IsFirstParty() bool                                            { return false }
func (r *recorded) LibraryTracker() libstate.LibraryState                         { return nil }
func (r *recorded) ExecutablePath() string                                        { return "" }
func (r *recorded) SymbolAt(*libstate.Library, uint64) (s unwind.Symbol, ok bool) { return s, false }

func (r *recorded) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	at, ok := r.recording.Symbols[name]
	return unwind.Symbol{Name: name, Addr: at}, ok
}

// java is the Java of a recorded process.
func (r *recorded) java() *Java {
	return New(func() *tasks.Process {
		return &tasks.Process{State: r, Symbols: r, Modules: []*libstate.Library{{Path: "/jdk/lib/server/libjvm.so"}}}
	})
}

// walk walks the recorded stack and shows it.
func (r *recorded) walk(tb testing.TB) []string {
	j := r.java()
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
	if vm := j.machine(); vm != nil {
		_, _ = vm.Threads()
	}
	out := shown(list, r.Values)
	if r.Raised {
		out = append(out, raisedLines(j)...)
	}
	return out
}

// raisedLines writes the exceptions of a recorded thread in lines.
func raisedLines(j *Java) (out []string) {
	for _, e := range j.Raised(1) {
		out = append(out, fmt.Sprintf("raised %s %q in %s %s:%d handled %v %s", e.Type, e.Message, e.Function, e.File, e.Line, e.Handled, e.Relation))
	}
	return out
}

// shown writes calls in lines, and their variables.
func shown(list []tasks.Stretch, values bool) (out []string) {
	for _, st := range list {
		for i, c := range st.Calls {
			out = append(out, fmt.Sprintf("%s %s %s:%d %s %v", c.Function, c.Symbol, c.File, c.Line, c.Kind, i < len(st.Calls)-1))
			if !values || c.Variables == nil {
				continue
			}
			args, own := c.Variables(true, tasks.Limits{})
			for _, v := range slices.Concat(args, own) {
				if v.Err != nil {
					v.Value = v.Err.Error()
				} else if v.Tree != nil {
					v.Tree()
				}
				out = append(out, fmt.Sprintf("  %s %s = %s", v.Type, v.Name, v.Value))
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

var recordings = []string{"java17-compiled.zst", "java17-interpreted.zst", "java25-compiled.zst", "java25-interpreted.zst", "java8-values.zst",
	"java25-values.zst", "java25-virtual.zst", "java25-handled.zst", "java25-removed.zst", "java17-removed.zst"}

// TestRecordings walks recorded stacks of real virtual machines: interpreted methods, compiled ones, inlined ones.
func TestRecordings(t *testing.T) {
	for _, name := range recordings {
		t.Run(name, func(t *testing.T) {
			r := read(t, name)
			got := r.walk(t)
			if strings.Join(got, "\n") != strings.Join(r.Want, "\n") || len(got) < 8 {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(r.Want, "\n"))
			}
		})
	}
}
