package session_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// open opens a fixture as its case.json says.
func open(t testing.TB, c fixture.Case) *corewalk.Target {
	t.Helper()
	opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir)}
	if exe := c.Binary(t); exe != "" {
		opts = append(opts, corewalk.WithExecutable(exe))
	}
	for i := 0; i+1 < len(c.Args); i += 2 {
		dir := filepath.Join(c.Dir, c.Args[i+1])
		switch c.Args[i] {
		case "--debug-dir":
			opts = append(opts, corewalk.WithDebugDir(dir))
		case "--search":
			opts = append(opts, corewalk.WithSearch(dir))
		}
	}
	target, err := corewalk.Open(context.Background(), c.Core(t), opts...)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	t.Cleanup(func() { target.Close() })
	return target
}

func start(t testing.TB, name string) *session.Session {
	t.Helper()
	s := session.New(open(t, fixture.Get(t, name)), session.Options{})
	t.Cleanup(s.Close)
	return s
}

// How many frames of a stack are compared, from each end.
const comparedFrames = 24

// Threads, frames and variables are those of a report, for all fixtures, whatever the size of the pages.
func TestSameAsReport(t *testing.T) {
	t.Parallel()
	frames, vars := 0, 0
	for _, c := range fixture.Cases(t) {
		if strings.HasPrefix(c.Name, "amd64-recursion") && !fixture.IsLong(t) {
			continue // all variables of thousands of frames
		}
		t.Run(c.Name, func(t *testing.T) {
			c.SampleOnly(t)
			target := open(t, c)
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}, NoTasks: true})
			if err != nil {
				t.Skip(err)
			}
			s := session.New(target, session.Options{})
			defer s.Close()
			threads, err := s.Threads(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(threads) != len(r.Threads) {
				t.Fatalf("%d threads, the report has %d", len(threads), len(r.Threads))
			}
			for i := range r.Threads {
				if threads[i].Number != uint64(r.Threads[i].ID) || threads[i].Name != r.Threads[i].Name || threads[i].Crashed != r.Threads[i].Crashed {
					t.Errorf("thread %d: %+v", r.Threads[i].ID, threads[i])
				}
				f, v := compareThread(t, s, threads[i].ID, &r.Threads[i])
				frames, vars = frames+f, vars+v
			}
		})
	}
	if frames < 2000 || vars < 800 { // 1,000 where the C library has no debug information
		t.Errorf("only %d frames and %d variables were compared", frames, vars)
	}
}

func compareThread(t *testing.T, s *session.Session, id session.StackID, want *report.Thread) (frames, vars int) {
	t.Helper()
	ctx := context.Background()
	at := 0
	for size := 3; ; size = 2*size + 1 {
		page, more, err := s.Frames(ctx, id, at, size)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range page {
			if at+i >= len(want.Frames) {
				t.Fatalf("thread %d has %d frames or more, the report %d", want.ID, at+i+1, len(want.Frames))
			}
			w := want.Frames[at+i]
			if at+i < comparedFrames || at+i >= len(want.Frames)-comparedFrames {
				vars += compareVariables(t, s, &f, &w)
			}
			w.Args, w.Locals = nil, nil
			if diff := cmp.Diff(w, f.Frame); diff != "" {
				t.Fatalf("thread %d, frame %d (-report +session):\n%s", want.ID, at+i, diff)
			}
		}
		if at += len(page); !more {
			break
		}
		if len(page) != size {
			t.Fatalf("thread %d: %d frames of %d, and more", want.ID, len(page), size)
		}
	}
	if at != len(want.Frames) {
		t.Errorf("thread %d has %d frames, the report %d", want.ID, at, len(want.Frames))
	}
	if end := s.End(id); end != want.EndDetail {
		t.Errorf("thread %d ends %q, the report %q", want.ID, end, want.EndDetail)
	}
	return at, vars
}

func compareVariables(t *testing.T, s *session.Session, f *session.Frame, want *report.Frame) (n int) {
	t.Helper()
	ctx := context.Background()
	scopes, err := s.Scopes(ctx, f.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]session.Variable{}
	for _, sc := range scopes {
		list, more, err := s.Children(ctx, sc.Ref, 0, 1<<20)
		if err != nil || more || len(list) != sc.Count {
			t.Fatalf("%s %s: %d of %d, more %v, %v", f.Function, sc.Name, len(list), sc.Count, more, err)
		}
		got[sc.Name] = list
	}
	for name, list := range map[string][]report.Variable{"Arguments": want.Args, "Locals": want.Locals} {
		if len(list) != len(got[name]) {
			t.Errorf("%s: %d %s, the report has %d", f.Function, len(got[name]), name, len(list))
			continue
		}
		for i := range list {
			w, g := &list[i], &got[name][i]
			if g.Name != w.Name || g.Type != w.Type || g.Value != w.Value || g.Status != w.Status || g.Reason != w.Reason || g.Entry != w.Entry || g.Location != w.Location {
				t.Errorf("%s, %s:\nreport  %+v\nsession %+v", f.Function, name, *w, *g)
			}
			n++
			if g.Expression == "" || g.Status != report.StatusSuccess || n > 12 {
				continue
			}
			e, err := s.Evaluate(ctx, f.ID, g.Expression)
			if err != nil || e.Value != g.Value {
				t.Errorf("%s: %s is %s, %v; want %s", f.Function, g.Expression, e.Value, err, g.Value)
			}
		}
	}
	return n
}

