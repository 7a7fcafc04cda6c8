package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage"
)

// Every flag is in its command's --help, and in docs/reference/flags.md (TestFlagsPage makes that page; this counts).
func TestFlagsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs/reference/flags.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range documented() {
		for _, c := range p.commands {
			if c.flags == nil {
				continue
			}
			c.flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && !strings.Contains(string(page), "`--"+f.Name) {
					t.Errorf("docs/reference/flags.md does not tell of --%s of %s", f.Name, c.name)
				}
			})
		}
	}
	for _, cmd := range []struct {
		args []string
		set  *pflag.FlagSet
	}{{[]string{"--help"}, new(reportFlags).set()}, {[]string{"info", "--help"}, new(infoFlags).set()},
		{[]string{"live", "--help"}, new(liveFlags).set()}} {
		var out, errs bytes.Buffer
		if status := run(cmd.args, env{context.Background(), nil, &out, &errs, nil, nil}); status != 0 || errs.Len() > 0 {
			t.Errorf("%v: status %d, %s", cmd.args, status, errs.String())
		}
		cmd.set.VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || !strings.Contains(out.String(), " --"+f.Name+" ") {
				t.Errorf("%v does not tell of --%s", cmd.args, f.Name)
			}
		})
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(line)); n > 105 {
				t.Errorf("%v: a line of %d columns: %s", cmd.args, n, line)
			}
		}
	}
}

// Every subcommand is in the first page of help.
func TestSubcommandsHaveHelp(t *testing.T) {
	for _, name := range withHelp() {
		if !strings.Contains(usageText, "\n  corewalk "+name+" ") || !strings.Contains(usageText, "(corewalk "+name+" --help)") {
			t.Errorf("corewalk --help does not tell of corewalk %s", name)
		}
	}
}

// What a supervisor of triage was given comes to its analysis process as it is, also
// where it looks like something else.
func TestGiven(t *testing.T) {
	var f, g triageFlags
	fs := f.set()
	args := []string{"--search", "core.1", "--search=--", "--search", "a,b", "-ro", "core.1", "--debuginfod", "--sysroot", "", "--deadline", "90s", "core.1", "--memory=100"}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	list := given(fs)
	gs := g.set()
	for _, v := range list {
		for _, value := range v.Values {
			if err := gs.Set(v.Name, string(value)); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(g.search, []string{"core.1", "--", "a,b"}) || !slices.Equal(g.sysroots, []string{""}) || !slices.Equal(g.fetch.urls, []string{serversOfEnv}) ||
		g.deadline != 90*time.Second || g.memory != 100<<20 || !g.recursive {
		t.Errorf("%+v became %+v", list, given(gs))
	}
}

// TestStackwalkVariables: what a format has no place for is not found out.
func TestStackwalkVariables(t *testing.T) {
	for format, want := range map[string]corewalk.Locals{formatJSON: corewalk.LocalsAll, formatStackwalk: corewalk.LocalsNone} {
		f := new(reportFlags)
		if err := f.set().Parse([]string{"--format", format, "--locals", "all"}); err != nil {
			t.Fatal(err)
		}
		o, err := f.analyze(env{stdout: io.Discard, stderr: io.Discard})
		if none := want == corewalk.LocalsNone; err != nil || o.Locals != want || o.NoBlame != none {
			t.Errorf("%s: variables %v, no blame %v, %v", format, o.Locals, o.NoBlame, err)
		}
	}
}

// TestFilesOf: what says which files are looked for depends on the flags that name files, and on nothing else.
func TestFilesOf(t *testing.T) {
	search := flagValue{"search", []triage.Exact{"/a", "/b"}}
	for _, c := range []struct {
		settings []flagValue
		want     string
	}{
		{nil, ""},
		{[]flagValue{{"jobs", []triage.Exact{"3"}}, {"format", []triage.Exact{"json"}}}, ""},
		{[]flagValue{{"jobs", []triage.Exact{"3"}}, search}, `search ["/a" "/b"]`},
		{[]flagValue{search, {"sandbox", []triage.Exact{"inside"}}}, `search ["/a" "/b"] sandbox ["inside"]`},
	} {
		if got := filesOf(c.settings); got != c.want {
			t.Errorf("%v: %q, want %q", c.settings, got, c.want)
		}
	}
}
