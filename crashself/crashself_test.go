//go:build linux && amd64

package crashself_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A victim is a program that dies, and where it keeps its crashes.
type victim struct {
	path, dir string
	as        *syscall.Credential
	before    []string // a command that starts it
}

func TestMain(m *testing.M) {
	fixture.AtOnce(6)
	os.Exit(fixture.Main(m))
}

// build returns a program that is built once for all tests. env is for the go command.
func build(t *testing.T, name string, env ...string) victim {
	t.Helper()
	path := fixture.Once(t, name+strings.Join(env, " "), func(dir string) string {
		fixture.Programs(t, dir, env, "crashself/testdata/"+name)
		return filepath.Join(dir, name)
	})
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // others run it, too
		_ = os.Chmod(d, 0o755)
	}
	return victim{path: path, dir: filepath.Join(dir, "crashes")}
}

// dies runs the program and returns how it ended, and what it printed to standard error.
func (v victim) dies(t *testing.T, args ...string) (status, said string) {
	t.Helper()
	args = append(append(v.before, v.path), args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "CRASHSELF_DIR="+v.dir, "GOTRACEBACK=single")
	var err strings.Builder
	cmd.Stderr = &err
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: v.as}
	cmd.WaitDelay = time.Minute
	killed := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	_ = cmd.Run()
	return strings.TrimSuffix(cmd.ProcessState.String(), " (core dumped)"), err.String() // as the limits of the shell are
}

// kept returns the directories of crashes, when there are so many of them with a file; it waits long for that.
func (v victim) kept(t *testing.T, file string, n int) (dirs []string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		before := len(dirs)
		if dirs, _ = filepath.Glob(filepath.Join(v.dir, "[0-9]*", file)); len(dirs) == n && before == n {
			break
		}
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	if len(dirs) != n {
		logs, _ := exec.Command("sh", "-c", "head -v "+v.dir+"/*/log").CombinedOutput()
		t.Errorf("%d crashes with %s, want %d: %s", len(dirs), file, n, logs)
	}
	return dirs
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// gdbs returns what gdb says of a core.
func gdbs(t *testing.T, v victim, core string) string {
	t.Helper()
	out, err := exec.Command("gdb", "-nx", "-batch", "-iex", "set auto-load off", "-ex", "bt", v.path, core).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Log("gdb is not installed (Debian: gdb): not compared")
	}
	return string(out)
}

// A death is how a program dies, and what must be said of it.
type death struct {
	args, status string
	reasons      []string // in the report
	gdb          string   // a function that gdb shows, which does not follow Go to another stack; "" for not asked
	noLine       bool     // nothing on standard error says where the crash is
}

// check has the program die. onlyGo says that all of the runtime's text is of Go.
func check(t *testing.T, v victim, onlyGo bool, deaths []death) {
	for i, d := range deaths {
		t.Run(d.args, func(t *testing.T) {
			t.Parallel()
			v := v
			v.dir = t.TempDir()
			args := strings.Fields(d.args)
			status, said := v.dies(t, args...)
			if status != d.status {
				t.Errorf("%s, want %s: %s", status, d.status, said)
			}
			for _, dir := range v.kept(t, "report.json", 1) {
				text := read(t, dir, "report.txt")
				for _, want := range d.reasons {
					if !strings.Contains(text, want) {
						t.Errorf("%q is not in the report: %s", want, text)
					}
				}
				if strings.Contains(said, "crashself: "+dir+"\n") == d.noLine {
					t.Errorf("standard error: %s", said)
				}
				if st, err := os.Stat(filepath.Join(dir, "core")); err != nil || st.Size() > 20<<20 || st.Mode().Perm() != 0o600 {
					t.Errorf("%v, %v", st, err)
				}
				if d.gdb != "" && (i == 0 || fixture.IsLong(t)) { // at every change gdb is asked about one core of each program
					if out := gdbs(t, v, filepath.Join(dir, "core")); out != "" && !strings.Contains(out, d.gdb) {
						t.Errorf("gdb: %s", out)
					}
				}
				if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil {
					t.Errorf("log: %s", log)
				}
				// What the runtime prints is as it would be without.
				own, _, _ := strings.Cut(said, "crashself: ")
				if onlyGo && !d.noLine && !strings.HasSuffix(own, read(t, dir, "runtime.txt")) {
					t.Errorf("runtime.txt is not the end of %s", own)
				}
			}
		})
	}
}

