package perl_test

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

var interpreters = judged.Search{Env: "COREWALK_PERLS", Names: []string{"perl"}, Missing: "perl",
	Version: []string{"-e", `use Config; printf "5.%d%s", $] * 1000 % 1000, $Config{useithreads} ? "t" : ""`}}

var casePattern = regexp.MustCompile(`(?m)^\$cases\{"([a-z-]+)"\}`)

var ways = judged.Ways{All: []string{"kill", "dump", "posix", "xs", "unpack"}, Few: []string{"plain", "sort-eval", "destroy-eval", "list-util-three"}}

// TestJudge compares the calls of a program that dies with what caller says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Perl")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			judged.Each(t, fixture.IsLong(t), judged.Cases(t, "judge.pl", casePattern), ways, func(name, how string) (same, total int) { return judge(t, p, name, how) })
		})
	}
}

func judge(t *testing.T, p judged.Interpreter, name, how string) (same, total int) {
	t.Helper()
	dir := p.Dir(t, "judge.pl")
	said, ok := p.Run(t, dir, name+" "+how, "judge.pl", name, how)
	if !ok {
		return 0, 1
	}
	if said == "skip\n" {
		return 0, 0
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	got := judged.Dying(r, func(f string) bool { return f == "main::dies" })
	same, total = compare(t, name+" "+how, got, strings.Split(strings.TrimSpace(said), "\n"))
	if same != total {
		for _, w := range r.Warnings {
			t.Logf("%s: %s: %s", name, w.Code, w.Message)
		}
	}
	return same, total
}

// compare counts how many calls are the same as what Perl says of them.
func compare(t *testing.T, name string, frames []report.Frame, said []string) (same, total int) {
	t.Helper()
	var got []string
	levels, running := map[int]bool{}, 0
	for _, f := range frames {
		if strings.HasPrefix(f.Function, "Perl_runops_") {
			running++
		}
		if f.Language != "perl" || f.Kind != "interpreted" || f.Source.File == "" && !strings.Contains(f.Function, " ") && !strings.Contains(f.Function, "::") {
			continue
		}
		function := f.Function
		if file, ok := strings.CutPrefix(function, "do "); ok {
			function = "require " + file
		}
		levels[f.Physical] = true
		got = append(got, function+"\t"+f.Source.File+"\t"+strconv.Itoa(f.Source.Line))
	}
	if len(levels) != running {
		t.Logf("%s: %d levels, %d frames run operations", name, len(levels), running)
	}
	for i, s := range said { // no place
		if strings.HasSuffix(s, "\t0") {
			said[i] = strings.Split(s, "\t")[0] + "\t\t0"
		}
	}
	return judged.Same(t, name, got, said)
}
