package ruby_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// An installed is a Ruby: of this machine, or of a directory that is the root of another.
type installed struct{ version, root, exe string }

// all returns the Rubies of this machine, and those that COREWALK_RUBIES lists: /opt/ruby/bin/ruby, or with the directory that is its root and two slashes
// /srv/trixie//usr/bin/ruby3.3.
func all(t *testing.T) []installed {
	t.Helper()
	fixture.Tools(t)
	var list []installed
	for _, p := range filepath.SplitList(os.Getenv("COREWALK_RUBIES")) {
		root, exe, other := strings.Cut(p, "//")
		if !other {
			root, exe = "", p
		} else {
			exe = "/" + exe
		}
		list = append(list, installed{root: root, exe: exe})
	}
	if p, err := exec.LookPath("ruby"); err == nil {
		list = append(list, installed{exe: p})
	}
	for i := range list {
		out, err := list[i].command("", "--disable-gems", "-e", "print RUBY_VERSION[/\\d+\\.\\d+/]").Output()
		if err != nil {
			t.Fatalf("%s: %v", list[i].exe, err)
		}
		list[i].version = string(out)
	}
	if len(list) == 0 {
		t.Skip("no Ruby is installed: ruby")
	}
	return list
}

// command runs Ruby in a directory, which is below its root.
func (p *installed) command(dir string, args ...string) *exec.Cmd {
	if p.root == "" {
		return fixture.Dies(dir, p.exe, args...)
	}
	inside := "/" + strings.TrimPrefix(strings.TrimPrefix(dir, p.root), "/")
	return fixture.Dies(dir, "chroot", append([]string{p.root, "/bin/sh", "-c", `cd "$1"; shift; exec "$@"`, "sh", inside, p.exe}, args...)...)
}

// dir makes a directory that Ruby sees, with a program of testdata.
func (p *installed) dir(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	if p.root != "" {
		var err error
		if dir, err = os.MkdirTemp(filepath.Join(p.root, "tmp"), "judge"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	b, err := os.ReadFile(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, program), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// files shares what was read of files between the tests.
var files = sync.OnceValue(func() corewalk.Option { return corewalk.WithCache(corewalk.NewCache(context.Background(), 0)) })

func (p *installed) analyze(t *testing.T, core string, o corewalk.AnalyzeOptions) *report.Report {
	t.Helper()
	opts := []corewalk.Option{files()}
	if p.root != "" {
		opts = []corewalk.Option{corewalk.WithSysroot(p.root)}
	}
	target, err := corewalk.Open(t.Context(), core, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var casePattern = regexp.MustCompile(`(?m)^cases\["([a-z-]+)"\]`)

// cases are those of judge.rb.
func cases(t *testing.T) (list []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/judge.rb")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range casePattern.FindAllStringSubmatch(string(b), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestJudge compares the calls of a program that dies with what caller_locations says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Ruby")
	}
	for _, p := range all(t) {
		t.Run(p.version, func(t *testing.T) {
			same, total := 0, 0
			list := cases(t)
			for _, name := range list {
				if !fixture.IsLong(t) && !fixture.InTurn(name, 0, 4) {
					continue
				}
				for _, how := range []string{"kill", "fiddle"} {
					if how == "fiddle" && name != "sort" && name != "fiber" {
						continue
					}
					s, n := p.judge(t, name, how)
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

func (p *installed) judge(t *testing.T, name, how string) (same, total int) {
	t.Helper()
	dir := p.dir(t, "judge.rb")
	out, _ := p.command(dir, "--disable-gems", "judge.rb", name, how).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, first(strings.Split(string(out), "\n"), 5))
		return 0, 1
	}
	r := p.analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
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
		t.Logf("%s: %d of %d\n%s\nRuby says\n%s", name, same, total, first(got, 14), first(said, 14))
	}
	return same, total
}

var classPattern = regexp.MustCompile(`[A-Z][\w:]*[#.]`)

// plain is a name without the class, as Ruby writes it until 3.3.
func plain(function string) string { return classPattern.ReplaceAllString(function, "") }

func first(list []string, n int) string { return strings.Join(list[:min(n, len(list))], "\n") }