// TestGo: what ends Go programs. In the long run they are built without C, which tells the runtime when all goroutines are asleep: nearly all packages are
// compiled once more for it.
func TestGo(t *testing.T) {
	var env []string
	long := fixture.IsLong(t)
	if long {
		env = []string{"CGO_ENABLED=0", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -trimpath"}
	}
	v := build(t, "victim", env...)
	deaths := []death{
		{"nil", "exit status 2", []string{"panic: runtime error: invalid memory address or nil pointer dereference (goroutine ", "main.transfer at main.go:"}, "runtime.printpanics", false},
		{"custom", "exit status 2", []string{"panic: refused with 451: the vault is closed", "main.refused) {code = 451, what = \"the vault is closed\"}"}, "runtime.printpanics", false},
		{"nested", "exit status 2", []string{"panic: while recovering: first"}, "runtime.printpanics", false},
		{"mapwrites", "exit status 2", []string{"fatal error: concurrent map writes (goroutine ", "main.main.func3 at main.go:"}, "", false},
		{"overflow", "exit status 2", []string{"fatal error: stack overflow", "main.deep called itself"}, "", false},
		{"memory", "exit status 2", []string{"fatal error: out of memory", "main.main at main.go:"}, "", false},
		{"notify", "exit status 2", []string{"main.transfer at main.go:"}, "runtime.printpanics", false},
		{"closed", "exit status 2", []string{"main.transfer at main.go:"}, "runtime.printpanics", true},
		{"children", "exit status 2", []string{"main.transfer at main.go:"}, "runtime.printpanics", false},
		{"large 100", "exit status 2", []string{"main.transfer at main.go:", "Goroutines "}, "runtime.printpanics", false},
		{"output " + filepath.Join(t.TempDir(), "text"), "exit status 2", []string{"main.transfer at main.go:"}, "", false},
	}
	if long {
		deaths = append(deaths, death{"deadlock", "exit status 2", []string{"a goroutine sleeps for ever: chan int"}, "", false})
	}
	check(t, v, true, deaths)
}

// TestC: what ends programs with C in them: on threads of Go, and on threads that Go does not know.
func TestC(t *testing.T) {
	fixture.Tools(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed (Debian: gcc)")
	}
	v := build(t, "cvictim", "CGO_ENABLED=1")
	check(t, v, false, []death{
		{"segv", "exit status 2", []string{"SIGSEGV in C code: write of 4 bytes at null+0x10", "store at main.go:10"}, "store", false},
		{"abort", "exit status 2", []string{"abort called by the program itself", "main.main at main.go:"}, "abort", false},
		{"segvthread", "signal: segmentation fault", []string{"SIGSEGV in C code: write of 4 bytes at null+0x10", "store at main.go:10"}, "store", false},
		{"abortthread", "signal: aborted", []string{"abort called by the program itself", "aborts at main.go:"}, "aborts", false},
		{"deep", "exit status 2", []string{"SIGSEGV in C code: stack overflow", "deep at main.go:"}, "deep", false},
		{"deepsmall", "exit status 2", []string{"SIGSEGV in C code: stack overflow", "deep at main.go:"}, "deep", false},
		{"fork", "exit status 2", []string{"SIGSEGV in C code: write of 4 bytes at null+0x10"}, "store", false},
		{"panic", "exit status 2", []string{"panic: in Go"}, "runtime.printpanics", false},
	})
}

// TestNothing: what is no crash leaves nothing, and a program without its watcher ends as it would.
func TestNothing(t *testing.T) {
	t.Parallel()
	v := build(t, "victim")
	text := filepath.Join(t.TempDir(), "text")
	for args, want := range map[string]string{"exit": "exit status 3", "exec": "exit status 0", "stopped": "exit status 2", "orphan": "exit status 2", "taken " + text: "exit status 2"} {
		if status, said := v.dies(t, strings.Fields(args)...); status != want {
			t.Errorf("%s: %s, want %s: %s", args, status, want, said)
		}
	}
	if b := read(t, text); !strings.Contains(b, "nil pointer dereference") {
		t.Errorf("the program's own crash output: %q", b)
	}
	for _, sig := range []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGQUIT} {
		cmd := exec.Command(v.path, "wait")
		cmd.Env = append(os.Environ(), "CRASHSELF_DIR="+v.dir)
		out, err := cmd.StdoutPipe()
		if err := errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadFull(out, make([]byte, len("ready\n")))
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
	}
	for _, dir := range v.kept(t, "report.json", 1) { // the last one's
		if text := read(t, dir, "report.txt"); !strings.Contains(text, "SIGQUIT received") {
			t.Errorf("%s", text)
		}
	}
}

