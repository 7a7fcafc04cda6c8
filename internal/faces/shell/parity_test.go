package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/faces/shell"
	"github.com/corewalk/corewalk/internal/fixture"
)

// asks is what gdb runs: it answers each question of a file, or says that it cannot.
const asks = `
import gdb, json
for line in open(QUESTIONS):
    line = line.rstrip("\n")
    if not line or line[0] == "#":
        continue
    try:
        print(json.dumps({"Question": line, "Answer": gdb.execute(line, False, True)}))
    except Exception as e:
        print(json.dumps({"Question": line, "Error": str(e)}))
`

// An answer is one debugger's.
type answer struct{ Question, Answer, Error string }

// none is what gdb says when it has no answer, but no error: of a list nothing but its heading, of a source file that it does not find a line's
// number, of a variable that does not exist void, which Rust writes ().
var none = regexp.MustCompile(`^(No |There are no|\$\d+ = void|void$|<optimized out>|All .* matching regular expression "[^"]*":$|\d+\tin |The symbol .* has no definition)`)

// answered reports whether there is one.
func (a *answer) answered() bool {
	text := strings.TrimSpace(a.Answer)
	if strings.HasPrefix(a.Question, "p $") && strings.HasSuffix(text, " = ()") {
		return false
	}
	return a.Error == "" && !none.MatchString(text)
}

// The questions that gdb's users ask have answers here, too: of those that gdb answers at most three of a hundred have none.
func TestParity(t *testing.T) {
	fixture.Tools(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed (Debian: gdb): nothing to compare with")
	}
	for _, c := range []struct{ fixture, questions string }{
		{"amd64-vars-c-O0", "c.txt"}, {"amd64-vars-cxx-O0", "cxx.txt"}, {"amd64-vars-rust-O0", "rust.txt"}, {"amd64-vars-go-O0", "go.txt"},
	} {
		t.Run(c.questions, func(t *testing.T) {
			theirs := askGDB(t, fixture.Get(t, c.fixture), filepath.Join("testdata", c.questions))
			if len(theirs) < 200 {
				t.Fatalf("gdb answers %d questions", len(theirs))
			}
			sh, out := open(t, c.fixture)
			same, both, neither := 0, 0, 0
			var only, mine, other []string
			for i := range theirs {
				q := &theirs[i]
				out.Reset()
				err := sh.Run(context.Background(), q.Question)
				got := &answer{Question: q.Question, Answer: out.String()}
				if err != nil {
					got.Error = shell.Explain(err)
				}
				switch a, b := q.answered(), got.answered(); {
				case a && b && alike(q.Answer, got.Answer):
					same++
				case a && b:
					both++
					other = append(other, fmt.Sprintf("%s: gdb %s; here %s", q.Question, short(q.Answer), short(got.Answer)))
				case a:
					only = append(only, fmt.Sprintf("%s: gdb %s; here %s%s", q.Question, short(q.Answer), short(got.Error), short(got.Answer)))
				case b:
					mine = append(mine, q.Question+": "+short(got.Answer))
				default:
					neither++
				}
			}
			t.Logf("%s: %d questions: %d alike, %d in other words, %d here only, %d gdb only, %d neither\ngdb only:\n  %s\nhere only:\n  %s\nin other words:\n  %s", c.fixture, len(theirs), same, both, len(mine), len(only), neither,
				strings.Join(only, "\n  "), strings.Join(mine, "\n  "), strings.Join(other, "\n  "))
			if most := len(theirs) * 3 / 100; len(only) > most {
				t.Errorf("%s: %d answers of %d are gdb's only, at most %d may be:\n%s", c.fixture, len(only), len(theirs), most, strings.Join(only, "\n"))
			}
		})
	}
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), 120)]
}

var (
	history  = regexp.MustCompile(`^\$\d+ = `)
	symbolic = regexp.MustCompile(` <[^<>]*>`)
	typed    = regexp.MustCompile(`^\([^()]*(\([^()]*\))?[^()]*\) `)
)

// alike compares values without the history's numbers, names of types and symbols, and white space.
func alike(a, b string) bool {
	normal := func(s string) string {
		s = typed.ReplaceAllString(history.ReplaceAllString(strings.TrimSpace(s), ""), "")
		s = symbolic.ReplaceAllString(s, "")
		return strings.Join(strings.Fields(s), "")
	}
	return normal(a) == normal(b)
}

// askGDB has gdb answer questions about a fixture.
func askGDB(t *testing.T, c fixture.Case, questions string) (list []answer) {
	t.Helper()
	path, err := filepath.Abs(questions)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "asks.py")
	if err := os.WriteFile(script, []byte(strings.Replace(asks, "QUESTIONS", fmt.Sprintf("%q", path), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	source := filepath.Join(fixture.Root(t), "testdata", "src")
	cmd := exec.CommandContext(ctx, "gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-ex", "set width 0", "-ex", "set height 0",
		"-ex", "set sysroot "+c.Sysroot(t), "-ex", "set debug-file-directory "+c.Dir, "-ex", "set substitute-path /src "+source, "-ex", "file "+c.Binary(t), "-ex", "core-file "+c.Core(t), "-x", script)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		var a answer
		if strings.HasPrefix(line, `{"Question"`) && json.Unmarshal([]byte(line), &a) == nil {
			list = append(list, a)
		}
	}
	return list
}
