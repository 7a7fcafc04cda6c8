package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/carry/handle"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/livestate"
)

// policyFile writes a policy, and returns its path and where crashes are kept.
func policyFile(t *testing.T, lines string) (path, store string) {
	t.Helper()
	dir := t.TempDir()
	path, store = filepath.Join(dir, "conf"), filepath.Join(dir, "store")
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // others make the report
		_ = os.Chmod(d, 0o755)
	}
	if err := os.WriteFile(path, []byte("directory = "+store+"\nfree = 0\n"+lines), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before the directory is removed
		for end := time.Now().Add(20 * time.Second); handles(dir) && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	return path, store
}

// handles reports whether a process works with the files below dir: a handler that the kernel started may still put the store in order when all
// crashes have their reports.
func handles(dir string) bool {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(lines, func(path string) bool {
		line, err := os.ReadFile(path)
		return err == nil && bytes.Contains(line, []byte(dir+"/"))
	})
}

// records reads what was kept.
func records(t *testing.T, store string) (list []handle.Record, dirs []string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(store, "crashes", "2*", "crash.json"))
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r handle.Record
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		list, dirs = append(list, r), append(dirs, filepath.Dir(path))
	}
	return list, dirs
}

// held starts a program, and stops it where it would die. core is what the kernel would write.
func held(t *testing.T, name string) (pid int, core []byte) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	p, err := livestate.Launch(fixture.Get(t, name).Binary(t), nil, livestate.HoldFatal(), livestate.Dir(t.TempDir()), livestate.Files(null, null, null))
	if err != nil {
		t.Skipf("this machine starts no programs to trace: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	if err := errors.Join(p.WatchEvents(), p.ResumeAll()); err != nil {
		t.Fatal(err)
	}
	for fatal := false; !fatal; {
		events, err := p.HandleDebugEvent(true)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			fatal = fatal || ev.Fatal
			if ev.Kind == livestate.EventExit {
				t.Skipf("it ended with status %d", ev.Status)
			}
		}
	}
	if err := errors.Join(p.StopEvents(), p.StopAll()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := livecore.Write(f, p, livecore.Options{}); err != nil {
		t.Fatal(err)
	}
	core, err = os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return p.ProcessID(), core
}

// piped runs the handler with a core on a pipe, as the kernel does, and returns how much of the core it took.
func piped(t *testing.T, core []byte, args ...string) (taken int, out string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("corewalk", append([]string{"handle"}, args...)...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	taken, err = w.Write(core)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Fatal(err)
	}
	w.Close()
	_ = cmd.Wait()
	return taken, said.String()
}

// A crash is kept with its report, and of the core no more than the notes is read, and what fits into the pipe.
func TestHandle(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the kernel starts the handler as root: others cannot give the analysis process a program's file that only its user may read")
	}
	policy, store := policyFile(t, "ledger = no\n")
	pid, core := held(t, "amd64-crash-least")
	taken, out := piped(t, core, "--policy", policy, strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix(), 10), "host", "--install")
	list, dirs := records(t, store)
	log, _ := os.ReadFile(filepath.Join(store, "log"))
	if len(list) != 1 {
		t.Fatalf("%d crashes: %s%s", len(list), out, log)
	}
	r := list[0]
	if r.PID != pid || r.Signal != 11 || r.Command != "--install" || r.Core.Threads != 1 || r.Core.Size == 0 || r.Container != nil {
		t.Errorf("%+v", r)
	}
	if len(core) > 2<<20 && taken == len(core) {
		t.Errorf("all of the %d bytes were taken", taken)
	}
	text, err := os.ReadFile(filepath.Join(dirs[0], "report.txt"))
	if err != nil || !strings.Contains(string(text), "died of SIGFPE") || !strings.Contains(string(text), "  #0  ") {
		t.Errorf("%v: %s\n%s", err, text, log)
	}
	doc, err := os.ReadFile(filepath.Join(dirs[0], "report.json"))
	if err != nil || !json.Valid(doc) {
		t.Errorf("%v: %s", err, doc)
	}
	full := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(full, core, 0o600); err != nil {
		t.Fatal(err)
	}
	// The text is what corewalk prints of the core.
	now, err := exec.Command("corewalk", "--no-cache", filepath.Join(dirs[0], "core"), fixture.Get(t, "amd64-crash-least").Binary(t)).Output()
	if err != nil || string(now) != string(text) {
		t.Errorf("%v: corewalk prints %s\nbut the report is %s", err, now, text)
	}

	// There is a report, too, of the first crash of a user of whom no file is kept.
	policy, store = policyFile(t, "ledger = no\nfiles = no\n")
	_, out = piped(t, core, "--policy", policy, strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix(), 10), "host", "c")
	if _, dirs = records(t, store); len(dirs) != 1 {
		t.Fatalf("%d crashes without files: %s", len(dirs), out)
	}
	text, err = os.ReadFile(filepath.Join(dirs[0], "report.txt"))
	if err != nil || !strings.Contains(string(text), "died of SIGFPE") || !strings.Contains(string(text), "  #0  ") {
		t.Errorf("without files: %v: %s", err, text)
	}
}

