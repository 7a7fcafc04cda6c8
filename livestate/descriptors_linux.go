package livestate

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDescriptors is how many descriptors of a process are looked at for the other end of a pipe.
const maxDescriptors = 4096

// Descriptor says what a file descriptor of the process refers to now, as proc(5) does: a path, "socket:[inode]",
// "pipe:[inode]", "anon_inode:[eventpoll]"; "" if it is not open. Of a pipe it says which descriptors of the process have the other end.
func (p *Process) Descriptor(fd int) string {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd))
	if err != nil || !strings.HasPrefix(link, "pipe:") {
		return link
	}
	writes := p.writes(strconv.Itoa(fd))
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", p.pid))
	if err != nil {
		return link
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxDescriptors)
	var others []string
	for _, name := range names {
		if l, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.pid, name)); err == nil && l == link && p.writes(name) != writes {
			others = append(others, name)
		}
	}
	switch {
	case len(others) > 0:
		return link + ", other end: " + strings.Join(others, ", ")
	case len(names) < maxDescriptors:
		return link + ", other end: another process"
	}
	return link
}

// writes reports whether a descriptor was opened for writing.
func (p *Process) writes(fd string) bool {
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", p.pid, fd))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(info, []byte("flags:"))
	if !ok {
		return false
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	flags, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 8, 32)
	return err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY
}

// LockHolder returns the process that holds a lock on the file of a descriptor, for which somebody waits; 0 if there is none,
// or if the kernel does not say which it is.
func (p *Process) LockHolder(fd int) int {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd), &st) != nil {
		return 0
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	return lockHolder(locks, p.pid, fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino))
}

// lockHolder finds in /proc/locks the lock on a file that a process waits for: each lock has a line, and those
// that wait for it follow with "->".
func lockHolder(locks []byte, pid int, file string) int {
	holder := 0
	for line := range strings.Lines(string(locks)) {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		if f[1] != "->" {
			holder = 0
			if n, err := strconv.Atoi(f[4]); err == nil && f[5] == file && n > 0 {
				holder = n
			}
			continue
		}
		if len(f) > 6 && f[5] == strconv.Itoa(pid) && f[6] == file {
			return holder
		}
	}
	return 0
}

// Descriptor is as Process.Descriptor: what the descriptor refers to now.
func (s *Snapshot) Descriptor(fd int) string { return s.p.Descriptor(fd) }

// LockHolder is as Process.LockHolder.
func (s *Snapshot) LockHolder(fd int) int { return s.p.LockHolder(fd) }
