package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// envAlone is the directory of a process that Landlock alone confines, as where there is no list of system calls.
const envAlone = "SANDBOX_ALONE"

// alone are attempts at what Landlock refuses by itself, and the version of it that does. Without it each succeeds.
func alone(dir string) map[string]struct {
	do  func() error
	abi int
} {
	in := func(name string) string { return filepath.Join(dir, name) }
	address, _ := os.ReadFile(in("read/address"))
	return map[string]struct {
		do  func() error
		abi int
	}{
		"open a device that is named": {open("/dev/zero", os.O_RDONLY), 1},
		"make a link":                 {func() error { return os.Symlink("x", in("write/link")) }, 1},
		"make a pipe":                 {func() error { return syscall.Mkfifo(in("write/pipe"), 0o600) }, 1},
		"make a socket": {func() error {
			l, err := net.Listen("unix", in("write/socket"))
			if err == nil {
				l.Close()
			}
			return err
		}, 1},
		"run a program that may be read": {func() error {
			cmd := exec.Command(in("read/program"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr // else the null device would be opened
			return cmd.Run()
		}, 1},
		"move between directories":      {func() error { return os.Rename(in("write/a/x"), in("write/b/x")) }, 1},
		"connect":                       {dial("tcp", string(address)), 4},
		"connect to an abstract socket": {dial("unix", "@"+in("abstract")), 6},
		"signal another process": {func() error {
			text, err := os.ReadFile(filepath.Join(dir, "read/process"))
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				return err
			}
			return unix.Kill(pid, 0)
		}, 6},
	}
}

// TestLandlockAlone: Landlock itself refuses what the list of system calls refuses as well where there is one.
func TestLandlockAlone(t *testing.T) {
	if dir := os.Getenv(envAlone); dir != "" {
		results := map[string]syscall.Errno{}
		for name, try := range alone(dir) {
			results[name] = errno(try.do())
		}
		fmt.Print("results ")
		_ = json.NewEncoder(os.Stdout).Encode(results)
		return
	}
	version := abi()
	if version == 0 {
		t.Skip("this kernel has no Landlock")
	}
	for _, confined := range []bool{false, true} {
		dir := t.TempDir()
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		abstract, err := net.Listen("unix", "@"+filepath.Join(dir, "abstract"))
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		// Not this one: if its first thread begins the process in the sandbox, that may signal it.
		other := exec.Command("sleep", "60")
		if err := other.Start(); err != nil {
			t.Skip(err)
		}
		defer func() {
			_ = other.Process.Kill()
			_ = other.Wait()
		}()
		program, err := os.ReadFile("/bin/true")
		if err != nil {
			t.Skip(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "write/a"), 0o700), os.MkdirAll(filepath.Join(dir, "write/b"), 0o700), os.Mkdir(filepath.Join(dir, "read"), 0o700),
			os.WriteFile(filepath.Join(dir, "read/address"), []byte(tcp.Addr().String()), 0o600), os.WriteFile(filepath.Join(dir, "read/program"), program, 0o700),
			os.WriteFile(filepath.Join(dir, "read/process"), []byte(strconv.Itoa(other.Process.Pid)), 0o600),
			os.WriteFile(filepath.Join(dir, "write/a/x"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestLandlockAlone$")
		cmd.Env = append(os.Environ(), envAlone+"="+dir)
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = w, w
		if confined {
			err = Start(cmd, Policy{Read: []string{filepath.Join(dir, "read"), "/dev/zero", "/lib", "/lib64", "/usr/lib"}, Write: []string{filepath.Join(dir, "write")}})
		} else {
			err = cmd.Start()
		}
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		_, text2, _ := strings.Cut(string(text), "results ")
		results := map[string]syscall.Errno{}
		if err := json.NewDecoder(strings.NewReader(text2)).Decode(&results); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for name, try := range alone("") {
			if got := results[name]; confined && version >= try.abi && got == 0 || !confined && got != 0 {
				t.Errorf("confined %t, version %d: %s: %v", confined, version, name, got)
			}
		}
	}
}

// envLimited is set in a process that shows what Enter does to it besides the list of system calls.
const envLimited = "SANDBOX_LIMITED"

// TestEnterLimits: a process in the sandbox writes no core and no endless file, and its memory is not for others of its user.
func TestEnterLimits(t *testing.T) {
	if os.Getenv(envLimited) != "" {
		if err := Enter(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("entered")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	exe := filepath.Join(dir, "program")
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestEnterLimits$")
	cmd.Env, cmd.Dir = append(os.Environ(), envLimited+"=1"), "/"
	if os.Geteuid() == 0 { // whose files belong to root in any case
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "entered\n" {
		t.Skipf("no sandbox here: %q", line)
	}
	at := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	limits, err := os.ReadFile(at + "limits")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Max core file size": "0 0", "Max file size": fmt.Sprint(MaxFile, " ", MaxFile)} {
		_, rest, _ := strings.Cut(string(limits), name)
		if f := strings.Fields(rest); len(f) < 2 || f[0]+" "+f[1] != want {
			t.Errorf("%s: %.60q, not %s", name, rest, want)
		}
	}
	st, err := os.Stat(at + "environ")
	if err != nil {
		t.Fatal(err)
	}
	if st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Error("the process can be traced by others of its user")
	}
}
