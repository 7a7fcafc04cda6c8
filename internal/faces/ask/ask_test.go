package ask_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces/ask"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/reportpage"
	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// asked asks questions, all of one session, or each of a session of its own.
func asked(t *testing.T, name string, questions ...question.Question) (answers []question.Answer) {
	t.Helper()
	c := fixture.Get(t, name)
	target, err := corewalk.Open(t.Context(), c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir), corewalk.WithSourceMap("/src", filepath.Join(fixture.Root(t), "testdata", "src")))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	return askedOf(t, target, questions...)
}

// askedOf asks about what is open.
func askedOf(t *testing.T, target *corewalk.Target, questions ...question.Question) (answers []question.Answer) {
	t.Helper()
	s := session.New(target, session.Options{})
	defer s.Close()
	var in, out bytes.Buffer
	for _, q := range questions {
		b, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(b, '\n'))
	}
	if err := ask.Serve(t.Context(), &in, &out, s, time.Minute); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var a question.Answer
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(answers), len(questions))
	}
	return answers
}

// tree asks about everything in the first stacks of a dump down to a depth, and returns the questions.
func tree(t *testing.T, name string, depth int) (all []question.Question) {
	t.Helper()
	next := []question.Question{{Ask: question.Stacks, Count: 4}}
	for len(next) > 0 {
		answers := asked(t, name, next...)
		var more []question.Question
		for i, a := range answers {
			q := next[i]
			if a.Error != "" {
				t.Fatalf("%+v: %s", q, a.Error)
			}
			switch q.Ask {
			case question.Stacks:
				for n := range a.Stacks {
					more = append(more, question.Question{Ask: question.Frames, Stack: n, Count: 4})
				}
			case question.Frames:
				for n := range a.Frames {
					more = append(more, question.Question{Ask: question.Variables, Stack: q.Stack, Frame: n, Count: 20})
				}
			case question.Variables:
				add := func(path []int, list []question.Variable) {
					for n, v := range list {
						if v.Parts && len(path) < depth {
							more = append(more, question.Question{Ask: question.Variables, Stack: q.Stack, Frame: q.Frame, Path: append(slices.Clone(path), n), Count: 5})
						}
					}
				}
				for n, g := range a.Groups {
					add([]int{n}, g.Variables)
				}
				add(q.Path, a.Variables)
			}
		}
		all = append(all, next...)
		next = more
	}
	return all
}

// What is asked says where it is: in another session, and in any order, the answer is the same.
func TestPlaces(t *testing.T) {
	for _, name := range []string{"amd64-vars-c-O0", "amd64-go-nil", "aarch64-threads"} {
		t.Run(name, func(t *testing.T) {
			all := tree(t, name, 3)
			want := asked(t, name, all...)
			order := rand.New(rand.NewPCG(1, 2)).Perm(len(all))
			var mixed []question.Question
			for _, n := range order {
				mixed = append(mixed, all[n])
			}
			got := asked(t, name, mixed...)
			variables := 0
			for i, n := range order {
				if diff := cmp.Diff(want[n], got[i]); diff != "" {
					t.Errorf("%+v: %s", all[n], diff)
				}
				variables += len(want[n].Variables)
			}
			alone := 3
			if fixture.IsLong(t) {
				alone = 12
			}
			for _, n := range order[:min(len(order), alone)] { // of a session that was asked nothing else
				if diff := cmp.Diff(want[n], asked(t, name, all[n])[0]); diff != "" {
					t.Errorf("%+v: %s", all[n], diff)
				}
			}
			t.Logf("%d questions, %d variables", len(all), variables)
			if name == "amd64-vars-c-O0" && variables < 100 {
				t.Errorf("%d variables", variables)
			}
		})
	}
}

