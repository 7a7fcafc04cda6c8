package analysis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestModuleWarning(t *testing.T) {
	lib := &libstate.Library{Path: "/opt/libx.so"}
	for _, c := range []struct {
		name   string
		lib    *libstate.Library
		res    modules.Resolution
		frames int
		code   string
		parts  []string
	}{
		{"matched", lib, modules.Resolution{Match: modules.Matched}, 3, "", nil},
		{"no id", lib, modules.Resolution{Match: modules.NoID}, 3, "", nil},
		{"missing, unused", lib, modules.Resolution{}, 0, "", nil},
		{"missing", lib, modules.Resolution{}, 1, "module-missing", []string{"libx.so: no file found; 1 frame in it was walked"}},
		{"missing, with a reason", lib, modules.Resolution{Why: "x is a directory"}, 2, "module-missing", []string{"2 frames in it were walked", "(x is a directory)"}},
		{"missing, nameless", &libstate.Library{Start: 0x7000}, modules.Resolution{}, 1, "module-missing", []string{"module at 0x7000: no file found"}},
		{"mismatched", lib, modules.Resolution{Match: modules.Mismatched, Path: "/lib/libx.so", Why: "another id"}, 0, "module-mismatched", []string{"/lib/libx.so is from a different build and was not used: another id"}},
		{"forced", lib, modules.Resolution{Match: modules.Mismatched, Forced: true, Path: "/lib/libx.so", Why: "another id"}, 2, "module-forced", []string{"using /lib/libx.so although", "2 frames in it may be wrong"}},
	} {
		w, ok := moduleWarning(c.lib, c.res, c.frames)
		if ok != (c.code != "") || ok && (w.Code != c.code || w.Module != c.lib.Path) {
			t.Errorf("%s: %+v, %v", c.name, w, ok)
		}
		for _, p := range c.parts {
			if !strings.Contains(w.Message, p) {
				t.Errorf("%s: %q lacks %q", c.name, w.Message, p)
			}
		}
	}
}

