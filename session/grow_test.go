package session_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// counting is a runtime whose only call has a list of the numbers below a thousand, a map of them, and a list in a list.
type counting struct {
	read   int
	limits []tasks.Limits // with which its variables were read
}

const (
	listAt, mapAt, nestAt = 0x1000, 0x2000, 0x3000
	counted               = 1000
)

func (*counting) Name() string { return "counting" }

func (*counting) Tasks(context.Context) iter.Seq2[*tasks.Task, error] {
	return func(func(*tasks.Task, error) bool) {}
}

func (c *counting) Stretches(_ context.Context, _ unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	variable := func(name string, at unwind.Address) tasks.SuspendedVariable {
		return tasks.SuspendedVariable{Name: name, Type: "list", Address: at, Tree: func() report.Data { return c.value(at, 3, 1) }}
	}
	return []tasks.Stretch{{From: 1, To: 2, Calls: []tasks.Call{{Language: "count", Function: "count", Variables: func(_ bool, l tasks.Limits) (args, own []tasks.SuspendedVariable) {
		c.limits = append(c.limits, l)
		return []tasks.SuspendedVariable{variable("list", listAt), variable("map", mapAt), variable("nest", nestAt)}, nil
	}}}}}, nil
}

// ValueAt implements tasks.Valuer.
func (c *counting) ValueAt(at unwind.Address, l tasks.Limits) (report.Data, bool) {
	c.read++
	return c.value(at, l.Elements, l.Depth), at == listAt || at == mapAt || at == nestAt
}

func (c *counting) value(at unwind.Address, n, depth int) report.Data {
	v := report.Data{Kind: "sequence", Type: "list", Address: report.Addr(at)}
	if at == nestAt {
		if v.Truncated = depth == 0; !v.Truncated {
			v.Children = []report.Child{{Name: "list", Data: c.value(listAt, min(n, 3), depth)}, {Name: "in", Data: c.value(nestAt, n, depth-1)}}
		}
		return v
	}
	for i := range min(n, counted) {
		p := report.Child{Data: report.Data{Kind: "int", Text: strconv.Itoa(i)}}
		if at == mapAt {
			p.Key = &report.Data{Kind: "string", Text: `"k` + strconv.Itoa(i) + `"`}
		}
		v.Children = append(v.Children, p)
	}
	v.Truncated = n < counted
	return v
}

// TestSetValues: what is set of values counts for languages, too, also for frames whose variables have been read, and no longer than it is set.
func TestSetValues(t *testing.T) {
	ctx := context.Background()
	rt := &counting{}
	s := session.New(open(t, fixture.Get(t, "amd64-pie")), session.Options{Runtimes: []tasks.Finder{func(*tasks.Process) (tasks.Runtime, error) { return rt, nil }}})
	defer s.Close()
	threads, err := s.Threads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 2, 2, 0} {
		s.SetValues(dwarfvars.Options{MaxElements: want})
		frames, _, err := s.Frames(ctx, threads[0].ID, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		rt.limits = nil
		for _, f := range frames {
			if f.Language == "count" {
				if _, err := s.Scopes(ctx, f.ID); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Evaluate(ctx, f.ID, "list[0]"); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, l := range rt.limits {
			if l.Elements != want {
				t.Errorf("%d elements were read, %d are set", l.Elements, want)
			}
		}
		if again := i != 2; (len(rt.limits) > 0) != again { // the third time nothing else is set
			t.Errorf("the variables were read %d times with %d elements", len(rt.limits), want)
		}
	}
}

// TestGrow: what a report leaves out of values of languages is read when somebody asks for it, and what is shown of the values is the same
// afterwards.
func TestGrow(t *testing.T) {
	ctx := context.Background()
	rt := &counting{}
	s := session.New(open(t, fixture.Get(t, "amd64-pie")), session.Options{Runtimes: []tasks.Finder{func(*tasks.Process) (tasks.Runtime, error) { return rt, nil }}})
	defer s.Close()
	threads, err := s.Threads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	frames, _, err := s.Frames(ctx, threads[0].ID, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var at session.FrameID
	for _, f := range frames {
		if f.Language == "count" {
			at = f.ID
		}
	}
	scopes, err := s.Scopes(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	vars, _, err := s.Children(ctx, scopes[0].Ref, 0, 10)
	if err != nil || len(vars) != 3 {
		t.Fatalf("%+v, %v", vars, err)
	}
	page := func(first, n int) string {
		list, more, err := s.Children(ctx, vars[0].Ref, first, n)
		var b strings.Builder
		for _, v := range list {
			b.WriteString(v.Name + "=" + v.Value + " ")
		}
		if err != nil {
			b.WriteString(err.Error())
		}
		if more {
			b.WriteString("more")
		}
		return b.String()
	}
	for _, c := range []struct {
		first, n int
		want     string
	}{
		{0, 3, "[0]=0 [1]=1 [2]=2 more"}, {0, 2, "[0]=0 [1]=1 more"}, {500, 2, "[500]=500 [501]=501 more"}, {998, 5, "[998]=998 [999]=999 "},
		{998, 2, "[998]=998 [999]=999 "}, {1000, 5, ""}, {1 << 40, 5, ""}, {0, 3, "[0]=0 [1]=1 [2]=2 more"},
	} {
		if got := page(c.first, c.n); got != c.want {
			t.Errorf("%d from %d on: %q, want %q", c.n, c.first, got, c.want)
		}
	}
	var parts []string
	for _, v := range vars {
		list, _, err := s.Children(ctx, v.Ref, 0, 2)
		if err != nil || len(list) == 0 {
			t.Fatal(v.Name, err)
		}
		for _, p := range list {
			parts = append(parts, fmt.Sprintf("%s %s %#x %v opens %v", p.Name, p.Expression, p.Address, p.HasAddress, p.Ref != 0))
		}
	}
	want := []string{"[0] list[0] 0x0 false opens false", "[1] list[1] 0x0 false opens false", `["k0"] map["k0"] 0x0 false opens false`, `["k1"] map["k1"] 0x0 false opens false`,
		"list nest.list 0x1000 true opens true", "in nest.in 0x3000 true opens true"}
	if !slices.Equal(parts, want) {
		t.Errorf("parts\n%s\nwant\n%s", strings.Join(parts, "\n"), strings.Join(want, "\n"))
	}
	read := rt.read
	for range 5 {
		page(500, 100)
	}
	if rt.read != read {
		t.Errorf("what is known was read again %d times", rt.read-read)
	}
	for _, c := range []struct{ expr, want string }{
		{"list[2]", "2"}, {"list[999]", "999"}, {"list[-1]", "999"}, {"list[1000]", "it has no element 1000: it has 1000"}, {`map["k2"]`, "2"}, {`map["k987"]`, "987"},
		{`map["none"]`, `it has no element with the key "none"`}, {"nest.in.in.in.in.in.list[700]", "700"}, {"nest.none", "it has no attribute none"},
	} {
		v, err := s.Evaluate(ctx, at, c.expr)
		got := v.Value
		var wrong interface{ Unwrap() error }
		if errors.As(err, &wrong) {
			got = wrong.Unwrap().Error()
		}
		if got != c.want {
			t.Errorf("%s is %q, %v, want %q", c.expr, got, err, c.want)
		}
	}
	again, _, err := s.Children(ctx, scopes[0].Ref, 0, 10)
	if err != nil || again[0].Value != vars[0].Value || again[2].Value != vars[2].Value {
		t.Errorf("%+v, %v, first %+v", again, err, vars)
	}
}
