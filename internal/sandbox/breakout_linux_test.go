//go:build amd64 || arm64 || 386

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The environment of a process that tries to break out.
const (
	envMode = "SANDBOX_TEST" // confined or free; empty for the test itself
	envDir  = "SANDBOX_DIR"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(envMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	if mode == "confined" {
		if err := Enter(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	results := map[string]syscall.Errno{}
	for name, try := range attempts(os.Getenv(envDir)) {
		results[name] = errno(try.do())
	}
	json.NewEncoder(os.Stdout).Encode(results)
	os.Exit(0)
}

// errno returns the number in an error; EIO for an error without one.
func errno(err error) syscall.Errno {
	var n syscall.Errno
	if err != nil && !errors.As(err, &n) {
		return unix.EIO
	}
	return n
}

// call makes a system call.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, n := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); n != 0 {
		return n
	}
	return nil
}

func text(s string) uintptr {
	b, _ := unix.BytePtrFromString(s)
	texts = append(texts, b)
	return uintptr(unsafe.Pointer(b))
}

// texts are not collected while the kernel reads them.
var texts []*byte

// An attempt does something that a confined process must or must not be able to do.
type attempt struct {
	do func() error
	// may says that a confined process may do it.
	may bool
	// root says that only root gets further than a refusal without the sandbox, elsewhere that some systems refuse
	// it to everybody.
	root, elsewhere bool
}

func open(path string, flags int) func() error {
	return func() error {
		f, err := os.OpenFile(path, flags, 0o600)
		if err == nil {
			f.Close()
		}
		return err
	}
}

func dial(network, address string) func() error {
	return func() error {
		c, err := net.DialTimeout(network, address, 5*time.Second)
		if err == nil {
			_, err = c.Write([]byte("out"))
			c.Close()
		}
		return err
	}
}

// packages are where the libraries of the process are.
var packages = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt"}

const nobody = ^uintptr(0) // no file descriptor, process, address or flag

// attempts lists all attempts. Those that could do harm have an argument that the kernel refuses with another error
// than a sandbox does, after it has admitted the call.
func attempts(dir string) map[string]attempt {
	in := func(name string) string { return filepath.Join(dir, name) }
	parent := uintptr(os.Getppid())
	addresses, _ := os.ReadFile(in("read/addresses"))
	tcp, udp, _ := strings.Cut(string(addresses), " ")
	raw := func(number uintptr, args ...uintptr) attempt {
		return attempt{do: func() error { return call(number, args...) }}
	}
	rootOnly := func(number uintptr, args ...uintptr) attempt {
		a := raw(number, args...)
		a.root = true
		return a
	}
	all := map[string]attempt{
		// What it may do.
		"read":                {do: open(in("read/file"), os.O_RDONLY), may: true},
		"read below":          {do: open(in("read/sub/file"), os.O_RDONLY), may: true},
		"read one file":       {do: open(in("other/one"), os.O_RDONLY), may: true},
		"list":                {do: func() error { _, err := os.ReadDir(in("read")); return err }, may: true},
		"stat":                {do: func() error { _, err := os.Stat(in("secret")); return err }, may: true},
		"write":               {do: func() error { return useDir(in("write")) }, may: true},
		"run":                 {do: busy, may: true},
		"survive a fault":     {do: func() error { return fault(in("write")) }, may: true},
		"say what is missing": {do: missing, may: true},
		"signal to itself":    {do: func() error { return unix.Kill(os.Getpid(), 0) }, may: true},

		// Reading.
		"read outside":           {do: open(in("secret"), os.O_RDONLY)},
		"read home":              {do: open(filepath.Join(os.Getenv("HOME"), ".netrc"), os.O_RDONLY)},
		"read /etc/passwd":       {do: open("/etc/passwd", os.O_RDONLY)},
		"read /etc/shadow":       {do: open("/etc/shadow", os.O_RDONLY), root: true},
		"read beside":            {do: open(in("other/two"), os.O_RDONLY)},
		"list outside":           {do: func() error { _, err := os.ReadDir(dir); return err }},
		"symbolic link":          {do: open(in("read/link"), os.O_RDONLY)},
		"dot dot":                {do: open(in("read")+"/../secret", os.O_RDONLY)},
		"/proc/self/root":        {do: open("/proc/self/root"+in("secret"), os.O_RDONLY)},
		"/proc/self/cwd":         {do: open("/proc/self/cwd/secret", os.O_RDONLY)},
		"relative to a dir":      {do: func() error { return fromDir(in("read"), "../secret") }},
		"/proc/self/fd of a dir": {do: func() error { return throughProc(in("read"), "../secret") }},
		"reopen for writing":     {do: func() error { return reopen(in("read/file")) }},
		"O_PATH and reopen":      {do: func() error { return fromPath(in("secret")) }},
		"memory of init":         {do: open("/proc/1/mem", os.O_RDONLY), elsewhere: true},
		"memory of the parent":   {do: open(fmt.Sprintf("/proc/%d/mem", parent), os.O_RDONLY), elsewhere: true},
		"environment of parent":  {do: open(fmt.Sprintf("/proc/%d/environ", parent), os.O_RDONLY), elsewhere: true},
		"own memory":             {do: open("/proc/self/mem", os.O_RDWR)},
		"device":                 {do: open("/dev/null", os.O_RDWR)},
		"inherited file":         {do: func() error { return inherited(in("read/inherited")) }},

		// Writing.
		"create outside":     {do: open(in("new"), os.O_WRONLY|os.O_CREATE)},
		"create where read":  {do: open(in("read/new"), os.O_WRONLY|os.O_CREATE)},
		"create in /tmp":     {do: func() error { return useDir(os.TempDir()) }},
		"write where read":   {do: open(in("read/file"), os.O_WRONLY)},
		"cut where read":     {do: open(in("read/cut"), os.O_RDONLY|os.O_TRUNC)},
		"truncate":           {do: func() error { return unix.Truncate(in("read/cut"), 0) }},
		"remove":             {do: func() error { return os.Remove(in("read/gone")) }},
		"rename":             {do: func() error { return os.Rename(in("read/moved"), in("read/renamed")) }},
		"hard link":          {do: func() error { return os.Link(in("read/file"), in("write/hard")) }},
		"make symbolic link": {do: func() error { return os.Symlink("/", in("write/soft")) }},
		"make directory":     {do: func() error { return os.Mkdir(in("read/dir"), 0o700) }},
		"make pipe":          {do: func() error { return unix.Mkfifo(in("write/pipe"), 0o600) }},
		"chmod":              {do: func() error { return os.Chmod(in("secret"), 0o644) }},
		"chmod open file":    {do: func() error { return chmodOpen(in("read/file")) }},
		"chown":              {do: func() error { return os.Chown(in("secret"), os.Getuid(), -1) }},
		"set times":          {do: func() error { return os.Chtimes(in("secret"), time.Now(), time.Now()) }},
		"set attribute": {do: func() error { return unix.Setxattr(in("secret"), "user.x", []byte("x"), 0) },
			elsewhere: true}, // the file system may have none

		// The network.
		"tcp":         {do: dial("tcp", tcp)},
		"udp":         {do: dial("udp", udp)},
		"unix":        {do: dial("unix", in("read/socket"))},
		"abstract":    {do: dial("unix", "@"+in("abstract"))},
		"listen":      {do: func() error { l, err := net.Listen("tcp", "127.0.0.1:0"); closeIf(l, err); return err }},
		"raw socket":  rootOnly(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"netlink":     raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		"socket pair": {do: func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},

		// Programs and processes.
		"program":      {do: func() error { return exec.Command("/bin/true").Run() }},
		"execve":       raw(unix.SYS_EXECVE, text(in("absent")), 0, 0),
		"execveat":     raw(unix.SYS_EXECVEAT, nobody, text(""), 0, 0, 0),
		"fork":         {do: fork},
		"user ns":      raw(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS),
		"clone3":       raw(unix.SYS_CLONE3, 0, 0),
		"run memory":   {do: func() error { return unix.Exec("/proc/self/fd/"+memfd(), nil, nil) }},
		"memfd":        {do: func() error { _, err := unix.MemfdCreate("x", 0); return err }},
		"code":         {do: func() error { return code(unix.PROT_READ | unix.PROT_EXEC) }},
		"code later":   {do: codeLater},
		"kill":         raw(unix.SYS_KILL, parent, 0),
		"kill all":     raw(unix.SYS_KILL, nobody, 0),
		"kill group":   raw(unix.SYS_KILL, 0, 0),
		"tgkill":       raw(unix.SYS_TGKILL, parent, parent, 0),
		"tkill":        raw(unix.SYS_TKILL, parent, 0),
		"sigqueue":     raw(unix.SYS_RT_SIGQUEUEINFO, parent, 0, 0),
		"pidfd":        raw(unix.SYS_PIDFD_OPEN, parent, 0),
		"pidfd signal": raw(unix.SYS_PIDFD_SEND_SIGNAL, nobody, 0, 0, 0),
		"ptrace":       raw(unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, parent, 0, 0),
		"vm_readv":     {do: func() error { return peek(int(parent)) }, elsewhere: true},
		"limits":       raw(unix.SYS_PRLIMIT64, parent, unix.RLIMIT_CORE, 0, 0),
		"own limits":   {do: func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) }},
		"dumpable":     raw(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1),
		"terminal":     raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, text("x")),
		"SIGIO":        raw(unix.SYS_FCNTL, 0, unix.F_SETOWN, parent),

		// The kernel.
		"mount":            rootOnly(unix.SYS_MOUNT, text("none"), text(in("absent")), text("tmpfs"), 0, 0),
		"umount":           rootOnly(unix.SYS_UMOUNT2, text(in("absent")), 0),
		"chroot":           rootOnly(unix.SYS_CHROOT, text(in("absent"))),
		"pivot_root":       rootOnly(unix.SYS_PIVOT_ROOT, text(in("absent")), text(in("absent"))),
		"unshare":          raw(unix.SYS_UNSHARE, 0),
		"setns":            raw(unix.SYS_SETNS, nobody, 0),
		"io_uring":         {do: func() error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }, elsewhere: true},
		"bpf":              {do: func() error { return call(unix.SYS_BPF, nobody, 0, 0) }, elsewhere: true},
		"perf":             {do: func() error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, nobody, nobody, 0) }, elsewhere: true},
		"userfaultfd":      {do: func() error { return call(unix.SYS_USERFAULTFD, nobody) }, elsewhere: true},
		"keyctl":           {do: func() error { return call(unix.SYS_KEYCTL, nobody) }, elsewhere: true},
		"module":           {do: func() error { return call(unix.SYS_FINIT_MODULE, nobody, text(""), 0) }, elsewhere: true},
		"kexec":            {do: func() error { return call(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0, 0) }, elsewhere: true},
		"by handle":        rootOnly(unix.SYS_OPEN_BY_HANDLE_AT, nobody, 0, 0),
		"other filter":     raw(unix.SYS_SECCOMP, nobody, 0, 0),
		"personality":      raw(unix.SYS_PERSONALITY, 0xffffffff),
		"unknown":          raw(unix.SYS_SPLICE, nobody, 0, nobody, 0, 0, 0),
		"process group":    raw(unix.SYS_SETPGID, 0, nobody),
		"every other call": {do: everyCall, elsewhere: true},
		"every other path": {do: func() error { return everyPath(in("read/paths")) }},
	}
	return all
}

