package analysis

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// crashQuestions ask for each fact of a crash, and tell the answer in words.
var crashQuestions = []struct {
	name string
	ask  func(context.Context, *crash) string
}{
	{"top", func(_ context.Context, c *crash) string { return fmt.Sprint(c.top() == nil) }},
	{"stop", func(_ context.Context, c *crash) string {
		why := &c.stop().why
		return fmt.Sprintf("%#x %v %s", c.stop().inst.PC, c.stop().regs, asJSON(&report.Crash{Kind: why.Kind, Reason: why.Text, Accesses: why.Accesses, BitFlips: why.BitFlips, Causes: why.Causes}))
	}},
	{"goEnd", func(_ context.Context, c *crash) string { return fmt.Sprintf("%+v", c.goEnd()) }},
	{"handled", func(_ context.Context, c *crash) string {
		if c.handled() == nil {
			return ""
		}
		return fmt.Sprint(c.handled().physical, c.handled().text)
	}},
	{"own", func(_ context.Context, c *crash) string { return faultText(c.own()) }},
	{"words", func(_ context.Context, c *crash) string {
		w := c.words()
		return fmt.Sprint(w.told, asJSON(&report.Crash{Message: w.Message, Reason: w.Reason, MessageSource: w.Source, Thrown: thrown(w.Thrown), Raised: c.handling(w.Handling, w.Sure)}), w.Raised, w.Stack, w.Finding)
	}},
	{"goFault", func(_ context.Context, c *crash) string { return faultText(c.goFault()) }},
	{"nilMap", func(_ context.Context, c *crash) string { return fmt.Sprint(c.nilMap()) }},
	{"goDivisor", func(_ context.Context, c *crash) string { return fmt.Sprint(c.goDivisor()) }},
	{"goBounds", func(_ context.Context, c *crash) string { return fmt.Sprint(c.goBounds()) }},
	{"goRefused", func(_ context.Context, c *crash) string { return fmt.Sprint(c.goRefused()) }},
	{"goNamed", func(_ context.Context, c *crash) string { return fmt.Sprint(c.goNamed()) }},
	{"caught", func(_ context.Context, c *crash) string {
		k := c.caught()
		if k == nil {
			return ""
		}
		return fmt.Sprint(k.verdict, k.from, k.frame, faultText(k.fault))
	}},
	{"fault", func(_ context.Context, c *crash) string { return faultText(c.fault()) }},
	{"verdict", func(_ context.Context, c *crash) string { return fmt.Sprint(c.verdict()) }},
	{"noticed", func(_ context.Context, c *crash) string { return numberText(c.noticed()) }},
	{"frame", func(_ context.Context, c *crash) string { return numberText(c.frame()) }},
	{"overflow", func(_ context.Context, c *crash) string { return asJSON(&report.Crash{Overflow: c.overflow()}) }},
	{"causes", func(_ context.Context, c *crash) string { return asJSON(&report.Crash{Causes: c.causes()}) }},
	{"shown", func(ctx context.Context, c *crash) string {
		s := c.shown(ctx)
		return fmt.Sprint(numberText(s.frame), s.warnings, writtenAs(&report.Report{Threads: []report.Thread{s.thread}}))
	}},
	{"raised", func(ctx context.Context, c *crash) string { return asJSON(&report.Crash{Raised: c.raised(ctx)}) }},
	{"memory", func(ctx context.Context, c *crash) string { return writtenAs(&report.Report{Memory: c.memory(ctx)}) }},
	{"received first", func(ctx context.Context, c *crash) string { return fmt.Sprint(c.receivedFirst(ctx, nil)) }},
	{"report", func(ctx context.Context, c *crash) string { return asJSON(c.report(ctx, c.verdict())) }},
}

func numberText(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

func faultText(f *fault) string {
	if f == nil {
		return ""
	}
	return fmt.Sprint(f.argument, asJSON(&report.Crash{Kind: f.why.Kind, Reason: f.why.Text, Address: f.address, Instruction: f.instruction, Blame: f.blame, Causes: f.causes}))
}

func asJSON(c *report.Crash) string { return writtenAs(&report.Report{Crash: c}) }

func writtenAs(r *report.Report) string {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		return err.Error()
	}
	return b.String()
}

// doom is a language that a frame executes. It knows of an exception only when it has seen the stack.
type doom struct{ seen bool }

func (*doom) Name() string { return "doom" }
func (*doom) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

func (d *doom) Stretches(_ context.Context, _ unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	d.seen = true
	from := min(1, len(frames))
	return []tasks.Stretch{{From: from, To: min(3, len(frames)), Calls: []tasks.Call{{Language: "doom", Function: "a"}, {Language: "doom", Function: "b"}}}}, nil
}

