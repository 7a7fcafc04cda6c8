package php_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/report"
)

var interpreters = judged.Search{Env: "COREWALK_PHPS", Names: []string{"php"}, Version: []string{"-n", "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, PHP_ZTS ? 'zts' : '';"}, Missing: "php-cli"}

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
	for _, name := range judged.Cases(t, "judge.php", casePattern) {
		if version < "8.1" && (strings.HasPrefix(name, "fiber") || name == "first-class") {
			continue
		}
		list = append(list, name)
	}
	return list
}

// TestJudge compares the calls of a program that dies with what debug_backtrace says of them.
func TestJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs PHP")
	}
	for _, p := range interpreters.All(t) {
		for how, flags := range opcache {
			if p.Version < "8" && how != "plain" && how != "opcache" {
				continue
			}
			t.Run(p.Version+"/"+how, func(t *testing.T) {
				same, total, compiled := 0, 0, 0
				for _, name := range cases(t, p.Version) {
					if !fixture.IsLong(t) && how != "plain" && !fixture.InTurn(name+how, 0, 4) {
						continue
					}
					s, n, c := judge(t, p, name, flags)
					same, total, compiled = same+s, total+n, compiled+c
				}
				t.Logf("%d of %d calls are the same, %d of compiled code", same, total, compiled)
				if total == 0 || same*100 < total*99 {
					t.Errorf("%d of %d calls are the same", same, total)
				}
			})
		}
	}
}

// judge counts the calls that are the same, all calls, and those that the compiler's code runs.
func judge(t *testing.T, p judged.Interpreter, name string, flags []string) (same, total, compiled int) {
	t.Helper()
	dir := p.Dir(t, "judge.php", "included.php")
	args := append(slices.Clone(flags), "-n", "-d", "extension=posix", "judge.php", name)
	if p.Version < "8.1" { // its parser does not know them
		b, err := os.ReadFile(filepath.Join(dir, "judge.php"))
		if err != nil {
			t.Fatal(err)
		}
		b = []byte(strings.ReplaceAll(string(b), "dies(...)", "'dies'"))
		if err := os.WriteFile(filepath.Join(dir, "judge.php"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, ok := p.Run(t, dir, name, args...)
	if !ok {
		return 0, 1, 0
	}
	said := strings.Split(strings.TrimSpace(b), "\n")
	r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
	var got []string
	for _, f := range r.Threads[0].Frames {
		if f.Kind == report.KindJIT {
			compiled++
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
		t.Logf("%s: %d of %d\n%s\nPHP says\n%s", name, same, total, judged.First(got, 14), judged.First(said, 14))
		for _, w := range r.Warnings {
			t.Logf("%s: %s", w.Code, w.Message)
		}
	}
	if len(got) > len(said) {
		total += len(got) - len(said)
	}
	return same, total, compiled
}