// TestUnwound: which stacks were walked by the unwind tables of a module that has no file.
func TestUnwound(t *testing.T) {
	frames := func(trust ...string) []report.Frame {
		out := []report.Frame{{Module: "/x"}}
		for _, s := range trust {
			out = append(out, report.Frame{Module: "/x", Trust: s})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		frames []report.Frame
		end    string
		want   bool
	}{
		{"by tables to the bottom", frames(report.TrustCFI, report.TrustCFI), report.EndBottom, true},
		{"one guessed", frames(report.TrustCFI, report.TrustScan), report.EndBottom, false},
		{"by code", frames(report.TrustAnalysis), report.EndBottom, false},
		{"lost at the end", frames(report.TrustCFI), "", false},
		{"another module", []report.Frame{{Module: "/y"}, {Module: "/y", Trust: report.TrustScan}}, "", true},
	} {
		if got := unwound([]report.Thread{{Frames: c.frames, End: c.end}}, "/x"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestWantedBy(t *testing.T) {
	for _, c := range []struct {
		lib  libstate.Library
		want string
	}{
		{libstate.Library{}, ""},
		{libstate.Library{BuildID: []byte{1}}, "its build-id"},
		{libstate.Library{BuildID: []byte{1}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}, "its build-id"},
		{libstate.Library{Module: &libstate.ModuleID{Format: libstate.FormatPE}}, "its symbol server path"},
		{libstate.Library{Module: &libstate.ModuleID{Format: libstate.FormatMachO}}, "its UUID"},
	} {
		if got := wantedBy(&c.lib); got != c.want {
			t.Errorf("%+v: %q, want %q", c.lib, got, c.want)
		}
		if w, ok := moduleWarning(&c.lib, modules.Resolution{}, 1); !ok || !strings.HasSuffix(w.Advice, c.want) || strings.Contains(w.Advice, "lists") != (c.want != "") {
			t.Errorf("%+v: %+v", c.lib, w)
		}
		other, _ := moduleWarning(&c.lib, modules.Resolution{Match: modules.Mismatched}, 1)
		if strings.Contains(other.Advice, "lists") != (c.want != "") || !strings.Contains(other.Advice, "--force-mismatched") {
			t.Errorf("%+v: %+v", c.lib, other)
		}
	}
}

// A proc is a process whose stacks are one frame deep.
type proc struct {
	threads []unwind.ThreadID
	regs    map[unwind.ThreadID]arch.RegSet
}

var errNoMemory = errors.New("not in the dump")

func (p *proc) ReadMem(a arch.Address, _ []byte) (int, error) { return 0, errNoMemory }
func (p *proc) ReadWord(arch.Address) (uint64, error)         { return 0, errNoMemory }
func (p *proc) Arch() *arch.Arch                              { return arch.AMD64 }
func (p *proc) ProcessID() int                                { return 1 }
func (p *proc) ExecutablePath() string                        { return "" }
func (p *proc) ThreadIDs() ([]unwind.ThreadID, error)         { return p.threads, nil }
func (p *proc) DefaultThread() (unwind.ThreadID, error)       { return p.threads[0], nil }
func (p *proc) Registers(t unwind.ThreadID) (arch.RegSet, error) {
	return p.regs[t], nil
}
func (p *proc) LibraryTracker() libstate.LibraryState { return nil }
func (p *proc) PreStackwalk(unwind.ThreadID) error    { return nil }
func (p *proc) PostStackwalk(unwind.ThreadID) error   { return nil }
func (p *proc) IsFirstParty() bool                    { return false }
func (p *proc) Mappings() []libstate.Mapping          { return nil }
func (p *proc) ThreadName(unwind.ThreadID) string     { return "" }

func (p *proc) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return libstate.Mapping{Perm: libstate.Read}, addr>>16 == 3
}

func newParts(t *testing.T, threads ...unwind.ThreadID) Parts {
	t.Helper()
	p := &proc{threads: threads, regs: map[unwind.ThreadID]arch.RegSet{}}
	for _, id := range threads {
		var rs arch.RegSet
		rs.Set(arch.AMD64.PC, uint64(id)<<16)
		rs.Set(arch.AMD64.SP, 0x7000)
		p.regs[id] = rs
	}
	w, err := unwind.NewWalker(p, unwind.WithGroup(unwind.NewAddrRangeGroup()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return Parts{Proc: p, Walker: w}
}

func ids(r *report.Report) (out []int) {
	for _, t := range r.Threads {
		out = append(out, t.ID)
	}
	return out
}

func TestThreads(t *testing.T) {
	p := newParts(t, 9, 3, 12, 5)
	for _, c := range []struct {
		crashed int
		only    []unwind.ThreadID
		want    []int
	}{
		{0, nil, []int{3, 5, 9, 12}},
		{9, nil, []int{9, 3, 5, 12}},
		{12, nil, []int{12, 3, 5, 9}},
		{5, []unwind.ThreadID{12, 3, 77}, []int{3, 12}},
		{3, []unwind.ThreadID{12, 3}, []int{3, 12}},
		{0, []unwind.ThreadID{}, nil},
	} {
		if p.Signal = nil; c.crashed != 0 {
			p.Signal = &reason.Signal{Number: 11, TID: c.crashed}
		}
		r := NewEngine(p).Report(context.Background(), Options{Threads: c.only})
		if got := ids(r); !slices.Equal(got, c.want) {
			t.Errorf("crashed %d, only %v: %v, want %v", c.crashed, c.only, got, c.want)
		}
		if all := 4; len(c.want) == all && r.Dump.Threads != 0 || len(c.want) < all && r.Dump.Threads != all {
			t.Errorf("only %v: %d threads of the dump", c.only, r.Dump.Threads)
		}
		for _, th := range r.Threads {
			if th.Crashed != (th.ID == c.crashed) {
				t.Errorf("thread %d crashed: %v", th.ID, th.Crashed)
			}
		}
		if (r.Crash != nil) != (c.crashed != 0) || r.Crash != nil && r.Crash.Thread != c.crashed {
			t.Errorf("crash %+v", r.Crash)
		}
	}
}

func TestEndDetail(t *testing.T) {
	r := NewEngine(newParts(t, 2, 3)).Report(context.Background(), Options{})
	for i, want := range []string{"program counter 0x20000 is not mapped", "program counter 0x30000 is in memory that is not executable"} {
		if got := r.Threads[i]; got.End != "no-stepper" || got.EndDetail != want {
			t.Errorf("thread %d: %s, %q; want %q", got.ID, got.End, got.EndDetail, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := NewEngine(newParts(t, 1, 2, 3)).Report(ctx, Options{})
	if len(r.Threads) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != report.WarnCancelled {
		t.Errorf("threads %v, warnings %+v", ids(r), r.Warnings)
	}
}

// TestWorkLimit: when the budget is spent, the rest of the threads is left out, and the report says so.
func TestWorkLimit(t *testing.T) {
	p := newParts(t, 1, 2, 3)
	p.Budget = budget.Of(1)
	p.Budget.Spend(2)
	r := NewEngine(p).Report(t.Context(), Options{})
	if len(r.Threads) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != report.WarnLimit || r.Complete() {
		t.Errorf("threads %v, warnings %+v", ids(r), r.Warnings)
	}
}

// A variable is charged by its parts and its text.
func TestCostOfVariable(t *testing.T) {
	leaf := report.Data{Text: "1"}
	v := report.Variable{Name: "abcd", Type: "int", Value: strings.Repeat("1", 793), Data: &report.Data{Children: []report.Child{{Data: leaf}, {Data: leaf}}}}
	if got, want := costOf(&v), 4*variableCost+800/textPerUnit; got != want {
		t.Errorf("costs %d, not %d", got, want)
	}
}

// The names of frames are charged, although all of them may be the same bytes.
func TestTextCost(t *testing.T) {
	f := report.Frame{Function: strings.Repeat("f", 400), Symbol: "1234", Module: "5678", Source: report.Source{File: "abcd"}}
	if got, want := textCost([]report.Frame{f, f, {}}), 2*412/textPerUnit; got != want {
		t.Errorf("costs %d, not %d", got, want)
	}
}

func TestMappedAgain(t *testing.T) {
	node, copied := &libstate.Library{Path: "/bin/node", BuildID: []byte{1}}, &libstate.Library{Path: "/bin/node"}
	other, twice := &libstate.Library{Path: "/bin/other"}, &libstate.Library{Path: "/bin/other"}
	if again := mappedAgain([]*libstate.Library{copied, node, other, twice}); len(again) != 1 || !again[copied] {
		t.Errorf("%v", again)
	}
}
