package systemtest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A knownBug is where a program of testdata/src/blame goes wrong: the line at which the bad value comes from its origin, and what it is read
// from there.
type knownBug struct{ line, from string }

// knownBugs reads the bugs from the lines of told.txt that were read against the source and are exact, of builds without
// optimisation: what the compiler made of a bug with it changes neither its line nor its name.
func knownBugs(t testing.TB) map[string]knownBug {
	t.Helper()
	told, err := os.ReadFile(filepath.Join(fixture.Root(t), "testdata", "blame", "told.txt"))
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`\bat (\w+\.\w+:\d+)`)
	from := regexp.MustCompile(`read from (\S+) at`)
	bugs := map[string]knownBug{}
	for line := range strings.Lines(string(told)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(f) < 4 || f[2] != "exact" || !strings.HasSuffix(f[0], "-O0") {
			continue
		}
		var b knownBug
		if m := at.FindAllStringSubmatch(f[3], -1); len(m) > 0 {
			b.line = m[len(m)-1][1]
		}
		if m := from.FindAllStringSubmatch(f[3], -1); len(m) > 0 {
			b.from = m[len(m)-1][1]
		}
		if b.line != "" {
			bugs[f[1]] = b
		}
	}
	return bugs
}

// tells reports whether a text has the line of a bug, or the variable that was bad.
func (b knownBug) tells(text string) bool {
	if regexp.MustCompile(regexp.QuoteMeta(b.line) + `\b`).MatchString(text) {
		return true
	}
	return b.from != "" && strings.Contains(text, b.from)
}

// The line or the variable of the known bug stands in the brief report. With COREWALK_BRIEF_GDB=1 it also counts what gdb's bt full says in as
// many bytes.
func TestBriefTells(t *testing.T) {
	t.Parallel()
	bugs := knownBugs(t)
	gdb := ""
	if os.Getenv("COREWALK_BRIEF_GDB") != "" { // it takes a minute
		gdb, _ = exec.LookPath("gdb")
	}
	root := fixture.Get(t, "amd64-null-call").Sysroot(t)
	all, told, gdbs := 0, 0, 0
	for _, build := range blameBuilds {
		blameCores(t, build, func(program, way, core string) {
			b, ok := bugs[way]
			if !ok {
				return
			}
			all++
			bin := fixture.Case{Dir: filepath.Join(fixture.Root(t), "testdata", "blame", build)}.File(t, program)
			target, err := corewalk.Open(context.Background(), core, corewalk.WithSysroot(root), corewalk.WithExecutable(bin), corewalk.WithDebugDir(t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: report.TextOptions{}})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := report.WriteBrief(&text, r, report.TextOptions{}, report.BriefSize); err != nil || text.Len() > report.BriefSize {
				t.Fatalf("%s %s: %d bytes, %v", build, way, text.Len(), err)
			}
			if b.tells(text.String()) {
				told++
			} else {
				t.Logf("%s %s: neither %s nor %q", build, way, b.line, b.from)
			}
			if gdb == "" {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			out, _ := exec.CommandContext(ctx, gdb, "-nx", "-batch", "-ex", "set sysroot "+root, "-ex", "bt full", bin, core).Output()
			if b.tells(string(out[:min(len(out), report.BriefSize)])) {
				gdbs++
			}
		})
	}
	t.Logf("%d of %d", told, all)
	if gdb != "" {
		t.Logf("gdb: %d", gdbs)
	}
	if all < 100 || told*100 < all*90 {
		t.Errorf("%d of %d known bugs", told, all)
	}
}