func closeIf(l net.Listener, err error) {
	if err == nil {
		l.Close()
	}
}

// useDir does what caches do: create, write, rename, remove.
func useDir(dir string) error {
	sub := filepath.Join(dir, "sandbox-test", "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(sub, "x")
	if err != nil {
		return err
	}
	defer f.Close()
	_, werr := f.WriteString("x")
	to := filepath.Join(sub, "y")
	return errors.Join(werr, f.Truncate(1<<20), os.Rename(f.Name(), to), os.Remove(to), os.Remove(sub), os.Remove(filepath.Dir(sub)))
}

// missing fails unless a process that cannot ask for Landlock and seccomp, as on an old system, says so.
func missing() error {
	if os.Getenv(envMode) == "confined" && len(Missing()) != 2 {
		return unix.EINVAL
	}
	return nil
}

// busy starts threads, collects garbage and sleeps.
func busy() error {
	done := make(chan int)
	for i := range 32 {
		go func() {
			runtime.LockOSThread() // a thread for each
			time.Sleep(time.Millisecond)
			done <- len(make([]byte, 1<<16)) + i
		}()
	}
	for range 32 {
		<-done
	}
	runtime.GC()
	return nil
}

// fault reads a mapped file that has become shorter.
func fault(dir string) (err error) {
	f, err := os.Create(filepath.Join(dir, "short"))
	if err != nil {
		return err
	}
	defer f.Close()
	f.Truncate(1 << 16)
	b, err := unix.Mmap(int(f.Fd()), 0, 1<<16, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	f.Truncate(0)
	defer func() {
		if recover() == nil {
			err = unix.EINVAL
		}
	}()
	debug.SetPanicOnFault(true) // of this goroutine, which ends soon
	return fmt.Errorf("read %d", b[1<<15])
}

func fromDir(dir, name string) error {
	fd, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	_, err = unix.Openat(fd, name, unix.O_RDONLY, 0)
	return err
}

func throughProc(dir, name string) error {
	fd, err := unix.Open(dir, unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return open(fmt.Sprintf("/proc/self/fd/%d/%s", fd, name), os.O_RDONLY)()
}

func reopen(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return open(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR)()
}

func fromPath(path string) error {
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	return open(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDONLY)()
}

// inherited uses the descriptor whose number is in a file: the parent did not mean to hand it down.
func inherited(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var fd int
	fmt.Sscan(string(b), &fd)
	if _, err = unix.Write(fd, []byte("x")); err == unix.EBADF {
		return unix.EACCES // as good as a refusal
	}
	return err
}

func chmodOpen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(0o644)
}

// fork makes a process that ends at once.
func fork() error {
	pid, _, n := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if n != 0 {
		return n
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	unix.Wait4(int(pid), nil, 0, nil)
	return nil
}

// memfd returns the descriptor of an empty file in memory.
func memfd() string {
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return "none"
	}
	return fmt.Sprint(fd)
}

func code(prot int) error {
	_, err := unix.Mmap(-1, 0, 4096, prot, unix.MAP_PRIVATE|unix.MAP_ANON)
	return err
}

func codeLater() error {
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
}

func peek(pid int) error {
	var b [8]byte
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &b[0]}}, []unix.RemoteIovec{{Base: 0, Len: 8}}, 0)
	return err
}