// A list in pages is the whole list.
func TestPages(t *testing.T) {
	for name, q := range map[string]question.Question{
		"stacks": {Ask: question.Stacks}, "frames": {Ask: question.Frames}, "variables": {Ask: question.Variables, Frame: 1, Path: []int{1}},
	} {
		for _, dump := range []string{"amd64-vars-c-O0", "amd64-go-nil"} {
			if dump == "amd64-go-nil" && name == "variables" {
				continue
			}
			q.First, q.Count = 0, 500
			whole := asked(t, dump, q)[0]
			count := func(a question.Answer) int { return len(a.Stacks) + len(a.Frames) + len(a.Variables) }
			if whole.Error != "" || whole.More || count(whole) < 1 {
				t.Fatalf("%s of %s: %+v", name, dump, whole)
			}
			q.Count = 1
			var one []question.Question
			for range count(whole) {
				one = append(one, q)
				q.First++
			}
			var sum question.Answer
			for i, a := range asked(t, dump, one...) {
				if count(a) != 1 || a.More != (i < len(one)-1) && name != "stacks" { // whether tasks follow is known when they were looked for
					t.Errorf("%s of %s, from %d on: %+v", name, dump, i, a)
				}
				sum.Stacks, sum.Frames, sum.Variables = append(sum.Stacks, a.Stacks...), append(sum.Frames, a.Frames...), append(sum.Variables, a.Variables...)
			}
			whole.End = ""
			if diff := cmp.Diff(whole, sum); diff != "" {
				t.Errorf("%s of %s: %s", name, dump, diff)
			}
		}
	}
}

// The crash, the source around a frame, registers.
func TestAbout(t *testing.T) {
	answers := asked(t, "amd64-vars-c-O0", question.Question{Ask: question.About}, question.Question{Ask: question.Variables, Frame: 1, Count: 1}, question.Question{Ask: question.Variables, Frame: 1, Path: []int{2}, Count: 500})
	var r struct {
		Dump    struct{ Path, Command string }
		Crash   struct{ Reason string }
		Threads []report.Thread
		Modules []report.Module
	}
	if err := json.Unmarshal(answers[0].About, &r); err != nil || r.Crash.Reason != "write of 4 bytes at null" || r.Dump.Command != "vars" || r.Dump.Path != "" || len(r.Threads)+len(r.Modules) > 0 {
		t.Errorf("%v %+v", err, r)
	}
	a := answers[1]
	if len(a.Groups) != 3 || len(a.Groups[0].Variables) != 1 || !a.Groups[0].More || a.Groups[2].Name != "Registers" || a.Groups[2].Variables != nil || a.Groups[2].Count == 0 {
		t.Errorf("%+v", a.Groups)
	}
	if a.Source == nil || a.Source.Line != 91 || len(a.Source.Lines) != 9 || a.Source.First != 87 || !strings.Contains(a.Source.Lines[4], "stop(") {
		t.Errorf("%+v", a.Source)
	}
	if list := answers[2].Variables; !slices.ContainsFunc(list, func(v question.Variable) bool { return v.Name == "rip" }) {
		t.Errorf("%+v", list)
	}
}

// Who waits for whom, and memory, are what the page of one file draws.
func TestDrawn(t *testing.T) {
	t.Run("a circle", func(t *testing.T) {
		target, err := corewalk.Open(t.Context(), fixture.Crash(t, nil, fixture.Compile(t, "gcc", "tasks/deadlock.c", "-g", "-O1", "-pthread"), "pi", "3"))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		var list []reportpage.Drawing
		answers := askedOf(t, target, question.Question{Ask: question.About})
		if err := json.Unmarshal(answers[0].Waits, &list); err != nil || len(list) == 0 || len(list[0].Boxes) != 3 || len(list[0].Arrows) != 3 || !list[0].Boxes[0].Ring || !strings.Contains(list[0].Lines[0], " waits for ") {
			t.Errorf("%v %s", err, answers[0].Waits)
		}
	})
	answers := asked(t, "amd64-vars-c-O0", question.Question{Ask: question.About}, question.Question{Ask: question.Memory}, question.Question{Ask: question.Memory})
	var areas []reportpage.Area
	if err := json.Unmarshal(answers[1].Memory, &areas); err != nil || len(areas) < 1 || answers[0].Waits != nil || string(answers[1].Memory) != string(answers[2].Memory) {
		t.Fatalf("%v %.1000s", err, answers[1].Memory)
	}
	whole := false // a row of 16 bytes
	for _, a := range areas {
		for _, r := range a.Rows {
			whole = whole || len(r.Bytes) == 48 && len(r.Text) == 16
		}
	}
	if !whole || areas[0].Names == "" || !strings.HasPrefix(areas[0].Address, "0x") {
		t.Errorf("%+v", areas[0])
	}
}