// TestRefused: where nobody may trace the program, there is what the runtime printed, and why there is no core.
func TestRefused(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start programs as another user")
	}
	v := build(t, "victim")
	v.as = &syscall.Credential{Uid: 65534, Gid: 65534}
	if err := errors.Join(os.MkdirAll(v.dir, 0o700), os.Chown(v.dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	v.dies(t, "nil")
	v.kept(t, "report.json", 1)
	if status, said := v.dies(t, "undumpable"); status != "exit status 2" {
		t.Errorf("%s: %s", status, said)
	}
	dirs := v.kept(t, "runtime.txt", 2)
	last := dirs[len(dirs)-1]
	if text, log := read(t, last, "runtime.txt"), read(t, last, "log"); !strings.Contains(text, "nil pointer dereference") || !strings.Contains(text, "main.transfer") || log == "" {
		t.Errorf("%s\n%s", text, log)
	}
	// A directory in which others may write is not used.
	if err := os.Chmod(v.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	v.dies(t, "nil")
	v.kept(t, ".", 2) // those that were there
}

// TestPlanted: where another user has put a link to a directory of this one's, nothing is made, and what is there stays.
func TestPlanted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make what is another user's")
	}
	v := build(t, "victim")
	all, target := filepath.Dir(v.dir), t.TempDir()
	for i := range 25 { // what the rotation would remove
		if err := os.Mkdir(filepath.Join(target, fmt.Sprintf("20260101T0000%02d.000000-victim-%d", i, i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(all, 0o777|os.ModeSticky), os.Chmod(target, 0o755), os.Symlink(target, v.dir), os.Lchown(v.dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if status, said := v.dies(t, "nil"); status != "exit status 2" || strings.Contains(said, "crashself:") {
		t.Errorf("%s: %s", status, said)
	}
	time.Sleep(200 * time.Millisecond) // its watcher's
	if list, err := os.ReadDir(target); err != nil || len(list) != 25 {
		t.Errorf("%d directories, %v", len(list), err)
	}
}

// TestContainer: the first process of a container takes all others with it when it ends, but the report is made.
func TestContainer(t *testing.T) {
	t.Parallel()
	v := build(t, "victim")
	v.before = []string{"unshare", "-p", "-m", "-f", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(v.before[0], append(v.before[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %s", out)
	}
	v.dies(t, "nil")
	v.kept(t, "report.json", 1)
}

// TestRow: of many crashes in a row, and of many at once, none is lost, and no more than so many are kept.
func TestRow(t *testing.T) {
	t.Parallel()
	v := build(t, "victim")
	n := 8
	if fixture.IsLong(t) {
		n = 50
	}
	for i := range n {
		if status, said := v.dies(t, "nil"); status != "exit status 2" || strings.Count(said, "crashself: ") != 1 {
			t.Errorf("%d: %s: %s", i, status, said)
		}
	}
	v.kept(t, "core", min(n, 20))
	w := v
	w.dir = filepath.Join(t.TempDir(), "at-once")
	done := make(chan string)
	for range n {
		go func() {
			status, _ := w.dies(t, "custom")
			done <- status
		}()
	}
	for range n {
		if status := <-done; status != "exit status 2" {
			t.Error(status)
		}
	}
	w.kept(t, "report.json", min(n, 20))
}
