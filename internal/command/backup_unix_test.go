//go:build unix

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/serving"
)

// What an operator gets wrong is said: a directory without a service, one that a service uses, one of another user, no operand.
func TestBackupCommands(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	said := func(want string, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		status := run(append([]string{"serve"}, args...), env{ctx: t.Context(), stdout: &out, stderr: &errs})
		if (status == 0) != (want == "") || !strings.Contains(errs.String(), want) || status != 0 && out.Len() != 0 {
			t.Errorf("%v: %d %s%s, want %s", args, status, out.String(), errs.String(), want)
		}
	}
	dir, to, empty := t.TempDir(), filepath.Join(t.TempDir(), "backup"), t.TempDir()
	said("", "token", "add", "--scope", "read", "--dir", dir)
	said("which directory?", "backup", "--dir", dir)
	said("which directory?", "import", "--dir", dir, "a", "b")
	said("no service of this user runs", "backup", to)
	said("has no service", "backup", "--dir", empty, to)
	said("there is no service", "import", "--dir", empty, to)
	if serving.Exists(empty) {
		t.Error("a service was made")
	}
	said("", "backup", "--dir", dir, to)
	said("has a service", "restore", "--dir", dir, to)
	said("no whole backup", "restore", "--dir", filepath.Join(t.TempDir(), "new"), empty)
	// One that was tampered with leads nowhere else.
	about := filepath.Join(to, "backup.json")
	text, err := os.ReadFile(about)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(about, []byte(strings.Replace(string(text), `"Versions": {`, `"Versions": {"../../outside": 1,`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	said(`project "../../outside"`, "restore", "--dir", filepath.Join(t.TempDir(), "new"), to)
	if err := os.WriteFile(about, text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "backup.json"), []byte(`{"Format":1,"Data":"data-1","Saved":{"Kind":"postgres"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said("is restored by corewalkd restore", "restore", "--dir", filepath.Join(t.TempDir(), "new"), other)
	used := t.TempDir()
	unlock, err := lockDir(used)
	if err != nil {
		t.Fatal(err)
	}
	said("another corewalk serve uses", "restore", "--dir", used, to)
	unlock()
	said("", "restore", "--dir", used, to)
	t.Run("another user's", func(t *testing.T) {
		if err := os.Chown(used, 12345, -1); err != nil {
			t.Skip(err) // only root can give a directory away
		}
		said("belongs to user 12345", "import", "--dir", used, empty)
		said("belongs to user 12345", "restore", "--dir", used, to)
	})
}
