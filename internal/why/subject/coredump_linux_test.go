package subject

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestCoredumpAttributes: what systemd-coredump recorded in extended attributes comes before what the file's name says; what is no
// number is none.
func TestCoredumpAttributes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "core.prog.33.0123456789abcdef0123456789abcdef.4242.1763820000000000")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) {
		t.Helper()
		if err := syscall.Setxattr(path, "user.coredump."+name, []byte(value), 0); err != nil {
			t.Skipf("no extended attributes of users: %v", err)
		}
	}
	set("uid", "33\n")
	set("gid", "root")
	if d := coredumpOf(path); d.uid == nil || *d.uid != 33 || d.gid != nil || d.host != "" || !d.time.Equal(time.UnixMicro(1763820000000000)) {
		t.Errorf("%+v", d)
	}
	set("gid", "34")
	set("hostname", "web1")
	set("exe", "/usr/bin/prog")
	set("timestamp", "1600000000000001")
	if d := coredumpOf(path); d.gid == nil || *d.gid != 34 || d.host != "web1" || d.exe != "/usr/bin/prog" || !d.time.Equal(time.UnixMicro(1600000000000001)) {
		t.Errorf("%+v", d)
	}
	set("timestamp", "-1")
	if d := coredumpOf(path); !d.time.IsZero() {
		t.Errorf("%+v", d)
	}
}
