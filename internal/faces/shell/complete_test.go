package shell_test

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces/shell"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

func open(t testing.TB, name string) (*shell.Shell, *bytes.Buffer) {
	t.Helper()
	c := fixture.Get(t, name)
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)),
		corewalk.WithSourceMap("/src", filepath.Join(fixture.Root(t), "testdata", "src")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	var out bytes.Buffer
	sh, err := shell.New(context.Background(), session.New(target, session.Options{}), &out, report.TextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return sh, &out
}

// A line is completed by what may stand there: commands, kinds of info, variables, members. What comes before and after the
// word stays.
func TestComplete(t *testing.T) {
	ctx := context.Background()
	sh, _ := open(t, "amd64-vars-c-O0")
	if err := sh.Run(ctx, "frame 2"); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"b":                "|backtrace,bt|",
		"":                 "|*|",
		"info th":          "info |threads|",
		"help dis":         "help |disas,disassemble,display|",
		"p he":             "p |here|",
		"p 1 + he":         "p 1 + |here|",
		"p here.n":         "p here.|name,next|",
		"p here.next->we":  "p here.next->|weight|",
		"p *here.next->we": "p *here.next->|weight|",
		"p list->":         "p list->|flags,name,next,visit,weight|",
		"p nope.":          "p nope.||",
		"p nope->a":        "p nope->a||",
		"p/x su":           "p/x |sum|",
		"bt fu":            "bt fu||",
	} {
		before, words, after := sh.Complete(ctx, line, len(line))
		slices.Sort(words)
		got := before + "|" + strings.Join(words, ",") + "|" + after
		if strings.HasSuffix(want, "|*|") {
			if len(words) < 10 {
				t.Errorf("%q: %s", line, got)
			}
			continue
		}
		if strings.HasSuffix(want, "flags,name,next,visit,weight|") {
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
			got = before + "|" + strings.Join(words, ",") + "|" + after
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
	if before, words, after := sh.Complete(ctx, "p su + 1", 4); before != "p " || !slices.Equal(words, []string{"sum"}) || after != " + 1" {
		t.Errorf("in the middle: %q, %q, %q", before, words, after)
	}
	for pos := -3; pos < 20; pos++ { // any position is harmless
		sh.Complete(ctx, "p here.next->na", pos)
	}
}

// Functions are listed below their modules, with where they begin.
func TestInfoFunctions(t *testing.T) {
	sh, out := open(t, "amd64-vars-c-O0")
	if err := sh.Run(context.Background(), "info functions ^stop$"); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^/\S+/vars:\n  0x[0-9a-f]+ stop at vars\.c:\d+\n$`).MatchString(out.String()) {
		t.Errorf("got %q", out)
	}
	if err := sh.Run(context.Background(), "info functions nothing of this name"); err == nil {
		t.Error("no function, and no error")
	}
}

// In a frame of a library people ask about the program.
func TestProgramFromLibrary(t *testing.T) {
	sh, out := open(t, "amd64-vars-c-O0")
	for _, line := range []string{"frame function main", "up", "p total", "p names[1]", "p (char (*)(int))total"} {
		if err := sh.Run(context.Background(), line); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"libc.so.6", "$1 = 42   (of vars)", `"one"`, "(char (*)(int)) 0x2a"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// Numbers beyond all others lead nowhere.
func TestFarNumbers(t *testing.T) {
	sh, _ := open(t, "amd64-vars-c-O0")
	for line, want := range map[string]string{"up 9223372036854775807": "no frame", "down -9223372036854775808": "no frame", "up -9223372036854775808": "youngest", "down 9223372036854775807": "youngest",
		"frame 9223372036854775807": "no frame", "frame -1": "youngest"} {
		if err := sh.Run(context.Background(), line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// FuzzRun runs any line.
func FuzzRun(f *testing.F) {
	for _, s := range []string{"bt", "p here", "x/4gx $sp", "info registers", "frame 1", "up", "list", "p/x 1", "x/s list->name", "disas", "info symbol 0", "thread 1"} {
		f.Add(s)
	}
	for _, command := range []string{"up ", "down ", "frame ", "bt ", "info tasks ", "thread ", "task ", "x/", "x ", "disas ", "p/x "} {
		f.Add(command + "9223372036854775807")
		f.Add(command + "-9223372036854775808")
	}
	sh, out := open(f, "amd64-vars-c-O0")
	f.Fuzz(func(_ *testing.T, line string) {
		_ = sh.Run(context.Background(), line)
		sh.Complete(context.Background(), line, len(line))
		out.Reset()
	})
}