func (d *doom) Raised(unwind.ThreadID) []tasks.Exception {
	if !d.seen {
		return nil
	}
	return []tasks.Exception{{Language: "doom", Type: "Fear"}}
}

// An openedCase is a fixture with the files of its modules.
type openedCase struct {
	s      subject.Subject
	images *modules.Set
	lookup *symlookup.Lookup
}

func openCase(t *testing.T, c fixture.Case) *openedCase {
	t.Helper()
	s, err := subject.OpenDump(t.Context(), c.Core(t))
	if s == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	files := []modules.Option{modules.WithSysroot(c.Sysroot(t)), modules.WithExecutable(c.Binary(t)), modules.WithDebugDir(t.TempDir()), modules.WithSearch(c.Dir)}
	if a := s.Arch(); a != nil {
		files = append(files, modules.WithMachine(a.Name))
	}
	o := &openedCase{s: s}
	if o.images, err = modules.New(t.Context(), s.DumpMemory(), files...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.images.Close() })
	s.BuildLibraries(o.images)
	s.SetBacking(o.images)
	o.lookup = symlookup.New(s.LibraryTracker(), o.images)
	return o
}

// crash returns the crash of a new Engine, of which nothing has been asked; nil if the process did not die. A language has executed a part of the
// stack if one is given. Elsewhere leaves out the thread.
func (o *openedCase) crash(t *testing.T, language, elsewhere bool) *crash {
	t.Helper()
	group, err := steppers.DefaultGroup(o.s.Arch(), o.images)
	if err != nil {
		t.Skip(err)
	}
	w, err := unwind.NewWalker(o.s, unwind.WithGroup(group), unwind.WithSymbolLookup(o.lookup), unwind.WithSymbolReader(o.lookup))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	p := Parts{Proc: o.s, Walker: w, Dump: o.s.Describe(), Signal: subject.Signal(o.s, o.s), Exception: o.s.Exception(), Numbers: subject.Numbering(o.s),
		Blocked: o.s.Blocked, Files: o.images, PartialMaps: !o.s.KnowsMappings(), Variables: dwarfvars.New(o.s, o.images)}
	p.Assertion, p.Recorded = o.s.Words()
	if language {
		p.Found = []tasks.Runtime{&doom{}}
	}
	in := NewEngine(p).question(Options{NoTasks: true, Needs: report.Whole{Trees: true}.Needs()})
	if elsewhere || in.died() == unwind.NullThread {
		return in.diedElsewhere()
	}
	return in.diedIn(t.Context(), &naming{question: in, crashed: true}, in.walk(t.Context(), in.died()))
}

// TestCrashInAnyOrder: no fact of a crash depends on which others were asked for before.
func TestCrashInAnyOrder(t *testing.T) {
	t.Parallel()
	often := []string{"amd64-raised-handler", "amd64-raised-full", "amd64-go-nil", "amd64-go-cgo", "amd64-handler-crash", "amd64-signal-altstack", "amd64-cxx-uncaught", "amd64-passed-O2", "amd64-null-call"}
	if names := fixture.Cases(t); slices.ContainsFunc(often, func(n string) bool {
		return !slices.ContainsFunc(names, func(c fixture.Case) bool { return c.Name == n })
	}) {
		t.Error("a fixture is gone")
	}
	for _, c := range append(fixture.Cases(t), fixture.Minidumps(t)...) {
		rounds := 2
		if slices.Contains(often, c.Name) {
			rounds = 50
		} else if !fixture.IsLong(t) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := openCase(t, c)
			for _, how := range []struct{ language, elsewhere bool }{{}, {language: true}, {elsewhere: true}} {
				if o.crash(t, how.language, how.elsewhere) == nil {
					return
				}
				want := make([]string, len(crashQuestions)) // each asked alone
				for i, q := range crashQuestions {
					want[i] = q.ask(t.Context(), o.crash(t, how.language, how.elsewhere))
				}
				for round := range rounds {
					c := o.crash(t, how.language, how.elsewhere)
					var asked []string
					for _, i := range rand.New(rand.NewPCG(uint64(round), 7)).Perm(len(crashQuestions)) {
						if got := crashQuestions[i].ask(t.Context(), c); got != want[i] {
							t.Fatalf("%+v: %s after %q:\n%s\nalone\n%s", how, crashQuestions[i].name, asked, got, want[i])
						}
						asked = append(asked, crashQuestions[i].name)
					}
				}
			}
		})
	}
}
