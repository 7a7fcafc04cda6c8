package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// TestSandboxIsEntered: the process in which a command reads a dump has the list of system calls, the limit of memory, and no secret of the environment.
func TestSandboxIsEntered(t *testing.T) {
	needSandbox(t)
	cmd := exec.Command("corewalk", "--sandbox", "--memory", "300MB", "-")
	cmd.Env = append(os.Environ(), "SECRET_OF_TEST=5f1d")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	status, at := "", ""
	for end := time.Now().Add(20 * time.Second); !strings.Contains(status, "Seccomp:\t2"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no process has entered the sandbox: %s", status)
		}
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
		for _, list := range children {
			text, _ := os.ReadFile(list)
			for pid := range strings.FieldsSeq(string(text)) {
				at = "/proc/" + pid + "/"
				b, _ := os.ReadFile(at + "status")
				status = string(b)
			}
		}
	}
	if !strings.Contains(status, "NoNewPrivs:\t1") {
		t.Errorf("it can gain privileges: %s", status)
	}
	limits, err := os.ReadFile(at + "limits")
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(limits), "Max data size")
	if f := strings.Fields(data); len(f) == 0 || f[0] != fmt.Sprint(hardMemory(300<<20)) && f[0] != fmt.Sprint(hardMemory(300e6)) {
		t.Errorf("limit of memory: %.60s", data)
	}
	if env, err := os.ReadFile(at + "environ"); err == nil && bytes.Contains(env, []byte("SECRET_OF_TEST")) {
		t.Errorf("it has the secret: %.2000q", env)
	}
}

// TestSandboxLacks: without Landlock a sandbox that was asked for fails, and says what is missing; one that is there as far as it can be says so.
func TestSandboxLacks(t *testing.T) {
	needSandbox(t)
	type result struct {
		wanted bool
		err    error
		said   string
	}
	results := make(chan [2]result)
	go func() {
		runtime.LockOSThread() // for ever: the filter is this thread's
		filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, {Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
		prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		var out [2]result
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
		}
		for i, when := range []sandboxWhen{sandboxOn, sandboxAuto} {
			var said bytes.Buffer
			out[i].wanted, out[i].err = (&sandboxFlags{when: when}).wanted(env{stderr: &said})
			out[i].said = said.String()
		}
		if err != nil {
			out[0].said = "no filter: " + err.Error()
		}
		results <- out
	}()
	r := <-results
	if strings.HasPrefix(r[0].said, "no filter") {
		t.Skip(r[0].said)
	}
	if r[0].wanted || r[0].err == nil || !strings.Contains(r[0].err.Error(), "Landlock") {
		t.Errorf("on: %+v", r[0])
	}
	if !r[1].wanted || r[1].err != nil || !strings.Contains(r[1].said, "Landlock") {
		t.Errorf("auto: %+v", r[1])
	}
}

// TestBesideOpensNoPipe: a pipe beside a dump is not opened: who writes to it would go on.
func TestBesideOpensNoPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "prog")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if f, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
			f.Close()
		}
	}()
	for range 20 {
		for f := range beside([]string{dir}) {
			t.Errorf("%s is given", f.Name())
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case <-opened:
		t.Error("a writer met who looks for programs")
	default:
		r, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0) // lets the writer go
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		<-opened
	}
}

// TestBesideIsBounded: of a directory with very many files not all are looked at.
func TestBesideIsBounded(t *testing.T) {
	dir := t.TempDir()
	program := slices.Concat([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9), []byte{elffile.ET_DYN, 0, 62, 0})
	for i := range maxBeside + 10 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), program, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for range beside([]string{dir, dir}) {
		n++
	}
	if n != maxBeside {
		t.Errorf("%d files", n)
	}
}
