package handle

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/capture"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/libstate"
)

// A process is one that the kernel keeps while it is dumped. Everything is opened below one descriptor of /proc/PID, so that
// no other process of the same number can take its place.
type process struct {
	dir  int
	mem  *os.File
	pm   *os.File // nil if there is none
	exe  string   // in the process's own root directory
	uid  int      // the user who started it, and that user's group; -1 if it is not known
	gid  int
	anon uint64 // bytes of its own memory
	mnt  uint64 // its mount namespace
	here uint64 // that of this program
}

func openProcess(pid int) (*process, error) {
	dir, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, uid: -1, gid: -1}
	if p.mem, err = p.open("mem", unix.O_RDONLY); err != nil {
		p.close()
		return nil, fmt.Errorf("its memory: %w", err)
	}
	p.pm, _ = p.open("pagemap", unix.O_RDONLY)
	p.exe = p.link("exe")
	for line := range strings.Lines(p.read("status")) {
		key, value, _ := strings.Cut(line, ":")
		f := strings.Fields(value)
		if len(f) == 0 {
			continue
		}
		switch key {
		case "Uid":
			p.uid, _ = strconv.Atoi(f[0])
		case "Gid":
			p.gid, _ = strconv.Atoi(f[0])
		case "RssAnon", "RssShmem", "VmSwap":
			kb, _ := strconv.ParseUint(f[0], 10, 40)
			p.anon += kb << 10
		}
	}
	p.mnt, p.here = p.namespace("mnt"), namespace("/proc/self/ns/mnt")
	return p, nil
}

func (p *process) close() {
	if p.mem != nil {
		p.mem.Close()
	}
	if p.pm != nil {
		p.pm.Close()
	}
	unix.Close(p.dir)
}

func (p *process) open(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(p.dir, name, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// maxText is how much of a file of /proc is read, in bytes.
const maxText = 64 << 10

func (p *process) read(name string) string {
	f, err := p.open(name, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxText))
	return string(b)
}

func (p *process) link(name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.dir, name, buf)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), " (deleted)")
}

func (p *process) namespace(kind string) uint64 {
	var st unix.Stat_t
	if unix.Fstatat(p.dir, "ns/"+kind, &st, 0) != nil {
		return 0
	}
	return st.Ino
}

func namespace(path string) uint64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// process returns what a capture reads.
func (p *process) process() capture.Process {
	c := capture.Process{Memory: p.mem, Resident: p.anon}
	if p.pm != nil {
		c.Pagemap = p.pm
	}
	return c
}

// container says in which container the process is; nil if its namespaces are those of this program.
func (p *process) container(host string) (*Container, string) {
	groups := p.read("cgroup")
	_, cgroup, _ := strings.Cut(strings.TrimSuffix(groups, "\n"), "::")
	c := &Container{PID: p.namespace("pid"), Mnt: p.mnt, Host: host}
	c.named(groups)
	if c.ID == "" && c.PID == namespace("/proc/self/ns/pid") && c.Mnt == p.here {
		return nil, cgroup
	}
	return c, cgroup
}

// A file is one that the process has mapped, or that has debug information of such a file.
type file struct {
	f       *os.File
	path    string // as the process knows it
	buildID string // in hexadecimal; "" for none
	debug   bool
}

func closeFiles(list []file) {
	for _, f := range list {
		f.f.Close()
	}
}

// maxFiles is how many files of a process are kept: as many as may be open.
const maxFiles = 400

// files opens the files of the process's modules that this machine does not have at the same path, or that are not those of
// packages: another release of a program will be there soon, and who makes the report may not read them.
func (p *process) files(core *corestate.ELFCore) (list []file) {
	root := -1
	libs, _ := core.LibraryTracker().Libraries(false)
	for _, lib := range libs {
		if len(list) >= maxFiles {
			break
		}
		if !filepath.IsAbs(lib.Path) || lib.Kind == libstate.VDSO || lib.Kind == libstate.JIT || len(lib.Mappings) == 0 {
			continue
		}
		if p.mnt == p.here && !lib.Deleted && find.InPackages(lib.Path) {
			continue
		}
		id := hex.EncodeToString(lib.BuildID)
		for _, m := range lib.Mappings { // by the mapping: the very file, whatever is at its path
			fd, err := unix.Openat(p.dir, fmt.Sprintf("map_files/%x-%x", m.Start, m.End), unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				continue
			}
			if f := p.readable(fd, lib.Path); f != nil {
				list = append(list, file{f: f, path: lib.Path, buildID: id})
				break
			}
		}
		if id == "" || p.mnt == p.here {
			continue
		}
		if root < 0 {
			if root, _ = unix.Openat(p.dir, "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); root < 0 {
				continue
			}
			defer unix.Close(root)
		}
		p.asUser(func() {
			if f := within(root, filepath.Join(find.DefaultDebugDir, ".build-id", id[:2], id[2:]+".debug")); f != nil {
				list = append(list, file{f: f, path: f.Name(), buildID: id, debug: true})
			}
		})
	}
	return list
}

// asUser does what opens files with the rights of the process's user, if that is not root: anybody can make a namespace in which what is to be opened is a
// link to a file that only root may read.
func (p *process) asUser(do func()) {
	if os.Geteuid() != 0 || p.uid == 0 {
		do()
		return
	}
	if p.uid < 0 || p.gid < 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for ever: the thread ends with its rights
		if _, _, err := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); err != 0 {
			return
		}
		unix.Setfsgid(p.gid)
		unix.Setfsuid(p.uid)
		if now, err := unix.SetfsuidRetUid(-1); err == nil && now == p.uid {
			do()
		}
	}()
	<-done
}

// readable is regular for a file that the process has mapped. Its user may run programs that only others may read.
func (p *process) readable(fd int, name string) (f *os.File) {
	asked := false
	p.asUser(func() {
		asked = true
		f = regular(fd, name)
	})
	if !asked {
		unix.Close(fd)
	}
	return f
}

// within opens a regular file below a root directory, which links do not leave.
func within(root int, path string) *os.File {
	fd, err := unix.Openat2(root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil
	}
	return regular(fd, path)
}

// regular opens for reading what fd, which it closes, is the place of, if that is a regular file of a real file system: to open a device, a pipe or what
// the kernel makes up may do something, or wait, and root reads there what the process may not.
func regular(fd int, name string) *os.File {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || mmapfile.MadeUp(fd) {
		return nil
	}
	f, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0) // who has a lease is not waited for
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(f), name)
}
