package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

func TestDecideMerged(t *testing.T) {
	first, second := []unwind.Call{{Name: "positive"}, {Name: "parse"}}, []unwind.Call{{Name: "given"}, {Name: "parse"}}
	came, open, refuted := wayOf{came: true}, wayOf{open: true}, wayOf{}
	const taken, no = report.PlaceTaken, report.PlaceRefuted
	for _, c := range []struct {
		name          string
		first, second wayOf
		others, lost  bool
		verdicts      [2]string
		shown         string
		moved         bool
	}{
		{name: "the second", first: refuted, second: came, verdicts: [2]string{no, taken}, shown: "given", moved: true},
		{name: "the first, where the call is", first: came, second: refuted, verdicts: [2]string{taken, no}, shown: "positive"},
		{name: "the first, without the call's place", first: came, second: refuted, lost: true, verdicts: [2]string{taken, no}, shown: "positive", moved: true},
		{name: "both hold", first: came, second: came, shown: "positive"},
		{name: "one is not known", first: open, second: came, shown: "positive"},
		{name: "the one that is left is not known", first: refuted, second: open, verdicts: [2]string{no, ""}, shown: "positive"},
		{name: "from elsewhere", first: refuted, second: came, others: true, verdicts: [2]string{no, ""}, shown: "positive"},
		{name: "all refuted", first: refuted, second: refuted, shown: "positive"},
	} {
		c.first.calls, c.second.calls = first, second
		m := &report.Merged{Places: make([]report.MergedPlace, 2), Lost: c.lost}
		w := ways{places: []wayOf{c.first, c.second}, others: c.others}
		calls, moved := w.decide(m, first)
		if got := [2]string{m.Places[0].Verdict, m.Places[1].Verdict}; got != c.verdicts || calls[0].Name != c.shown || moved != c.moved {
			t.Errorf("%s: %q %s %v, want %q %s %v", c.name, got, calls[0].Name, moved, c.verdicts, c.shown, c.moved)
		}
	}
}
