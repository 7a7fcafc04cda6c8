//go:build amd64 || arm64 || 386

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// notTried are system calls that make a process without being told how, and those of the kernel's own probes (uretprobe, uprobe), for which it asks
// no filter: whoever else makes one dies of SIGILL.
var notTried = map[string][]uint32{"amd64": {57, 58, 335, 336}, "386": {2, 190}}

// lastCall is above the numbers of system calls that Linux has, with room for new ones.
const lastCall = 1024

// everyCall makes each system call that a confined process has no use for, with arguments that no call takes. TestProgram has
// those that are left out.
func everyCall() error {
	if os.Getenv(envMode) != "confined" {
		return nil
	}
	needed := slices.Concat(allowed, allowedHere)
	for _, c := range slices.Concat(checkedCalls(uint32(os.Getpid())), checkedHere) {
		needed = append(needed, c.number)
	}
	for nr := range uint32(lastCall) {
		if slices.Contains(needed, nr) || slices.Contains(notTried[runtime.GOARCH], nr) {
			continue
		}
		err := call(uintptr(nr), nobody, nobody, nobody, nobody, nobody, nobody)
		if !slices.Contains(refused, errno(err)) {
			return fmt.Errorf("system call %d: %v", nr, err)
		}
	}
	return unix.EPERM
}

// everyPath opens the files and directories of the system that are listed in a file, one a line.
func everyPath(list string) error {
	b, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	tried := 0
	for path := range strings.Lines(string(b)) {
		path = strings.TrimSuffix(path, "\n")
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
			if os.Getenv(envMode) != "confined" {
				return nil // one is enough
			}
			return fmt.Errorf("%s is open", path)
		}
		tried++
	}
	if tried < 20 {
		return fmt.Errorf("only %d paths", tried)
	}
	return unix.EACCES
}

// own are a process's own program and standard files, by another name.
var own = map[string]bool{"/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/proc/self/exe": true}

// systemPaths lists what lies in the directories of a system that are not for a confined process: what it may read is below readable.
func systemPaths(readable []string) (list []string) {
	inside := func(path string) bool {
		return slices.ContainsFunc(readable, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
	}
	for _, dir := range []string{"/", "/dev", "/dev/pts", "/dev/shm", "/etc", "/home", "/mnt", "/proc", "/proc/1", "/proc/self", "/proc/sys/kernel", "/root", "/run", "/srv", "/sys",
		"/sys/kernel", "/sys/fs/cgroup", "/tmp", "/var", "/var/lib", "/var/log", os.TempDir()} {
		list = append(list, dir)
		fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
			path := filepath.Join(dir, name)
			target, _ := filepath.EvalSymlinks(path)
			switch {
			case err != nil:
				return fs.SkipDir
			case name == ".", own[path]:
				return nil
			case !inside(path) && !inside(target) && !strings.Contains(path, "watchdog") && !strings.Contains(path, "\n"):
				list = append(list, path)
			}
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	return list
}
