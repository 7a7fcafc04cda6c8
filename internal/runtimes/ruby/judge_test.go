package ruby_test

import (
	"regexp"
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
			judged.Each(t, fixture.IsLong(t), judged.Cases(t, "judge.rb", casePattern), judged.Ways{All: []string{"kill", "fiddle"}, Few: []string{"sort", "fiber"}},
				func(name, how string) (same, total int) { return judge(t, p, name, how) })
		})
	}
}

func judge(t *testing.T, p judged.Interpreter, name, how string) (same, total int) {
	t.Helper()
	dir := p.Dir(t, "judge.rb")
	b, ok := p.Run(t, dir, name, "--disable-gems", "judge.rb", name, how)
	if !ok {
		return 0, 1
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	got := judged.Dying(r, func(f string) bool { return strings.HasSuffix(f, "#dies") })
	var said []string
	for line := range strings.Lines(b + "thread end\n") {
		line = strings.TrimSuffix(line, "\n")
		next, ends := strings.CutPrefix(line, "thread ")
		if !ends {
			said = append(said, line)
			continue
		}
		s, n := compare(t, name, p.Version, got, said)
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
func compare(t *testing.T, name, version string, frames []report.Frame, said []string) (same, total int) {
	t.Helper()
	var got []string
	for _, f := range frames {
		if f.Language != "ruby" || len(got) == 0 && strings.HasPrefix(plain(said[0]), "dies\t") && (f.Function == "Process.kill" || f.Function == "Kernel#sleep" || strings.HasPrefix(f.Function, "Fiddle::")) {
			continue
		}
		function := f.Function
		if version < "3.4" {
			function = plain(function)
		}
		got = append(got, function+"\t"+f.Source.File+"\t"+strconv.Itoa(f.Source.Line))
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
	judged.Show(t, name, same, total, got, said)
	return same, total
}

var classPattern = regexp.MustCompile(`[A-Z][\w:]*[#.]`)

// plain is a name without the class, as Ruby writes it until 3.3.
func plain(function string) string { return classPattern.ReplaceAllString(function, "") }
