//go:build unix

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/serving"
)

// Without --dir tokens are those of the service that runs; where there is none, or several, nothing is made.
func TestTokensOfRunning(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	token := func(args ...string) (int, string, string) {
		t.Helper()
		var out, errs strings.Builder
		status := run(append([]string{"serve", "token"}, args...), env{ctx: t.Context(), stdout: &out, stderr: &errs})
		return status, out.String(), errs.String()
	}
	add := []string{"add", "--scope", "read"}
	if status, _, said := token(add...); status != 1 || !strings.Contains(said, "no service of this user runs") {
		t.Errorf("%d %s", status, said)
	}
	if _, err := os.Stat(filepath.Join(state, "corewalk", "serve")); err == nil {
		t.Error("a service was made that nobody runs")
	}
	elsewhere := t.TempDir()
	if status, _, said := token("list", "--dir", elsewhere); status != 1 || !strings.Contains(said, "there is no service") {
		t.Errorf("%d %s", status, said)
	}
	// One runs elsewhere.
	serves := func(dir string) (end func()) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		unlock, err := lockDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		over := announce(dir)
		return func() { over(); unlock() }
	}
	end := serves(elsewhere)
	if status, out, said := token(add...); status != 0 || !strings.HasPrefix(out, "cw_") {
		t.Fatalf("%d %s", status, said)
	}
	if !serving.Exists(elsewhere) {
		t.Error("the token is not where the service is")
	}
	if status, out, said := token("list"); status != 0 || !strings.Contains(out, "read") {
		t.Errorf("%d %s %s", status, out, said)
	}
	// Another process says that it serves: which is meant?
	second := t.TempDir()
	unlock, err := lockDir(second)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := runningDir()
	if err := os.WriteFile(filepath.Join(at, "1"), []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, said := token("list"); status != 1 || !strings.Contains(said, "several services run") || !strings.Contains(said, second) {
		t.Errorf("%d %s", status, said)
	}
	if status, _, said := token("list", "--dir", elsewhere); status != 0 {
		t.Errorf("%d %s", status, said)
	}
	// It was killed: its file says nothing any more.
	unlock()
	if status, _, said := token("list"); status != 0 {
		t.Errorf("%d %s", status, said)
	}
	if left, _ := os.ReadDir(at); len(left) != 1 {
		t.Errorf("%v", left)
	}
	end()
	if status, _, said := token("list"); status != 1 || !strings.Contains(said, "no service of this user runs") {
		t.Errorf("%d %s", status, said)
	}
	// That of the default place, which does not run now.
	own := filepath.Join(state, "corewalk", "serve")
	if status, _, said := token("add", "--scope", "read", "--dir", own); status != 0 || !strings.Contains(said, "has no service yet") {
		t.Errorf("%d %s", status, said)
	}
	if status, _, said := token("list"); status != 0 || said != "" {
		t.Errorf("%d %s", status, said)
	}
}
