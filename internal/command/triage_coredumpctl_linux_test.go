package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTriageCoredumpctl: dumps in the directory of systemd-coredump died when their extended attributes say. The directory is one
// of a mount namespace.
func TestTriageCoredumpctl(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("no mount namespace: %v: %s", err, out)
	}
	dir, args := linkedDumps(t, 1)
	name := filepath.Join(dir, "core.prog.33.0123456789abcdef0123456789abcdef.4242.1763820000000000")
	if err := os.Rename(filepath.Join(dir, "core.00000"), name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setxattr(name, "user.coredump.timestamp", []byte("1600000000000000"), 0); err != nil {
		t.Skipf("no extended attributes of users: %v", err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const script = `mount -t tmpfs none /var/lib && mkdir -p /var/lib/systemd/coredump && cp --preserve=xattr "$0"/core.* /var/lib/systemd/coredump && exec corewalk "$@"`
	cmd := exec.Command("unshare", append([]string{"-m", "sh", "-c", script, dir}, append(args, "--no-db", "--source", "coredumpctl")...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "cp:") {
		t.Skipf("tmpfs has no extended attributes of users: %s", out)
	}
	if err != nil || !strings.Contains(string(out), `"path":"/var/lib/systemd/coredump/core.prog.`) || !strings.Contains(string(out), `"time":"2020-09-13T12:26:40Z"`) {
		t.Errorf("%v: %s", err, out)
	}
}
