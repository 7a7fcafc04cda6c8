package ruby_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/report"
)

var interpreters = judged.Search{Env: "COREWALK_RUBIES", Names: []string{"ruby"}, Version: []string{"--disable-gems", "-e", "print RUBY_VERSION[/\\d+\\.\\d+/]"}, Missing: "ruby"}

var casePattern = regexp.MustCompile(`(?m)^cases\["([a-z-]+)"\]`)

// TestJudge compares the calls of a program that dies with what caller_locations says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Ruby")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			same, total := 0, 0
			list := judged.Cases(t, "judge.rb", casePattern)
			for _, name := range list {
				if !fixture.IsLong(t) && !fixture.InTurn(name, 0, 4) {
					continue
				}
				for _, how := range []string{"kill", "fiddle"} {
					if how == "fiddle" && name != "sort" && name != "fiber" {
						continue
					}
					s, n := judge(t, p, name, how)
					same, total = same+s, total+n
				}
			}
			t.Logf("%d of %d calls of %d cases are the same", same, total, len(list))
			if total == 0 || same*100 < total*99 {
				t.Errorf("%d of %d calls are the same", same, total)
			}
		})
	}
}

func judge(t *testing.T, p judged.Interpreter, name, how string) (same, total int) {
	t.Helper()
	dir := p.Dir(t, "judge.rb")
	out, _ := p.Command(dir, "--disable-gems", "judge.rb", name, how).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, judged.First(strings.Split(string(out), "\n"), 5))
		return 0, 1
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	got := r.Threads[0].Frames
	for i := range r.Threads { // the signal is the process's: another thread may have got it
		if slices.ContainsFunc(r.Threads[i].Frames, func(f report.Frame) bool { return strings.HasSuffix(f.Function, "#dies") }) {
			got = r.Threads[i].Frames
		}
	}
	var said []string
	for line := range strings.Lines(string(b) + "thread end\n") {
		line = strings.TrimSuffix(line, "\n")
		next, ends := strings.CutPrefix(line, "thread ")
		if !ends {
			said = append(said, line)
			continue
		}
		s, n := compare(t, name, got, said)
		same, total = same+s, total+n
		if s != n {
			for _, w := range r.Warnings {
				t.Logf("%s: %s: %s", name, w.Code, w.Message)
			}
		}
		got, said = nil, nil
		for i := range r.Threads {
			if r.Threads[i].Name == next {
				got = r.Threads[i].Frames
			}
		}
	}
	return same, total
}

// compare counts how many calls are the same as what Ruby says of them.
func compare(t *testing.T, name string, frames []report.Frame, said []string) (same, total int) {
	t.Helper()
	var got []string
	for _, f := range frames {
		if f.Language != "ruby" || len(got) == 0 && strings.HasPrefix(said[0], "dies\t") && (f.Function == "Process.kill" || f.Function == "Kernel#sleep" || strings.HasPrefix(f.Function, "Fiddle::")) {
			continue
		}
		got = append(got, plain(f.Function)+"\t"+f.Source.File+"\t"+strconv.Itoa(f.Source.Line))
	}
	total = max(len(said), len(got))
	for i := range said {
		if i < len(got) {
			g, s := strings.Split(got[i], "\t"), strings.Split(said[i], "\t")
			if g[1] == "" || i == 0 { // functions of C have the place of their caller there
				g, s = g[:1], s[:1]
			}
			if strings.Join(g, "\t") == strings.Join(s, "\t") {
				same++
			} else {
				t.Logf("%s: %d: %q, Ruby says %q", name, i, g, s)
			}
		}
	}
	if same != total {
		t.Logf("%s: %d of %d\n%s\nRuby says\n%s", name, same, total, judged.First(got, 14), judged.First(said, 14))
	}
	return same, total
}

var classPattern = regexp.MustCompile(`[A-Z][\w:]*[#.]`)

// plain is a name without the class, as Ruby writes it until 3.3.
func plain(function string) string { return classPattern.ReplaceAllString(function, "") }
