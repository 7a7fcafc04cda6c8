package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Where the system has no group to give, there is none, and nothing is left.
func TestNoGroup(t *testing.T) {
	for name, c := range map[string]struct{ self, controllers string }{
		"only version 1":         {"4:memory:/a\n", "memory"},
		"no memory below":        {"0::/a\n", "cpu pids"},
		"a name that only looks": {"0::/a\n", "cpu memory2"},
		"another group":          {"0::/b\n", "memory"},
		"no limit can be set":    {"4:memory:/\n0::/a\n", "cpu memory pids\n"},
	} {
		mount := t.TempDir()
		at := filepath.Join(mount, "a")
		stale := filepath.Join(at, groupName+strconv.Itoa(1<<30))
		if err := os.MkdirAll(stale, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "cgroup.subtree_control"), []byte(c.controllers), 0o644); err != nil {
			t.Fatal(err)
		}
		g := groupBelow(mount, []byte(c.self), 1<<30)
		g.Add(1)
		g.Remove()
		left, _ := filepath.Glob(filepath.Join(at, groupName+"*"))
		reached := name == "no limit can be set" // which the kernel's directory does not refuse
		if g != nil || len(left) > 1 || reached != (len(left) == 0) {
			t.Errorf("%s: %v, left %v", name, g, left)
		}
	}
}

// A process in a group has its limit.
func TestGroup(t *testing.T) {
	const most = 256 << 20
	g := NewGroup(most)
	if g == nil {
		t.Skip("this machine has delegated no cgroup v2 with memory to this process")
	}
	defer g.Remove()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.Add(cmd.Process.Pid)
	in, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/cgroup")
	limit, _ := os.ReadFile(filepath.Join(g.dir, "memory.max"))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !strings.Contains(string(in), filepath.Base(g.dir)) || strings.TrimSpace(string(limit)) != strconv.Itoa(most) {
		t.Errorf("it is in %q with %q", in, limit)
	}
	g.Remove()
	if _, err := os.Stat(g.dir); !os.IsNotExist(err) {
		t.Error("the group is left")
	}
}
