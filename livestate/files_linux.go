package livestate

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Root returns the process's root directory, as a path that this program can open, if the
// process is in another mount namespace or called chroot; "" if it has this program's root.
func (p *Process) Root() string {
	own, err1 := os.Readlink("/proc/self/ns/mnt")
	its, err2 := os.Readlink(procPath(p.living(), "ns/mnt"))
	root, err3 := os.Readlink(procPath(p.living(), "root"))
	if err1 == nil && err2 == nil && err3 == nil && own == its && root == "/" {
		return ""
	}
	if err2 != nil && err3 != nil {
		return "" // they cannot be compared: use the root of this program
	}
	return procPath(p.living(), "root")
}

// HeldFiles lists paths that open the file that the process has mapped, even if it was
// removed or replaced: /proc/PID/exe for the main program, and /proc/PID/map_files, which
// only root may read.
func (p *Process) HeldFiles(path string, main bool) []string {
	var out []string
	if main {
		out = append(out, procPath(p.living(), "exe"))
	}
	maps := p.maps()
	if maps == nil || path == "" {
		return out
	}
	for i := range maps.list {
		if m := &maps.list[i]; m.Path != "" && strings.TrimSuffix(m.Path, " (deleted)") == path {
			return append(out, procPath(p.living(), fmt.Sprintf("map_files/%x-%x", m.Start, m.End)))
		}
	}
	return out
}

// maxCommandLine limits the bytes read of a command line.
const maxCommandLine = 4096

// CommandLine returns the process's arguments, separated by spaces; "" if not known.
func (p *Process) CommandLine() string {
	f, err := os.Open(procPath(p.living(), "cmdline"))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxCommandLine)
	n, _ := p.mem.wait.read(b, func(b []byte) int { // it is in the process's memory
		n, _ := io.ReadFull(f, b)
		return n
	})
	return strings.TrimSpace(strings.ReplaceAll(string(b[:n]), "\x00", " "))
}