// The frame to look at first is the one that the report points to.
func TestFocus(t *testing.T) {
	for name, want := range map[string]string{"amd64-vars-c-O0": "stop", "amd64-abort": "", "amd64-threads": ""} {
		target := open(t, fixture.Get(t, name))
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := session.New(target, session.Options{})
		f, err := s.Focus(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if r.Crash != nil && r.Crash.Frame != nil && f.Index != *r.Crash.Frame {
			t.Errorf("%s: frame %d, the report points to %d", name, f.Index, *r.Crash.Frame)
		}
		if want != "" && f.Function != want {
			t.Errorf("%s: %s, want %s", name, f.Function, want)
		}
		s.Close()
	}
}

// Numbers that were never given are unknown, those of variables forgotten long ago expired; neither is a panic, and neither
// is another variable.
func TestRefs(t *testing.T) {
	ctx := context.Background()
	s := session.New(open(t, fixture.Get(t, "amd64-vars-c-O0")), session.Options{MaxRefs: 8})
	defer s.Close()
	for _, id := range []session.Ref{-1, 0, 1, 1 << 40} {
		if _, _, err := s.Children(ctx, id, 0, 1); !errors.Is(err, session.ErrUnknown) {
			t.Errorf("variable %d: %v", id, err)
		}
	}
	for _, id := range []session.FrameID{-1, 0, 1, 1 << 40} {
		if _, err := s.Scopes(ctx, id); !errors.Is(err, session.ErrUnknown) {
			t.Errorf("scopes of frame %d: %v", id, err)
		}
		if _, err := s.Evaluate(ctx, id, "1"); !errors.Is(err, session.ErrUnknown) {
			t.Errorf("evaluate in frame %d: %v", id, err)
		}
	}
	for _, id := range []session.StackID{-1, 0, 99} {
		if _, _, err := s.Frames(ctx, id, 0, 1); !errors.Is(err, session.ErrUnknown) {
			t.Errorf("stack %d: %v", id, err)
		}
	}
	f := frame(t, s, 2)
	first, err := s.Evaluate(ctx, f, "here")
	if err != nil || first.Ref == 0 {
		t.Fatal(first, err)
	}
	last := first
	for range 20 {
		if last, err = s.Evaluate(ctx, f, "p"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.Children(ctx, first.Ref, 0, 1); !errors.Is(err, session.ErrExpired) {
		t.Errorf("an old variable: %v", err)
	}
	list, _, err := s.Children(ctx, last.Ref, 0, 10)
	if err != nil || len(list) != 2 || list[0].Name != "x" || list[0].Value != "3" || list[0].Expression != "p.x" {
		t.Errorf("%+v, %v", list, err)
	}
}

func frame(t *testing.T, s *session.Session, n int) session.FrameID {
	t.Helper()
	threads, err := s.Threads(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := s.Frames(context.Background(), threads[0].ID, n, 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0].ID
}

// Numbers stay the same, and no question is answered once its context is done.
func TestStable(t *testing.T) {
	s := start(t, "amd64-threads")
	a, b := frame(t, s, 1), frame(t, s, 1)
	if a != b {
		t.Errorf("the frame is %d, then %d", a, b)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ask := range map[string]func() error{
		"threads":  func() error { _, err := s.Threads(ctx); return err },
		"tasks":    func() error { _, _, err := s.Tasks(ctx, 0, 1); return err },
		"scopes":   func() error { _, err := s.Scopes(ctx, a); return err },
		"evaluate": func() error { _, err := s.Evaluate(ctx, a, "1"); return err },
		"memory":   func() error { _, err := s.ReadMemory(ctx, 0, 1); return err },
		"summary":  func() error { _, err := s.Summary(ctx); return err },
		"at":       func() error { _, err := s.At(ctx, 0); return err },
		"code":     func() error { _, err := s.Disassemble(ctx, 0, 1, 1); return err },
		"focus":    func() error { _, err := s.Focus(ctx); return err },
		"info":     func() error { _, err := s.Info(ctx); return err },
		"find":     func() error { _, err := s.Find(ctx, "thread", 1); return err },
	} {
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is at an address: code, a variable's place on the stack, a library, nothing.
func TestAt(t *testing.T) {
	ctx := context.Background()
	s := start(t, "amd64-vars-c-O0")
	f := frame(t, s, 2)
	v, err := s.Evaluate(ctx, f, "here")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.At(ctx, v.Address)
	if err != nil || p.Thread == 0 || p.Frame == nil || *p.Frame != 2 || p.Variable != "here.next" {
		t.Errorf("here: %+v, %v", p, err)
	}
	pc, err := s.Evaluate(ctx, f, "(unsigned long)$pc")
	if err != nil {
		t.Fatal(err)
	}
	var addr uint64
	fmt.Sscan(pc.Value, &addr)
	p, err = s.At(ctx, addr)
	if err != nil || p.Function != "records" || p.FunctionOffset == 0 || filepath.Base(p.Module) != "vars" {
		t.Errorf("pc: %v, %v", p, err)
	}
	if p, err = s.At(ctx, 16); err != nil || p.Mapping != nil || p.String() != "0x10 is in no memory that the process had" {
		t.Errorf("null: %v, %v", p, err)
	}
	list, err := s.Disassemble(ctx, addr, 2, 3)
	if err != nil || len(list) != 5 || uint64(list[2].Address) != addr || !list[2].Here || !strings.HasPrefix(list[2].Symbol, "records+") {
		t.Errorf("%+v, %v", list, err)
	}
	b, err := s.ReadMemory(ctx, v.Address, int(v.Size))
	if err != nil || len(b) != 48 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := s.ReadMemory(ctx, 16, 4); err == nil {
		t.Error("memory at null")
	}
}

// The tasks of a page are listed without those after it, and have frames and variables.
func TestTasks(t *testing.T) {
	ctx := context.Background()
	s := start(t, "amd64-go-nil")
	all, more, err := s.Tasks(ctx, 0, 1000)
	if err != nil || more {
		t.Fatal(all, more, err)
	}
	if len(all) == 0 {
		t.Skip("the fixture has no parked goroutine of its own")
	}
	for i := range all {
		page, _, err := s.Tasks(ctx, i, 1)
		if err != nil || len(page) != 1 || page[0] != all[i] {
			t.Errorf("task %d: %+v, %v", i, page, err)
		}
	}
	frames, _, err := s.Frames(ctx, all[0].ID, 0, 5)
	if err != nil || len(frames) == 0 {
		t.Errorf("%+v, %v", frames, err)
	}
	if found, err := s.FindTask(ctx, all[0].Number); err != nil || found != all[0] {
		t.Errorf("%+v, %v", found, err)
	}
}

// many is a runtime of a hundred thousand tasks, all of which are where the process crashed.
type many struct {
	at    arch.RegSet
	lists int // how often it was asked
	given int // how many tasks it gave
}

func (m *many) Name() string { return "many" }

func (m *many) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	m.lists++
	return func(yield func(*tasks.Task, error) bool) {
		for i := range uint64(100_000) {
			m.given++
			t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: i}, Runtime: "many", Thread: unwind.NullThread, Start: &tasks.Start{Regs: m.at}}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Of many tasks those of a page are made, and none again for the frames of one.
func TestManyTasks(t *testing.T) {
	ctx := context.Background()
	target := open(t, fixture.Get(t, "amd64-vars-c-O0"))
	died, _ := target.Died()
	m := &many{}
	s := session.New(target, session.Options{Runtimes: []tasks.Finder{func(p *tasks.Process) (tasks.Runtime, error) {
		regs, err := p.State.Registers(died)
		m.at = regs
		return m, err
	}}})
	defer s.Close()
	list, more, err := s.Tasks(ctx, 0, 50)
	if err != nil || len(list) != 50 || !more {
		t.Fatal(len(list), more, err)
	}
	crashed, _ := s.Threads(ctx)
	want, _, _ := s.Frames(ctx, crashed[0].ID, 0, 3)
	for _, st := range list[40:] {
		frames, _, err := s.Frames(ctx, st.ID, 0, 3)
		if err != nil || len(frames) != 3 {
			t.Fatal(len(frames), err)
		}
		for i := range frames {
			if frames[i].PC != want[i].PC || frames[i].Function != want[i].Function || frames[i].Function == "" {
				t.Errorf("frame %d of %d: %+v", i, st.Number, frames[i])
			}
		}
		if vars, err := s.Scopes(ctx, frames[1].ID); err != nil || len(vars) == 0 {
			t.Error(vars, err)
		}
	}
	if m.lists != 1 || m.given > 51 {
		t.Errorf("%d tasks of %d lists were made for a page of 50", m.given, m.lists)
	}
}