// Questions about what is not there have an error, whatever they say.
func TestNowhere(t *testing.T) {
	path := func(n ...int) []int { return n }
	var all []question.Question
	for _, n := range []int{-1, 1 << 20, 1 << 30, math.MinInt} {
		all = append(all, question.Question{Ask: question.Frames, Stack: n, Count: 1}, question.Question{Ask: question.Variables, Stack: n}, question.Question{Ask: question.Variables, Frame: n},
			question.Question{Ask: question.Variables, Frame: 1, Path: path(n)}, question.Question{Ask: question.Variables, Frame: 1, Path: path(0, n)}, question.Question{Ask: question.Variables, Frame: 1, Path: path(0, 0, 0, n)})
	}
	all = append(all, question.Question{}, question.Question{Ask: "x"}, question.Question{Ask: question.Variables, Path: make([]int, question.MaxPath+1)}, question.Question{Ask: question.Variables, Frame: 1, Path: path(0, 0, 0)})
	for i, a := range asked(t, "amd64-vars-c-O0", all...) {
		if a.Error == "" || fmt.Sprint(a.Stacks, a.Frames, a.Groups, a.Variables) != "[] [] [] []" {
			t.Errorf("%+v: %+v", all[i], a)
		}
	}
	for i, a := range asked(t, "amd64-vars-c-O0", question.Question{Ask: question.Stacks, First: -5, Count: -5}, question.Question{Ask: question.Stacks, First: 1 << 30, Count: 1 << 30}) {
		if a.Error != "" || len(a.Stacks) != 0 {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

// What is no question is answered with an error, and those after it are answered.
func TestNoQuestions(t *testing.T) {
	c := fixture.Get(t, "amd64-vars-c-O0")
	target, err := corewalk.Open(t.Context(), c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithSearch(c.Dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	s := session.New(target, session.Options{})
	defer s.Close()
	wrong := []string{"", "{", "[]", "5", "\x00", "null", "{}", `{"ask":"frames","stack":"a"}`, `{"ask":5}`, `{"ask":"stacks","first":1e300}`, `{"ask":"variables","path":{}}`, `{"ask":"variables","path":[9223372036854775807]}`,
		`{"ask":"frames","stack":9223372036854775807,"count":1}`, `{"ask":"frames","stack":-9223372036854775808,"count":1}`, `{"ask":"variables","path":[0,9223372036854775807],"count":1}`,
		`{"ask":"variables","frame":9223372036854775807}`}
	fine := []string{`{"ask":"frames","first":9223372036854775807,"count":9223372036854775807}`, `{"ask":"stacks","first":9223372036854775807,"count":5}`, `{"ask":"variables","path":[0],"first":9223372036854775807,"count":5}`, `{"ask":"stacks","count":5}`}
	var out bytes.Buffer
	if err := ask.Serve(t.Context(), strings.NewReader(strings.Join(append(wrong, fine...), "\n")+"\n"), &out, s, time.Minute); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(out.Bytes()) {
		var a question.Answer
		if err := json.Unmarshal(line, &a); err != nil || (a.Error == "") != (n >= len(wrong)) || a.More {
			t.Errorf("answer %d: %v, %s", n, err, line)
		}
		n++
	}
	if n != len(wrong)+len(fine) {
		t.Errorf("%d answers", n)
	}
}
