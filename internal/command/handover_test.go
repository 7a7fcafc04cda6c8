package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/parts"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAlone: without corewalk-full beside it, corewalk says in one line what it needs that for. A server that only the
// environment names is left out.
func TestAlone(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	c := fixture.Get(t, "amd64-inline-tail-O2")
	files := []string{"--sysroot", c.Sysroot(t), "--debug-dir", t.TempDir(), c.Core(t), c.Binary(t)}
	for _, tt := range []struct {
		env, path string
		args      []string
		want      string
		status    int
	}{
		{args: []string{"triage", "--no-db", "."}, want: "triage needs the program corewalk-full, which is not in /", status: exitNothing},
		{args: []string{"triage", "list"}, want: "triage needs", status: exitNothing},
		{args: append([]string{"--debuginfod=http://host"}, files...), want: "--debuginfod: asking servers needs", status: exitNothing},
		{args: append([]string{"--symbol-path=srv*https://host"}, files...), want: "--symbol-path: asking servers needs", status: exitNothing},
		{env: "http://host", args: files, want: "DEBUGINFOD_URLS: asking servers needs", status: exitComplete},
		{path: "srv*https://host", args: files, want: "COREWALK_SYMBOL_PATH: asking servers needs", status: exitComplete},
		{env: "http://host", path: "srv*https://host", args: append([]string{"--debuginfod=none", "--symbol-path="}, files...), status: exitComplete},
		{args: files, status: exitComplete},
		{args: []string{"triage", "--help"}, status: exitComplete},
		{args: []string{"man"}, status: exitComplete},
	} {
		t.Setenv("DEBUGINFOD_URLS", tt.env)
		t.Setenv("COREWALK_SYMBOL_PATH", tt.path)
		var out, errs bytes.Buffer
		status := run(tt.args, env{t.Context(), nil, &out, &errs, parts.Parts{}, nil})
		text := errs.String()
		if status != tt.status || (out.Len() > 0) != (status == exitComplete) || !strings.Contains(text, tt.want) || tt.want == "" && text != "" {
			t.Errorf("%q: status %d\n%s%s", tt.args, status, text, out.String())
		}
		if tt.want != "" && (strings.Count(text, "\n") != 1 || !strings.Contains(text, "go install ")) {
			t.Errorf("%q: %s", tt.args, text)
		}
	}
}
