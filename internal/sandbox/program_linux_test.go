//go:build amd64 || arm64 || 386

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// decide runs a filter for a system call.
func decide(t *testing.T, p []unix.SockFilter, arch, number uint32, args ...uint32) uint32 {
	t.Helper()
	var acc uint32
	for pc := 0; pc < len(p); pc++ {
		f := p[pc]
		jump := func(taken bool) {
			if taken {
				pc += int(f.Jt)
			} else {
				pc += int(f.Jf)
			}
		}
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch i := (f.K - offArgs) / 8; {
			case f.K == offNumber:
				acc = number
			case f.K == offArch:
				acc = arch
			case f.K < offArgs || f.K%8 != 0 || i > 5:
				t.Fatalf("load at %d", f.K)
			case int(i) < len(args):
				acc = args[i]
			default:
				acc = 0
			}
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= f.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(acc == f.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(acc >= f.K)
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		default:
			t.Fatalf("instruction %#x", f.Code)
		}
	}
	t.Fatal("the filter does not return")
	return 0
}

func TestProgram(t *testing.T) {
	const pid = 4242
	p := program(pid)
	threads := uint32(unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD)
	for _, tt := range []struct {
		name   string
		arch   uint32
		number uint32
		args   []uint32
		want   uint32
	}{
		{"read", auditArch, unix.SYS_READ, nil, allow},
		{"execve", auditArch, unix.SYS_EXECVE, nil, deny},
		{"no such number", auditArch, 999, nil, unknown},
		{"read of another architecture", unix.AUDIT_ARCH_PPC64LE, unix.SYS_READ, nil, deny},
		{"the number above the last", auditArch, 0x7fffffff, nil, map[bool]uint32{true: deny, false: unknown}[otherMode != 0]},
		{"thread", auditArch, unix.SYS_CLONE, []uint32{threads}, allow},
		{"thread of C", auditArch, unix.SYS_CLONE, []uint32{0x3d0f00}, allow},
		{"process", auditArch, unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, deny},
		{"process with the same memory", auditArch, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_VFORK}, deny},
		{"thread in a network of its own", auditArch, unix.SYS_CLONE, []uint32{threads | unix.CLONE_NEWNET}, deny},
		{"traced thread", auditArch, unix.SYS_CLONE, []uint32{threads | unix.CLONE_PTRACE}, deny},
		{"signal to itself", auditArch, unix.SYS_TGKILL, []uint32{pid, 1, 23}, allow},
		{"signal to another", auditArch, unix.SYS_TGKILL, []uint32{pid + 1, 1, 23}, deny},
		{"mapping", auditArch, mmapCall, []uint32{0, 4096, unix.PROT_READ | unix.PROT_WRITE}, allow},
		{"mapping of code", auditArch, mmapCall, []uint32{0, 4096, unix.PROT_READ | unix.PROT_EXEC}, deny},
		{"flags of a file", auditArch, fcntlCall, []uint32{0, unix.F_GETFL, unix.F_SETOWN}, allow},
		{"owner of a file", auditArch, fcntlCall, []uint32{0, unix.F_SETOWN, unix.F_GETFL}, deny},
		{"name of a mapping", auditArch, unix.SYS_PRCTL, []uint32{unix.PR_SET_VMA}, allow},
		{"dumpable again", auditArch, unix.SYS_PRCTL, []uint32{unix.PR_SET_DUMPABLE, 1}, deny},
		{"window size", auditArch, unix.SYS_IOCTL, []uint32{1, unix.TIOCGWINSZ}, allow},
		{"typing", auditArch, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, deny},
		{"create", auditArch, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC}, allow},
		{"truncate while reading", auditArch, unix.SYS_OPENAT, []uint32{0, 0, unix.O_RDONLY | unix.O_TRUNC}, deny},
	} {
		if got := decide(t, p, tt.arch, tt.number, tt.args...); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
	for _, nr := range slices.Concat(allowed, allowedHere) {
		if got := decide(t, p, auditArch, nr); got != allow {
			t.Errorf("allowed %d: %#x", nr, got)
		}
		if otherMode != 0 && decide(t, p, auditArch, nr|otherMode) != deny {
			t.Errorf("%d in the other mode is not denied", nr)
		}
	}
	for _, nr := range slices.Concat(denied, deniedHere) {
		if got := decide(t, p, auditArch, nr); got != deny {
			t.Errorf("denied %d: %#x", nr, got)
		}
	}
	if len(p) > 4096 { // BPF_MAXINSNS
		t.Errorf("%d instructions", len(p))
	}
}

// notNeeded are system calls of Go's runtime that a confined process does without.
var notNeeded = map[string]string{
	"access": "logging on Android", "connect": "logging on Android", "socket": "logging on Android", "socketcall": "logging on Android",
	"setittimer": "profiles", "setitimer": "profiles", "timer_create": "profiles", "timer_settime": "profiles", "timer_settime64": "profiles", "timer_delete": "profiles",
	"epoll_pwait2": "epoll_pwait is used where it is missing", "open": "before the sandbox, the runtime of 386 reads what the system says of itself",
}

// TestRuntimeCalls: what Go's runtime calls is allowed. A system call that a new version of Go needs is reported
// here, not by a process that hangs.
func TestRuntimeCalls(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("the go command is not installed (Debian: golang-go): ", err)
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	p := program(1)
	define := regexp.MustCompile(`SYS_(\w+)(?:\s*=\s*|\s+)(\d+)`)
	found := 0
	for _, name := range []string{"runtime/sys_linux_" + runtime.GOARCH + ".s", "internal/runtime/syscall/linux/defs_linux_" + runtime.GOARCH + ".go"} {
		f, err := os.Open(filepath.Join(root, name))
		if err != nil {
			t.Skip("Go's source is not installed (Debian: golang-src): ", err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			m := define.FindStringSubmatch(s.Text())
			if m == nil {
				continue
			}
			found++
			call := strings.ToLower(m[1])
			nr, _ := strconv.ParseUint(m[2], 10, 32)
			i := slices.IndexFunc(slices.Concat(checkedCalls(1), checkedHere), func(c checked) bool { return c.number == uint32(nr) })
			if i < 0 && notNeeded[call] == "" && decide(t, p, auditArch, uint32(nr)) != allow {
				t.Errorf("%s (%s) is not allowed", call, fmt.Sprint(nr))
			}
		}
	}
	if found < 30 {
		t.Errorf("%d system calls found in the runtime's source", found)
	}
}
