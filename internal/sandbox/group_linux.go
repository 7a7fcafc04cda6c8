package sandbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Group is a control group (cgroup v2) with a limit of memory, which also counts what a process's children and the pages of files that
// it reads take. The kernel ends what is in it when the limit is reached.
type Group struct{ dir string }

const (
	groupMount = "/sys/fs/cgroup"
	groupName  = "corewalk-" // and the id of the process that made it
)

// NewGroup makes a group below this process's own, where that may have some: it does where the kernel has started the process as root, or
// the group was delegated. Elsewhere it returns nil, which is a group that limits nothing.
func NewGroup(most uint64) *Group {
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	return groupBelow(groupMount, self, most)
}

// groupBelow is NewGroup with what /proc/self/cgroup has, for a hierarchy that is mounted at a place.
func groupBelow(mount string, self []byte, most uint64) *Group {
	at, ok := "", false
	for line := range bytes.Lines(self) {
		if path, unified := bytes.CutPrefix(bytes.TrimRight(line, "\n"), []byte("0::/")); unified {
			at, ok = filepath.Join(mount, string(path)), true
		}
	}
	if !ok {
		return nil
	}
	controllers, err := os.ReadFile(filepath.Join(at, "cgroup.subtree_control"))
	if err != nil || !slices.Contains(strings.Fields(string(controllers)), "memory") {
		return nil
	}
	forget(at)
	g := &Group{filepath.Join(at, groupName+strconv.Itoa(os.Getpid()))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil
	}
	if g.set("memory.max", strconv.FormatUint(most, 10)) != nil {
		g.Remove()
		return nil
	}
	_ = g.set("memory.swap.max", "0") // not there without swap
	_ = g.set("memory.oom.group", "1")
	return g
}

// forget removes groups of processes that were killed before they could.
func forget(at string) {
	old, _ := filepath.Glob(filepath.Join(at, groupName+"*"))
	for _, dir := range old {
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(filepath.Base(dir), groupName)); os.IsNotExist(err) {
			_ = os.Remove(dir) // only if it is empty
		}
	}
}

func (g *Group) set(name, value string) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Add puts a process into the group. One that cannot be has the other limits.
func (g *Group) Add(pid int) {
	if g != nil {
		_ = g.set("cgroup.procs", strconv.Itoa(pid))
	}
}

// Remove removes the group, once its processes have ended.
func (g *Group) Remove() {
	if g != nil {
		_ = os.Remove(g.dir)
	}
}
