package everyday

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// limit is how long a command may take. All that are run here take a tenth of a second of an idle machine; a busy one takes a hundred times that.
const limit = time.Minute

// A place is where a command runs: directories of its own.
type place struct {
	dir string
	env []string
	pid string // of a process that waits
}

// newPlace makes a place. Its directories are the same for all runs of a command, so that what it prints is, too.
func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "e") // t's has its name, and sockets no room for that
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{dir: dir}
	for _, sub := range []string{"home", "cache", "state", "tmp", "out"} {
		if err := os.Mkdir(p.path(sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.path("home"), "XDG_CACHE_HOME=" + p.path("cache"), "XDG_STATE_HOME=" + p.path("state"), "TMPDIR=" + p.path("tmp"), "TERM=xterm"}
	return p
}

func (p *place) path(names ...string) string {
	return filepath.Join(append([]string{p.dir}, names...)...)
}

// unset leaves variables out of the environment, and adds others.
func (p *place) unset(names []string, more ...string) {
	p.env = append(slices.DeleteFunc(p.env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	}), more...)
}

// waits starts a process that waits.
func (p *place) waits(t *testing.T) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p.pid = strconv.Itoa(cmd.Process.Pid)
}

// A result is what one run of a command came to.
type result struct {
	status    int // -1 if it did not end
	out, errs string
	files     string // what it wrote to out: names and contents
}

// start prepares a command in a process group of its own.
func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.path("out"), p.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	return cmd
}

// wait waits for a command that was started. One that does not end has its goroutines told, and is killed. What remains of its group is an error, too.
func wait(cmd *exec.Cmd) (status int, err error) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-time.After(limit):
		_ = cmd.Process.Signal(syscall.SIGQUIT)
		select {
		case <-done:
		case <-time.After(5 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return -1, fmt.Errorf("not done after %v", limit)
	}
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return cmd.ProcessState.ExitCode(), fmt.Errorf("%w: somebody still has its output", err)
	}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		return -1, fmt.Errorf("died of %v", ws.Signal())
	}
	for end := time.Now().Add(limit); syscall.Kill(-cmd.Process.Pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			return cmd.ProcessState.ExitCode(), errors.New("a process that it started goes on")
		}
	}
	return cmd.ProcessState.ExitCode(), nil
}

// run runs a command to its end. An error is what no command may do, whatever its status.
func (p *place) run(stdin string, args ...string) (result, error) {
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if stdin == "" {
		cmd.Stdin = nil
	}
	if err := cmd.Start(); err != nil {
		return result{}, err
	}
	status, err := wait(cmd)
	r := result{status: status, out: out.String(), errs: errs.String()}
	if err == nil {
		err = sound(r.errs)
	}
	return r, err
}

var traceback = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ \[|SIG[A-Z]+: )`)

// sound reports what a program says that failed itself.
func sound(errs string) error {
	if traceback.MatchString(errs) {
		return errors.New("the program itself failed")
	}
	return nil
}

// clean reports temporary files that are left.
func (p *place) clean() error {
	left, err := os.ReadDir(p.path("tmp"))
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s is left among the temporary files", left[0].Name())
	}
	return err
}

// written returns what a command wrote, and removes it.
func (p *place) written(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(p.path("out"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		sum := sha256.New()
		n, err := io.Copy(sum, file)
		fmt.Fprintf(&b, "%s: %d bytes, %x\n", strings.TrimPrefix(path, p.dir), n, sum.Sum(nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p.empty(t)
	return b.String()
}

// empty removes what commands wrote.
func (p *place) empty(t *testing.T) {
	t.Helper()
	list, err := os.ReadDir(p.path("out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := os.RemoveAll(p.path("out", e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
