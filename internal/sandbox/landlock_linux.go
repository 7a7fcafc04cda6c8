package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// Access rights to files.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readTree = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	execFile = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// writeTree has no right to make links, devices, pipes and sockets, or to move files between directories.
	writeTree = readTree | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
)

// abi returns the version of Landlock's interface that the kernel has, 0 if it has none.
func abi() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handled returns everything that a version of Landlock can deny.
func handled(abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	for _, v := range []struct {
		abi             int
		fs, net, scoped uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER, 0, 0},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0},
		{4, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 0},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0},
		{6, 0, 0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	} {
		if abi >= v.abi {
			a.Handled_access_fs, a.Handled_access_net, a.Scoped = a.Handled_access_fs|v.fs, a.Handled_access_net|v.net, a.Scoped|v.scoped
		}
	}
	return a
}

// Start starts cmd under Landlock; the program is to call Enter. If the kernel lacks Landlock (see Missing), it is
// started without.
func Start(cmd *exec.Cmd, p Policy) error {
	// Files that this process inherited are not for the program.
	_ = unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	started := make(chan error, 1)
	go func() {
		// A new process inherits the restrictions of the thread that makes it. The thread stays locked, so
		// that it ends with this goroutine and nothing else of this process is confined.
		runtime.LockOSThread()
		started <- p.start(cmd)
	}()
	return <-started
}

func (p Policy) start(cmd *exec.Cmd) error {
	version := abi()
	if version == 0 {
		return cmd.Start()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0) // the program itself cannot open it
	if err != nil {
		return err
	}
	defer null.Close()
	if cmd.Stdin == nil {
		cmd.Stdin = null
	}
	if cmd.Stdout == nil {
		cmd.Stdout = null
	}
	if cmd.Stderr == nil {
		cmd.Stderr = null
	}
	r, err := newRuleset(version)
	if err != nil {
		return err
	}
	defer unix.Close(r.fd)
	if err := r.add(p, cmd.Path); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("landlock: no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: cannot confine a process: %w", errno)
	}
	return cmd.Start()
}

// A ruleset is a set of Landlock rules.
type ruleset struct {
	fd int
	fs uint64 // the access rights that it handles
}

func newRuleset(version int) (ruleset, error) {
	a := handled(version)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a), 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("landlock: cannot make a ruleset: %w", errno)
	}
	return ruleset{int(fd), a.Handled_access_fs}, nil
}

// add adds the rules of a policy for a program.
func (r ruleset) add(p Policy, program string) error {
	if err := r.addPath(program, execFile); err != nil {
		return err
	}
	if loader := interpreter(program); loader != "" {
		if err := r.addPath(loader, execFile); err != nil {
			return err
		}
	}
	for _, path := range p.Read {
		if err := r.addPath(path, readTree); err != nil {
			return err
		}
	}
	for _, path := range p.Write {
		if err := r.addPath(path, writeTree); err != nil {
			return err
		}
	}
	if p.Files == nil {
		return nil
	}
	for f := range p.Files {
		if err := r.addFile(int(f.Fd()), f.Name(), readTree); err != nil {
			return err
		}
	}
	return nil
}

// interpreter is the dynamic loader, which the kernel executes for a program that is not linked statically.
func interpreter(program string) string {
	m, err := mmapfile.Open(program)
	if err != nil {
		return ""
	}
	defer m.Close()
	f, err := elffile.Parse(m.Data())
	if err != nil {
		return ""
	}
	return f.Interp()
}

// addPath allows access to the file at a path, or to everything below a directory. What this process cannot
// reach itself needs no rule.
func (r ruleset) addPath(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	defer unix.Close(fd)
	return r.addFile(fd, path, access)
}

func (r ruleset) addFile(fd int, path string, access uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFREG:
		access &= execFile
	default:
		return nil // no devices, pipes and sockets
	}
	a := unix.LandlockPathBeneathAttr{Allowed_access: access & r.fs, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&a)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %s: %w", path, errno)
	}
	return nil
}
