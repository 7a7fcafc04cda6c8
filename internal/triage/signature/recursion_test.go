package signature

import (
	"fmt"
	"strings"
	"testing"
)

// entriesOf makes an entry for each letter, or each word.
func entriesOf(s string) []entry {
	words := strings.Fields(s)
	if len(words) == 1 {
		words = strings.Split(s, "")
	}
	list := make([]entry, len(words))
	for i, w := range words {
		list[i] = entry{name: w, frame: i}
	}
	return list
}

func namesOf(list []entry) string {
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.name)
	}
	return b.String()
}

// numbered returns n different names, times times.
func numbered(n, times int) string {
	var b strings.Builder
	for range times {
		for i := range n {
			fmt.Fprintf(&b, "f%03d ", i)
		}
	}
	return b.String()
}

func TestPeriod(t *testing.T) {
	for run, want := range map[string]int{
		"": 0, "a": 0, "ab": 0, "aa": 1, "aaa": 1, "aba": 0, "abab": 2, "ababa": 2, "abba": 0, "aab": 0, "aabaab": 3, "abcab": 0, "abcabca": 3,
		numbered(maxPeriod, 2): maxPeriod, numbered(maxPeriod+1, 2): 0,
	} {
		if got := period(entriesOf(run)); got != want {
			t.Errorf("period of %.40q: %d, want %d", run, got, want)
		}
	}
}

// TestCanonicalCycle: the cycle does not depend on which of its functions came last.
func TestCanonicalCycle(t *testing.T) {
	for run, want := range map[string]string{
		"aaa": "a", "abab": "ab", "baba": "ab", "cabcab": "abc", "bcabcabc": "abc",
		"abacabac": "abac", "acabacab": "abac", "bacabaca": "abac", "cabacaba": "abac", "aabaab": "ab", "abaaba": "ab",
		// Irregular: each function once.
		"": "", "aba": "ab", "cbcac": "abc", "baabb": "ab",
	} {
		if got := namesOf(canonicalCycle(entriesOf(run))); got != want {
			t.Errorf("cycle of %q: %q, want %q", run, got, want)
		}
	}
	if n := len(canonicalCycle(entriesOf(numbered(maxPeriod+6, 2)))); n != maxPeriod {
		t.Errorf("a long recursion has %d functions", n)
	}
}

func TestLongestRepetition(t *testing.T) {
	for kept, want := range map[string][2]int{
		"": {0, 0}, "a": {0, 0}, "abc": {0, 0}, "aa": {0, 2}, "aba": {0, 3}, "xabay": {1, 4}, "aabbb": {2, 5}, "aabb": {0, 2},
		"abab": {0, 4}, "abcbdcx": {1, 6}, "aaxbbbycc": {3, 6},
	} {
		if lo, hi := longestRepetition(entriesOf(kept)); lo != want[0] || hi != want[1] {
			t.Errorf("in %q: [%d, %d), want %v", kept, lo, hi, want)
		}
	}
}

// TestErase: the path to the crash enters no function twice, and the innermost frame stands for each.
func TestErase(t *testing.T) {
	for kept, want := range map[string]string{
		"": "", "abc": "a0 b1 c2", "aab": "a0 b2", "fgfm": "f0 m3", "hfhgfm": "h0 f1 m5", "hgfhgfm": "h0 g1 f2 m6", "abcbdam": "a0 m6",
	} {
		b := builder{report: stackOf("null-read"), sig: &Signature{Decisions: make([]Decision, len(kept))}, known: make([]meaning, len(kept))}
		b.thread = &stackOf("null-read", strings.Split(kept, "")...).Threads[0]
		var got []string
		for _, e := range b.erase(entriesOf(kept)) {
			got = append(got, fmt.Sprint(e.name, e.frame))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", kept, s, want)
		}
	}
}

// TestInlinedRound: a function that was inlined into itself is in the cycle once.
func TestInlinedRound(t *testing.T) {
	want := Of(stackOf("stack-overflow", "expr", "factor", "term", "expr", "factor", "term", "expr", "factor", "term", "main"))
	got := Of(stackOf("stack-overflow", "expr", "+factor", "factor", "term", "expr", "+factor", "factor", "term", "expr", "+factor", "factor", "term", "main"))
	if got.Hash != want.Hash {
		t.Errorf("%q, want %q", got.Frames, want.Frames)
	}
}