// What the kernel passes on of a process is never a flag; and what is no crash changes nothing.
func TestHandleArguments(t *testing.T) {
	policy, store := policyFile(t, "")
	for _, args := range [][]string{
		{"999999999", "1", "11", "0", "--uninstall", "--install"},
		{"999999999", "1", "11", "0"},
		{"999999999", "1", "11", "0", "", ""},
	} {
		_, out := piped(t, []byte("no core"), append([]string{"--policy", policy}, args...)...)
		if out != "" {
			t.Errorf("%q printed %s", args, out)
		}
	}
	for _, args := range [][]string{{"1", "2", "3"}, {"x", "1", "11", "0"}, {"--install", "--status"}, {}} {
		if _, out := piped(t, nil, args...); !strings.Contains(out, "one of --install") {
			t.Errorf("%q printed %s", args, out)
		}
	}
	if list, _ := records(t, store); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// Of some programs nothing is kept, and of some no more than so many crashes.
func TestHandlePolicy(t *testing.T) {
	t.Parallel()
	pid, core := held(t, "amd64-crash-least")
	args := []string{strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix(), 10), "host", "c"}
	for lines, want := range map[string]int{"never = *": 0, "only = another": 0, "rate = 2/1h": 2, "count = 1": 1, "disk = 1K": 0, "": 3} {
		policy, store := policyFile(t, "report = no\n"+lines+"\n")
		for range 3 {
			piped(t, core, append([]string{"--policy", policy}, args...)...)
		}
		if list, _ := records(t, store); len(list) != want {
			log, _ := os.ReadFile(filepath.Join(store, "log"))
			t.Errorf("%q: %d crashes, want %d: %s", lines, len(list), want, log)
		}
	}
	policy, store := policyFile(t, "report = no\nfull = *\n")
	if taken, _ := piped(t, core, append([]string{"--policy", policy}, args...)...); taken != len(core) {
		t.Errorf("%d of %d bytes were taken", taken, len(core))
	}
	_, dirs := records(t, store)
	if len(dirs) != 1 {
		t.Fatalf("%q", dirs)
	}
	if got, err := os.ReadFile(filepath.Join(dirs[0], "core.full")); err != nil || !bytes.Equal(got, core) {
		t.Errorf("the full core has %d bytes, not %d: %v", len(got), len(core), err)
	}
}

// kernelStarts sets core_pattern until the test ends, or back is called. One test does so at a time.
func kernelStarts(t *testing.T, pattern string) (back func()) {
	t.Helper()
	const setting = "/proc/sys/kernel/core_pattern"
	was, err := os.ReadFile(setting)
	if err != nil || os.Geteuid() != 0 || strings.ContainsAny(string(was[:min(1, len(was))]), "|@") {
		t.Skip("core_pattern cannot be set here, or it has a handler")
	}
	if len(pattern) > 127 {
		t.Skipf("the temporary directory has too long a name: %s", pattern)
	}
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "core_pattern.lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	was, err = os.ReadFile(setting)
	limit, err2 := os.ReadFile("/proc/sys/kernel/core_pipe_limit")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	// The guardian puts the settings back even if this program is killed: then its pipe ends.
	guardian := exec.Command("sh", "-c", "cat; printf '%s' \"$1\" > "+setting+"; printf '%s' \"$2\" > /proc/sys/kernel/core_pipe_limit", "sh", string(was), string(limit))
	guardian.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	hold, err := guardian.StdinPipe()
	if err == nil {
		err = guardian.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	back = sync.OnceFunc(func() {
		hold.Close()
		_ = guardian.Wait()
		if now, err := os.ReadFile(setting); err != nil || string(now) != string(was) {
			t.Errorf("core_pattern is %q, not %q: %v", now, was, err)
		}
	})
	t.Cleanup(back)
	if err := errors.Join(os.WriteFile("/proc/sys/kernel/core_pipe_limit", []byte("500"), 0), os.WriteFile(setting, []byte(pattern), 0)); err != nil {
		t.Fatal(err)
	}
	return back
}

// Where the kernel can be told of the handler: crashes at once, in namespaces of their own, of programs with names that look like
// flags. What other programs leave is written as before.
func TestHandleKernel(t *testing.T) {
	fixture.Long(t)
	policy, store := policyFile(t, "")
	dir := filepath.Dir(policy)
	corewalk, err := exec.LookPath("corewalk")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nPATH=/usr/bin:/bin\nread c < /proc/$1/comm\ncase \"$c\" in cwvictim|--install) exec %s handle --policy %s \"$@\";; *) exec cat > /proc/$1/cwd/core;; esac\n", corewalk, policy)
	handler := filepath.Join(dir, "h")
	victim := filepath.Join(dir, "cwvictim")
	code, err := os.ReadFile(fixture.Get(t, "amd64-crash-least").Binary(t))
	if err := errors.Join(err, os.WriteFile(handler, []byte(script), 0o755), os.WriteFile(victim, code, 0o755), os.WriteFile(filepath.Join(dir, "--install"), code, 0o755)); err != nil {
		t.Fatal(err)
	}
	back := kernelStarts(t, "|"+handler+" %P %i %s %t %h %e")
	const atOnce = 12 // with the two below fewer than are handled of one program at once
	var all []*exec.Cmd
	start := func(name string, args ...string) {
		c := exec.Command(name, args...)
		c.Dir, c.Stdout, c.Stderr = dir, io.Discard, io.Discard
		if err := c.Start(); err != nil {
			t.Error(err)
			return
		}
		all = append(all, c)
	}
	for range atOnce {
		start(victim)
	}
	start("./--install")
	start("unshare", "-p", "-m", "-u", "-f", victim)
	for _, c := range all {
		_ = c.Wait() // none hangs
	}
	back()
	list, dirs := records(t, store)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		reports, _ := filepath.Glob(filepath.Join(store, "crashes", "2*", "report.txt"))
		if list, dirs = records(t, store); len(reports) == len(all) {
			break
		}
	}
	inside := 0
	for i, r := range list {
		if r.Container != nil {
			inside++
		}
		if text, err := os.ReadFile(filepath.Join(dirs[i], "report.txt")); err != nil || !strings.Contains(string(text), "died of SIG") {
			t.Errorf("%s: %v: %s", dirs[i], err, text)
		}
	}
	if len(list) != len(all) || inside != 1 {
		log, _ := os.ReadFile(filepath.Join(store, "log"))
		t.Errorf("%d of %d crashes were kept, %d of them in a container: %s", len(list), len(all), inside, log)
	}
}

