package similar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func frames(s string) []string { return strings.Fields(s) }

func TestScore(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		low, top float64
	}{
		{"a b c main", "a b c main", 1, 1},
		{"a b c main", "", 0, 0},
		{"", "", 0, 0},
		{"a b c", "x y z", 0, 0},
		{"a b c main", "a b c other", 0.8, 0.99},   // they differ far from the top
		{"a b c main", "x b c main", 0.3, 0.75},    // they differ at the top
		{"a b c d main", "a c d main", 0.75, 0.95}, // one lacks a call
		{"a b c main", "main c b a", 0.01, 0.5},    // the order matters
	} {
		got := Score(frames(c.a), frames(c.b))
		if got < c.low || got > c.top {
			t.Errorf("Score(%q, %q) = %.3f, want %.2f to %.2f", c.a, c.b, got, c.low, c.top)
		}
		if back := Score(frames(c.b), frames(c.a)); back != got {
			t.Errorf("Score(%q, %q) = %.3f, and %.3f the other way", c.a, c.b, got, back)
		}
	}
	if near, far := Score(frames("x a b c"), frames("y a b c")), Score(frames("a b c x"), frames("a b c y")); near >= far {
		t.Errorf("a difference at the top: %.3f; at the bottom: %.3f", near, far)
	}
}

// TestScoreBounds: scores are between 0 and 1, symmetric, and 1 for equal stacks, for stacks of every length.
func TestScoreBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []string {
		out := make([]string, r.IntN(3*maxFrames))
		for i := range out {
			out[i] = fmt.Sprint("f", r.IntN(12))
		}
		return out
	}
	for range 2000 {
		a, b := random(), random()
		s := Score(a, b)
		if !(s >= 0 && s <= 1) || Score(b, a) != s {
			t.Fatalf("Score = %v for %v and %v", s, a, b)
		}
		if len(a) > 0 && Score(a, a) < 0.999999 {
			t.Fatalf("a stack and itself: %v", Score(a, a))
		}
	}
}

func TestIndex(t *testing.T) {
	var x Index
	if got := x.Query(frames("a b c")); len(got) != 0 {
		t.Fatalf("an empty index: %v", got)
	}
	x.Add("one", frames("pop drain serve run main"))
	x.Add("one", frames("pop drain idle run main"))
	x.Add("two", frames("push fill serve run main"))
	x.Add("three", frames("parse load run main"))
	for range 3 {
		x.Add("one", frames("pop drain serve run main")) // it already has that
	}
	if x.Len() != 3 {
		t.Errorf("%d groups", x.Len())
	}
	for query, want := range map[string]string{
		"pop drain serve run main":  "one",
		"pop drain other run main":  "one",
		"parse load_all run main":   "",
		"parse load start run main": "three",
		"serve run main":            "",
		"main":                      "",
		"":                          "",
		"unheard of":                "",
	} {
		got := ""
		for _, m := range x.Query(frames(query)) {
			got += m.Group
			if m.Score < Threshold || m.Score > 1 {
				t.Errorf("%s: %+v", query, m)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestRare: a function that few groups have counts more than one that all have.
func TestRare(t *testing.T) {
	var x Index
	for i := range 200 {
		x.Add(fmt.Sprint("group ", i), []string{fmt.Sprint("leaf", i), fmt.Sprint("caller", i), "dispatch", "loop", "main"})
	}
	got := x.Query([]string{"leaf7", "caller7", "another_loop", "main"})
	if len(got) != 1 || got[0].Group != "group 7" {
		t.Errorf("%v", got)
	}
	if got := x.Query([]string{"new", "newer", "dispatch", "loop", "main"}); len(got) != 0 {
		t.Errorf("what all groups have links to %v", got)
	}
}

// TestCandidates: the index finds the same groups as a search through all of them.
func TestCandidates(t *testing.T) {
	var x Index
	stacks := ledger(&x, 400)
	r := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 200 {
		s := mutate(r, stacks[r.IntN(len(stacks))])
		got := map[string]float64{}
		for _, m := range x.Query(s) {
			got[m.Group] = m.Score
		}
		ids := make([]int32, 0, len(s))
		for i, f := range s {
			id, ok := x.ids[f]
			if !ok {
				id = int32(-1 - i)
			}
			ids = append(ids, id)
		}
		asked := weigh(ids, x.rarity)
		for i := range x.groups {
			score := x.against(new(query), &asked, &x.groups[i])
			if score < Threshold {
				continue
			}
			found++
			if got[x.groups[i].name] != score {
				t.Fatalf("%v: %s scores %.3f, and %.3f by the index", s, x.groups[i].name, score, got[x.groups[i].name])
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d near groups: the test says nothing", found)
	}
}

func TestConcurrent(t *testing.T) {
	var x Index
	var group sync.WaitGroup
	for k := range 4 {
		group.Go(func() {
			for i := range 200 {
				s := frames(fmt.Sprintf("a%d b%d c%d main", i, i%7, k))
				x.Add(fmt.Sprint(i), s)
				x.Query(s)
			}
		})
	}
	group.Wait()
	if x.Len() != 200 {
		t.Errorf("%d groups", x.Len())
	}
}

// ledger fills an index with n groups of up to three stacks, like those of large programs: few functions near
// the bottom, many near the top.
func ledger(x *Index, n int) (stacks [][]string) {
	r := rand.New(rand.NewPCG(5, 6))
	for g := range n {
		depth := 6 + r.IntN(18)
		s := make([]string, depth)
		for i := range s {
			breadth := 3 + (depth-i)*(depth-i)*(depth-i)
			s[i] = fmt.Sprintf("level%d_%d", depth-i, r.IntN(breadth))
		}
		x.Add(fmt.Sprint("group ", g), s)
		stacks = append(stacks, s)
		for range r.IntN(3) {
			x.Add(fmt.Sprint("group ", g), mutate(r, s))
		}
	}
	return stacks
}

// mutate changes, drops or adds some frames.
func mutate(r *rand.Rand, s []string) []string {
	out := make([]string, 0, len(s)+2)
	for _, f := range s {
		switch r.IntN(12) {
		case 0:
		case 1:
			out = append(out, f, fmt.Sprint("new", r.IntN(1000)))
		default:
			out = append(out, f)
		}
	}
	return out
}

func BenchmarkQuery10000(b *testing.B) {
	var x Index
	stacks := ledger(&x, 10000)
	r := rand.New(rand.NewPCG(7, 8))
	queries := make([][]string, 500)
	for i := range queries {
		queries[i] = mutate(r, stacks[r.IntN(len(stacks))])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Query(queries[i%len(queries)])
	}
}

func BenchmarkAdd10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var x Index
		ledger(&x, 10000)
	}
}

func BenchmarkScore(b *testing.B) {
	s := ledger(new(Index), 2)
	b.ReportAllocs()
	for b.Loop() {
		Score(s[0], s[1])
	}
}