// prison is a directory with what attempts reach for.
func prison(t *testing.T) (dir string, one *os.File) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range []string{"read/sub", "write", "other", "home"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "read/socket"), "@" + filepath.Join(dir, "abstract")} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	t.Cleanup(func() { tcp.Close(); udp.Close() })
	fd, err := unix.Open(filepath.Join(dir, "leaked"), unix.O_CREAT|unix.O_WRONLY, 0o600) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for name, content := range map[string]string{"secret": "s", "home/.netrc": "n", "read/file": "f", "read/cut": "c", "read/gone": "g", "read/moved": "m",
		"read/sub/file": "f", "other/one": "1", "other/two": "2",
		"read/addresses": tcp.Addr().String() + " " + udp.LocalAddr().String(), "read/inherited": fmt.Sprint(fd), "read/paths": strings.Join(systemPaths(append(slices.Clone(packages), dir)), "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(dir, "read/link")); err != nil {
		t.Fatal(err)
	}
	if one, err = os.Open(filepath.Join(dir, "other/one")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close() })
	return dir, one
}

// attack runs all attempts in another process and returns how each ended.
func attack(t *testing.T, mode string) map[string]syscall.Errno {
	t.Helper()
	dir, one := prison(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envMode+"="+mode, envDir+"="+dir, "HOME="+filepath.Join(dir, "home"))
	cmd.Dir = dir
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if mode == "confined" {
		err = Start(cmd, Policy{Read: append(slices.Clone(packages), filepath.Join(dir, "read"), filepath.Join(dir, "absent")), Files: slices.Values([]*os.File{one}), Write: []string{filepath.Join(dir, "write")}})
	} else {
		err = cmd.Start()
	}
	if err == nil {
		err = cmd.Wait()
	}
	results := map[string]syscall.Errno{}
	if err == nil {
		err = json.Unmarshal([]byte(out.String()), &results)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s%s", mode, err, out.String(), errs.String())
	}
	return results
}

// refused are the errors of a sandbox.
var refused = []syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS}

// TestBreakOut: a confined process can do nothing that it may not do. The same process without a sandbox can do it
// all, so each attempt is one that would succeed.
func TestBreakOut(t *testing.T) {
	if list := Missing(); len(list) > 0 {
		t.Skip("this system has no sandbox: ", strings.Join(list, "; "))
	}
	tries := attempts("")
	confined, free := attack(t, "confined"), attack(t, "free")
	if len(confined) != len(tries) || len(free) != len(tries) {
		t.Fatalf("%d and %d results of %d attempts", len(confined), len(free), len(tries))
	}
	for _, name := range slices.Sorted(maps.Keys(tries)) {
		try := tries[name]
		if got := confined[name]; try.may && got != 0 {
			t.Errorf("%s: %v: a confined process needs it", name, got)
		} else if !try.may && !slices.Contains(refused, got) {
			t.Errorf("%s: a confined process got %d (%v)", name, got, got)
		}
		if try.root && os.Getuid() != 0 || try.elsewhere {
			continue
		}
		if got := free[name]; slices.Contains(refused, got) {
			t.Errorf("%s: refused without a sandbox, too (%v): the attempt proves nothing", name, got)
		}
	}
}
