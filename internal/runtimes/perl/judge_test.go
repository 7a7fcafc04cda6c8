package perl_test

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

var interpreters = judged.Search{Env: "COREWALK_PERLS", Names: []string{"perl"}, Missing: "perl",
	Version: []string{"-e", `use Config; printf "5.%d%s", $] * 1000 % 1000, $Config{useithreads} ? "t" : ""`}}

var casePattern = regexp.MustCompile(`(?m)^\$cases\{"([a-z-]+)"\}`)

// ways are how a program ends; all but the first are tried with a few cases.
var ways = []string{"kill", "dump", "posix", "xs", "unpack"}

// TestJudge compares the calls of a program that dies with what caller says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Perl")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			same, total := 0, 0
			list := judged.Cases(t, "judge.pl", casePattern)
			for _, name := range list {
				if !fixture.IsLong(t) && !fixture.InTurn(name, 0, 4) {
					continue
				}
				for _, how := range ways {
					if how != "kill" && !slices.Contains([]string{"plain", "sort-eval", "destroy-eval", "list-util-three"}, name) {
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
	dir := p.Dir(t, "judge.pl")
	out, _ := p.Command(dir, "judge.pl", name, how).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, judged.First(strings.Split(string(out), "\n"), 5))
		return 0, 1
	}
	if string(b) == "skip\n" {
		return 0, 0
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "core*")); len(list) == 0 {
		t.Errorf("%s %s: no core\n%s", name, how, judged.First(strings.Split(string(out), "\n"), 5))
		return 0, 1
	}
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	got := r.Threads[0].Frames
	for i := range r.Threads { // the signal is the process's: another thread may have got it
		if slices.ContainsFunc(r.Threads[i].Frames, func(f report.Frame) bool { return f.Function == "main::dies" }) {
			got = r.Threads[i].Frames
		}
	}
	same, total = compare(t, name+" "+how, got, strings.Split(strings.TrimSpace(string(b)), "\n"))
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
	total = max(len(said), len(got))
	for i := range said {
		if i < len(got) && got[i] == said[i] {
			same++
		}
	}
	if same != total {
		t.Logf("%s: %d of %d\n%s\nPerl says\n%s", name, same, total, judged.First(got, 14), judged.First(said, 14))
	}
	return same, total
}
