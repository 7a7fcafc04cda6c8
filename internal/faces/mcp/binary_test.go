package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The client of the protocol's own package talks to the program over standard input and output.
func TestProgram(t *testing.T) {
	fixture.Long(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	fixture.Programs(t, dir, nil, "corewalk")
	c := fixture.Get(t, "amd64-vars-c-O0")
	core := filepath.Join(dir, "core")
	if err := os.Link(c.Core(t), core); err != nil {
		data, err := os.ReadFile(c.Core(t))
		if err == nil {
			err = os.WriteFile(core, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, redact := range []bool{false, true} {
		// Without its path, the program is found beside the core, also by what reads a redacted copy of that.
		dump := map[string]any{"path": "core", "binary": linked(t, dir, c.Binary(t))}
		args := []string{"mcp", "--sysroot", c.Sysroot(t), "--db", filepath.Join(dir, "triage.db"), dir}
		if redact {
			args = append(args, "--redact")
			delete(dump, "binary")
		}
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "corewalk"), args...)
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := s.ListTools(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range tools.Tools {
			names = append(names, x.Name)
		}
		if got := strings.Join(names, " "); got != "open_dump summary threads frame variables print memory_at memory waits triage_groups similar" {
			t.Errorf("tools: %s", got)
		}
		call := func(name string, args map[string]any) string {
			r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
			if err != nil || r.IsError || len(r.Content) != 1 {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			return r.Content[0].(*mcp.TextContent).Text
		}
		call("open_dump", dump)
		summary := call("summary", map[string]any{"dump": 1})
		if !strings.Contains(summary, "died of SIGSEGV") || !strings.Contains(summary, "vars.c:66") {
			t.Errorf("summary:\n%s", summary)
		}
		list := call("frame", map[string]any{"dump": 1})
		if !strings.Contains(list, "frame 2: #1 arrays at vars.c:91") {
			t.Fatalf("frames:\n%s", list)
		}
		text := call("print", map[string]any{"dump": 1, "frame": 2, "expression": "text"})
		if secret := strings.Contains(text, `fixed \"text\"`); secret == redact {
			t.Errorf("redacted %v: %s", redact, text)
		}
		call("triage_groups", nil)
		call("similar", map[string]any{"dump": 1})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// linked makes a file readable below dir.
func linked(t *testing.T, dir, path string) string {
	t.Helper()
	if path == "" {
		return ""
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path)
}
