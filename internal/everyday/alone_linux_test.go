package everyday

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAlone: the program alone, copied to an empty directory, with nothing in its PATH and an empty home, does everything of one machine: no other
// program is needed.
func TestAlone(t *testing.T) {
	t.Parallel()
	made, err := os.ReadFile(tested(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, home, dumps := t.TempDir(), t.TempDir(), t.TempDir()
	program := filepath.Join(dir, "corewalk")
	if err := os.WriteFile(program, made, 0o755); err != nil {
		t.Fatal(err)
	}
	c := fixture.Get(t, "amd64-vars-c-O0")
	core, err := os.ReadFile(c.Core(t))
	if err == nil {
		err = os.WriteFile(filepath.Join(dumps, "core"), core, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"--sysroot", c.Sysroot(t), "--search", c.Dir, "--debug-dir", t.TempDir()}
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=", "HOME=" + home}
		return cmd
	}
	with := func(first string, more ...string) []string { return append(append([]string{first}, files...), more...) }
	missing := "file://" + t.TempDir() // has no file
	for _, tt := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{args: with("report", "--debuginfod="+missing, filepath.Join(dumps, "core")), want: "write of 4 bytes"},
		{args: with("info", filepath.Join(dumps, "core")), want: "vars[7837]"},
		{args: with("triage", dumps), want: "1 group, 1 new"},
		{args: []string{"triage", "list"}, want: "vars.c:66"},
		{args: with("print", filepath.Join(dumps, "core"), "why[0]"), want: "97 'a'"},
		{args: with("shell", filepath.Join(dumps, "core")), stdin: "bt\nquit\n", want: "vars.c:66"},
		{args: with("dap"), stdin: lengths(message(`{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`)), want: `"success":true`},
		{args: with("mcp", dumps), want: "dump 1 is open", stdin: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open_dump","arguments":{"path":"core"}}}` + "\n"},
		{args: []string{"cache"}, want: home},
	} {
		cmd := command(tt.args...)
		cmd.Stdin = strings.NewReader(tt.stdin)
		out, err := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != 0 && status != 3 || !strings.Contains(string(out), tt.want) {
			t.Errorf("corewalk %s: %v, no %q in\n%s", strings.Join(tt.args, " "), err, tt.want, out)
		}
	}
	aloneServes(t, command(with("serve", "--listen", "127.0.0.1:0")...), core)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("beside the program: %v, %v", list, err)
	}
}

// aloneServes: a service takes a dump, groups it and ends.
func aloneServes(t *testing.T, cmd *exec.Cmd, core []byte) {
	t.Helper()
	var said watched
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	defer cmd.Process.Kill()
	page := regexp.MustCompile(`in (\S+/first-token): (?s:.*) (http://127\.0\.0\.1:\d+)/`)
	until := func(what string, done func() bool) {
		t.Helper()
		for range 600 {
			if done() {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Fatalf("%s: %s", what, said.text())
	}
	var at []string
	until("no page", func() bool { at = page.FindStringSubmatch(said.text()); return at != nil })
	token, err := os.ReadFile(at[1])
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path string, body []byte) (status int, answer string) {
		r, err := http.NewRequestWithContext(t.Context(), method, at[2]+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, answer := ask("POST", "/api/v1/projects/default/dumps", core); status/100 != 2 {
		t.Fatalf("%d %s", status, answer)
	}
	until("no group", func() bool {
		_, answer := ask("GET", "/api/v1/projects/default/groups", nil)
		var list map[string]any
		return json.Unmarshal([]byte(answer), &list) == nil && strings.Contains(answer, "vars.c")
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.text())
	}
}

// watched is what a running command has said.
type watched struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
