package php_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// An installed is a PHP: of this machine, or of a directory that is the root of another.
type installed struct {
	version, root, exe string
	compiled           int // calls that the compiler's code runs
}

// all returns the PHPs of this machine, and those that COREWALK_PHPS lists: /usr/bin/php8.3, or with the directory that is its root and two
// slashes /srv/bullseye//usr/bin/php7.4.
func all(t *testing.T) []installed {
	t.Helper()
	fixture.Tools(t)
	var list []installed
	for _, p := range filepath.SplitList(os.Getenv("COREWALK_PHPS")) {
		root, exe, other := strings.Cut(p, "//")
		if !other {
			root, exe = "", p
		} else {
			exe = "/" + exe
		}
		list = append(list, installed{root: root, exe: exe})
	}
	if p, err := exec.LookPath("php"); err == nil {
		list = append(list, installed{exe: p})
	}
	for i := range list {
		out, err := list[i].command("", "-n", "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, PHP_ZTS ? 'zts' : '';").Output()
		if err != nil {
			t.Fatalf("%s: %v", list[i].exe, err)
		}
		list[i].version = string(out)
	}
	if len(list) == 0 {
		t.Skip("no PHP is installed: php-cli")
	}
	return list
}

// command runs PHP in a directory, which is below its root.
func (p *installed) command(dir string, args ...string) *exec.Cmd {
	if p.root == "" {
		return fixture.Dies(dir, p.exe, args...)
	}
	inside := "/" + strings.TrimPrefix(strings.TrimPrefix(dir, p.root), "/")
	return fixture.Dies(dir, "chroot", append([]string{p.root, "/bin/sh", "-c", `cd "$1"; shift; exec "$@"`, "sh", inside, p.exe}, args...)...)
}

// dir makes a directory that PHP sees, with the programs of testdata.
func (p *installed) dir(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	if p.root != "" {
		var err error
		if dir, err = os.MkdirTemp(filepath.Join(p.root, "tmp"), "judge"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	for _, name := range programs {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
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

// opcache are the ways to run PHP.
var opcache = map[string][]string{
	"plain":    nil,
	"opcache":  {"-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1", "-d", "opcache.memory_consumption=16", "-d", "opcache.interned_strings_buffer=4", "-d", "opcache.file_update_protection=0"},
	"function": {"-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1", "-d", "opcache.memory_consumption=16", "-d", "opcache.interned_strings_buffer=4", "-d", "opcache.file_update_protection=0", "-d", "opcache.jit_buffer_size=8M", "-d", "opcache.jit=function"},
	"tracing":  {"-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1", "-d", "opcache.memory_consumption=16", "-d", "opcache.interned_strings_buffer=4", "-d", "opcache.file_update_protection=0", "-d", "opcache.jit_buffer_size=8M", "-d", "opcache.jit=tracing", "-d", "opcache.jit_hot_func=2", "-d", "opcache.jit_hot_loop=2"},
}

var casePattern = regexp.MustCompile(`(?m)^case '([a-z-]+)':`)

// cases are those of judge.php that a version has.
func cases(t *testing.T, version string) (list []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/judge.php")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range casePattern.FindAllStringSubmatch(string(b), -1) {
		if version < "8.1" && (strings.HasPrefix(m[1], "fiber") || m[1] == "first-class") {
			continue
		}
		list = append(list, m[1])
	}
	return list
}

// TestJudge compares the calls of a program that dies with what debug_backtrace says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs PHP")
	}
	for _, p := range all(t) {
		for how, flags := range opcache {
			if p.version < "8" && how != "plain" && how != "opcache" {
				continue
			}
			t.Run(p.version+"/"+how, func(t *testing.T) {
				same, total := 0, 0
				for _, name := range cases(t, p.version) {
					if !fixture.IsLong(t) && how != "plain" && !fixture.InTurn(name+how, 0, 4) {
						continue
					}
					s, n := p.judge(t, name, flags)
					same, total = same+s, total+n
				}
				t.Logf("%d of %d calls are the same, %d of compiled code", same, total, p.compiled)
				p.compiled = 0
				if total == 0 || same*100 < total*99 {
					t.Errorf("%d of %d calls are the same", same, total)
				}
			})
		}
	}
}

func (p *installed) judge(t *testing.T, name string, flags []string) (same, total int) {
	t.Helper()
	dir := p.dir(t, "judge.php", "included.php")
	args := append(slices.Clone(flags), "-n", "-d", "extension=posix", "judge.php", name)
	if p.version < "8.1" { // its parser does not know them
		b, err := os.ReadFile(filepath.Join(dir, "judge.php"))
		if err != nil {
			t.Fatal(err)
		}
		b = []byte(strings.ReplaceAll(string(b), "dies(...)", "'dies'"))
		if err := os.WriteFile(filepath.Join(dir, "judge.php"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := p.command(dir, args...).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
		return 0, 1
	}
	said := strings.Split(strings.TrimSpace(string(b)), "\n")
	r := p.analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	var got []string
	for _, f := range r.Threads[0].Frames {
		if f.Kind == report.KindJIT {
			p.compiled++
		}
		if f.Language != "php" || len(got) == 0 && f.Function == "posix_kill" {
			continue
		}
		line := f.Function
		switch {
		case len(got) == 0:
			line += " *"
		case f.Source.File != "":
			line += fmt.Sprintf(" %s:%d", f.Source.File, f.Source.Line)
		}
		got = append(got, line)
	}
	for _, f := range r.Threads[0].Frames {
		if f.Function == "execute_ex" && !f.Folded {
			t.Errorf("%s: frame %d runs PHP, and is not folded", name, f.Index)
		}
	}
	total = len(said)
	for i := range said {
		// Where a closure is called through __invoke, PHP says the place of the function of the program outside of it.
		if i < len(got) && (got[i] == said[i] || got[i] == "Closure->__invoke" && strings.HasPrefix(said[i], got[i]+" ")) {
			same++
		}
	}
	if len(got) != len(said) || same != total {
		t.Logf("%s: %d of %d\n%s\nPHP says\n%s", name, same, total, first(got, 14), first(said, 14))
		for _, w := range r.Warnings {
			t.Logf("%s: %s", w.Code, w.Message)
		}
	}
	if len(got) > len(said) {
		total += len(got) - len(said)
	}
	return same, total
}

func first(list []string, n int) string { return strings.Join(list[:min(n, len(list))], "\n") }
