package judged

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// Cases are those of a program of testdata: what the pattern has in parentheses.
func Cases(t *testing.T, program string, pattern *regexp.Regexp) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pattern.FindAllStringSubmatch(string(b), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("%s has no cases", program)
	}
	return list
}

// Ways are how programs die: each case in the first of All, those of Few in the others, too.
type Ways struct{ All, Few []string }

// Each judges cases in their ways, all or one in four. It fails if fewer than 99 of 100 calls are the same.
func Each(t *testing.T, all bool, cases []string, ways Ways, judge func(name, how string) (same, total int)) {
	t.Helper()
	same, total := 0, 0
	for _, name := range cases {
		if !all && !fixture.InTurn(name, 0, 4) {
			continue
		}
		for i, how := range ways.All {
			if i > 0 && !slices.Contains(ways.Few, name) {
				continue
			}
			s, n := judge(name, how)
			same, total = same+s, total+n
		}
	}
	t.Logf("%d of %d calls of %d cases are the same", same, total, len(cases))
	if total == 0 || same*100 < total*99 {
		t.Errorf("%d of %d calls are the same", same, total)
	}
}

// Run runs a program until it dies, and returns what it wrote to the file "said" in the directory; false after an error if that is not there.
func (p *Interpreter) Run(t *testing.T, dir, name string, args ...string) (said string, ok bool) {
	t.Helper()
	out, _ := p.Command(dir, args...).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, First(strings.Split(string(out), "\n"), 5))
	}
	return string(b), err == nil
}

// Dying are the frames of the thread that has a frame of the function that dies: a signal is the process's, and another thread may have got it.
func Dying(r *report.Report, dies func(function string) bool) []report.Frame {
	list := r.Threads[0].Frames
	for i := range r.Threads {
		if slices.ContainsFunc(r.Threads[i].Frames, func(f report.Frame) bool { return dies(f.Function) }) {
			list = r.Threads[i].Frames
		}
	}
	return list
}

// Same counts the calls that are what the language says of them, and shows both lists where one is not.
func Same(t *testing.T, name string, got, said []string) (same, total int) {
	t.Helper()
	for i := range said {
		if i < len(got) && got[i] == said[i] {
			same++
		}
	}
	total = max(len(said), len(got))
	Show(t, name, same, total, got, said)
	return same, total
}

// Show shows calls and what the language says of them, if not all are the same.
func Show(t *testing.T, name string, same, total int, got, said []string) {
	t.Helper()
	if same != total {
		t.Logf("%s: %d of %d\n%s\nthe language says\n%s", name, same, total, First(got, 14), First(said, 14))
	}
}