// A handler that is killed while it takes a crash leaves nothing behind that others wait for: the kernel's write ends at once, no
// crash is half there, and the next one is kept.
func TestHandleKilled(t *testing.T) {
	policy, store := policyFile(t, "report = no\n")
	pid, core := held(t, "amd64-crash-least")
	args := []string{"handle", "--policy", policy, strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix(), 10), "host", "c"}
	for _, part := range []int{0, 100, 5000} { // so much of it has come when it is killed
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("corewalk", args...)
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if _, err := w.Write(core[:part]); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if _, err := w.Write(core); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("after %d bytes: somebody still reads the core: %v", part, err)
		}
		w.Close()
		if list, _ := records(t, store); len(list) != 0 {
			t.Fatalf("after %d bytes: %+v", part, list)
		}
	}
	if _, out := piped(t, core, args[1:]...); out != "" {
		t.Error(out)
	}
	if list, _ := records(t, store); len(list) != 1 {
		t.Errorf("%d crashes, want 1", len(list))
	}
}

// Where the kernel can be told of the handler, programs end whenever it is killed.
func TestHandleKernelKilled(t *testing.T) {
	fixture.Long(t)
	policy, store := policyFile(t, "report = no\n")
	dir := filepath.Dir(policy)
	corewalk, err := exec.LookPath("corewalk")
	if err != nil {
		t.Fatal(err)
	}
	// The shell waits for nobody: the handler alone has the pipe.
	script := fmt.Sprintf("#!/bin/sh\nPATH=/usr/bin:/bin\nread c < /proc/$1/comm\ncase \"$c\" in cwvictim) ;; *) exec cat > /proc/$1/cwd/core;; esac\n"+
		"after=$(cat %s/after)\n(sleep $after; kill -9 $$) < /dev/null &\nexec %s handle --policy %s \"$@\"\n", dir, corewalk, policy)
	handler, victim := filepath.Join(dir, "h"), filepath.Join(dir, "cwvictim")
	code, err := os.ReadFile(fixture.Get(t, "amd64-crash-least").Binary(t))
	if err := errors.Join(err, os.WriteFile(handler, []byte(script), 0o755), os.WriteFile(victim, code, 0o755)); err != nil {
		t.Fatal(err)
	}
	kernelStarts(t, "|"+handler+" %P %i %s %t %h %e")
	for _, after := range []string{"0", "0.002", "0.004", "0.006", "0.008", "0.012", "0.02", "0.04"} {
		if err := os.WriteFile(filepath.Join(dir, "after"), []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c := exec.Command(victim)
			c.Dir = dir
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatalf("killed after %s s: the program hangs", after)
			}
		}
	}
	waitForNone(t, dir)
	_, dirs := records(t, store)
	t.Logf("%d of 24 crashes were kept", len(dirs))
	for _, d := range dirs {
		if st, err := os.Stat(filepath.Join(d, "core")); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", d, err)
		}
	}
}

// waitForNone waits until no process has a directory in its arguments any more.
func waitForNone(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		found := false
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			b, _ := os.ReadFile(path)
			found = found || bytes.Contains(b, []byte(dir))
		}
		if !found {
			return
		}
	}
	t.Errorf("a process that has %s in its arguments goes on", dir)
}
