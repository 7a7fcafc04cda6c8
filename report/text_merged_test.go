package report

import (
	"strings"
	"testing"
)

func TestTextOfMergedCalls(t *testing.T) {
	place := func(line int, verdict string, inlined ...string) MergedPlace {
		return MergedPlace{Inlined: inlined, Source: Source{File: "/src/queue/a.c", Line: line}, Verdict: verdict}
	}
	own, other := place(14, "", "positive"), place(21, "", "given")
	for _, c := range []struct {
		name   string
		merged *Merged
		want   string // after the headline's place, and below the innermost frame
	}{
		{"one call", nil, ""},
		{"of two", &Merged{Places: []MergedPlace{own, other}}, "or given at a.c:21 (one call for both)"},
		{"of three", &Merged{Places: []MergedPlace{own, other, place(30, "")}}, "or given at a.c:21 or parse at a.c:30 (one call for all)"},
		{"of many", &Merged{Places: []MergedPlace{other, place(30, ""), place(31, ""), place(32, ""), place(33, "")}},
			"or given at a.c:21 or parse at a.c:30 or parse at a.c:31 or 2 other places (one call for all)"},
		{"in none of the places", &Merged{Places: []MergedPlace{own, other}, Lost: true}, "from positive at a.c:14 or given at a.c:21 (one call for both)"},
		{"decided", &Merged{Places: []MergedPlace{place(14, PlaceTaken, "positive"), place(21, PlaceRefuted, "given")}}, ""},
		{"without what is refuted", &Merged{Places: []MergedPlace{own, other, place(30, PlaceRefuted)}}, "or given at a.c:21 (one call for both)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := at("positive", "a.c", 15)
			inner.Inlined = true
			outer := at("parse", "a.c", 28)
			outer.Merged = c.merged
			which := 1
			r := &Report{Crash: &Crash{Thread: 7, Frame: &which}, Threads: []Thread{stack(7, "", in("abort", "", 0), inner, outer)}}
			var b strings.Builder
			if err := WriteText(&b, r, TextOptions{Width: 200}); err != nil {
				t.Fatal(err)
			}
			head, below := "positive at a.c:15", "queue\n"
			if c.want != "" {
				head, below = head+", "+c.want, below+"        "+c.want+"\n"
			}
			if got := b.String(); !strings.Contains(got, head+", thread 7") || !strings.Contains(got, below+"  #2  parse") {
				t.Errorf("want %q and %q in\n%s", head, below, got)
			}
		})
	}
}
