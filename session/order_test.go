package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A question asks a Session something, and returns the answer in words.
type question struct {
	name string
	ask  func(*session.Session) string
}

// maxAsked is how many stacks of a fixture are asked about, and how many frames of each.
const (
	maxAsked       = 4
	maxAskedFrames = 12
)

// questionsOf makes the questions that a fixture's stacks can be asked.
func questionsOf(t *testing.T, s *session.Session) (list []question) {
	ctx := context.Background()
	stacks, err := s.Threads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if more, _, err := s.Tasks(ctx, 0, maxAsked); err == nil {
		stacks = append(stacks[:min(len(stacks), maxAsked)], more...)
	}
	for _, st := range stacks[:min(len(stacks), 2*maxAsked)] {
		find := func(s *session.Session) session.StackID {
			found, err := s.Find(ctx, st.Kind, st.Number)
			if err != nil {
				t.Errorf("%s %d: %v", st.Kind, st.Number, err)
			}
			return found.ID
		}
		for _, page := range [][2]int{{0, 3}, {2, 9}, {0, 64}, {40, 10}} {
			list = append(list, question{fmt.Sprint(st.Kind, " ", st.Number, " frames ", page), func(s *session.Session) string {
				frames, more, err := s.Frames(ctx, find(s), page[0], page[1])
				var b strings.Builder
				for i := range frames {
					f := &frames[i].Frame
					fmt.Fprintf(&b, "%d %d %#x %#x %s %s %v %s %v %v %v\n", f.Index, f.Physical, f.PC, f.SP, f.Module, f.Function, f.Source, f.Trust, f.Inlined, f.Tail, f.Folded)
				}
				fmt.Fprint(&b, more, err)
				return b.String()
			}})
		}
		n, _, _ := s.Frames(ctx, st.ID, 0, maxAskedFrames)
		for i := range n {
			list = append(list, question{fmt.Sprint(st.Kind, " ", st.Number, " variables of ", i), func(s *session.Session) string {
				return variablesOf(s, find(s), i)
			}})
		}
	}
	// Whoever has values cut short changes what is read of values meanwhile, and no report.
	list = append(list, question{"short values", func(s *session.Session) string {
		s.SetValues(dwarfvars.Options{MaxElements: 1, MaxString: 1})
		defer s.SetValues(dwarfvars.Options{})
		text := ""
		if len(stacks) > 0 {
			if found, err := s.Find(ctx, stacks[0].Kind, stacks[0].Number); err == nil {
				text = variablesOf(s, found.ID, 0)
			}
		}
		var b strings.Builder
		if r, err := s.Summary(ctx); err == nil {
			fmt.Fprintln(&b, report.WriteText(&b, r, report.TextOptions{Wide: true}))
		}
		return text + b.String()
	}}, question{"summary", func(s *session.Session) string {
		var b strings.Builder
		if r, err := s.Summary(ctx); err == nil {
			fmt.Fprintln(&b, report.WriteText(&b, r, report.TextOptions{Wide: true}))
		}
		return b.String()
	}})
	return append(list, question{"crash", func(s *session.Session) string {
		c, err := s.Crash(ctx)
		if c == nil {
			return fmt.Sprint(err)
		}
		var b strings.Builder
		fmt.Fprintln(&b, report.WriteJSON(&b, &report.Report{Crash: c}), err)
		return b.String()
	}})
}

// variablesOf returns the variables of a frame, and what their names mean there.
func variablesOf(s *session.Session, of session.StackID, index int) string {
	ctx := context.Background()
	frames, _, err := s.Frames(ctx, of, index, 1)
	if err != nil || len(frames) == 0 {
		return fmt.Sprint("no frame ", err)
	}
	scopes, err := s.Scopes(ctx, frames[0].ID)
	var b strings.Builder
	fmt.Fprintln(&b, err)
	for _, sc := range scopes {
		vars, more, err := s.Children(ctx, sc.Ref, 0, 64)
		fmt.Fprintln(&b, sc.Name, sc.Count, more, err)
		for _, v := range vars {
			fmt.Fprintln(&b, v.Name, v.Type, v.Value, v.Status, v.Reason, v.Entry, v.Location, v.Doubtful)
			if v.Status == report.StatusSuccess && v.Expression != "" {
				e, err := s.Evaluate(ctx, frames[0].ID, v.Expression)
				fmt.Fprintln(&b, e.Value, err)
			}
		}
	}
	return b.String()
}

// TestAnyOrder: no answer depends on what was asked before.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	first, end := 0, 1
	if fixture.IsLongRun() {
		first, end = fixture.Rounds(50)
	}
	for _, c := range fixture.Cases(t) {
		if strings.HasPrefix(c.Name, "amd64-recursion") && !fixture.IsLong(t) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			target := open(t, c)
			s := session.New(target, session.Options{})
			defer s.Close()
			if _, err := s.Threads(context.Background()); err != nil {
				t.Skip(err)
			}
			questions := questionsOf(t, s)
			fresh := session.New(target, session.Options{})
			defer fresh.Close()
			want := make([]string, len(questions))
			for i, q := range questions {
				want[i] = q.ask(fresh)
			}
			for round := first; round < end; round++ {
				other := session.New(target, session.Options{})
				var asked []string
				for _, i := range rand.New(rand.NewPCG(uint64(round), 7)).Perm(len(questions)) {
					asked = append(asked, questions[i].name)
					if got := questions[i].ask(other); got != want[i] {
						t.Errorf("round %d: after %q:\n%s\nfirst\n%s", round, asked[max(0, len(asked)-6):], got, want[i])
						break
					}
				}
				other.Close()
			}
		})
	}
}

// TestProcessors: a report is the same with one processor and with eight.
func TestProcessors(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, c := range fixture.Cases(t) {
		if strings.HasPrefix(c.Name, "amd64-recursion") && !fixture.IsLong(t) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			var first string
			for _, n := range []int{1, 8} {
				runtime.GOMAXPROCS(n)
				r, err := open(t, c).Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}})
				if err != nil {
					t.Skip(err)
				}
				var b strings.Builder
				if err := report.WriteJSON(&b, r); err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = b.String()
				} else if b.String() != first {
					t.Errorf("with %d processors it is another report", n)
				}
			}
		})
	}
}
