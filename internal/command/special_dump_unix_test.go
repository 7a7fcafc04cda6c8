//go:build unix

package command

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// specialFiles makes files that are not regular, and returns a dump that is.
func specialFiles(t *testing.T, dir string) (files map[string]string, dump string) {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Symlink(in("pipe"), in("link")); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{in("pipe"): "is a pipe", in("link"): "is a pipe", in("socket"): "is a socket", "/dev/zero": "is a device", "/dev/null": "is a device",
		"/dev/tty": "", "/proc/self/maps": "", "/proc/kmsg": "", "/proc/self/mem": ""}
	for path := range files {
		if _, err := os.Stat(path); err != nil {
			delete(files, path)
		} else if strings.HasPrefix(path, "/proc") {
			files[path] = "made up by the kernel"
			if path == "/proc/kmsg" && os.Getuid() != 0 {
				files[path] = "permission denied"
			}
		}
	}
	c := fixture.Get(t, "amd64-inline-tail-O2")
	return files, c.Core(t)
}

// runForAMinute runs the program for at most a minute.
func runForAMinute(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	if !timer.Stop() {
		t.Errorf("%q does not end", cmd.Args)
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestSpecialDump: a pipe may have no writer, a device no end, and what the kernel makes up is no dump: no command waits for them, or reads them.
func TestSpecialDump(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, core := specialFiles(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	for file, says := range files {
		for _, args := range [][]string{{file}, {"--sandbox", file}, {"info", file}, {"memory", file}, {"print", file, "x"}, {"shell", file},
			{"slim", file, "-o", out}, {"pack", file, "-o", out}, {"convert", file, "-o", out}} {
			text, status := runForAMinute(t, exec.Command("corewalk", args...))
			if args[0] == "--sandbox" && strings.Contains(text, "permission denied") || strings.Contains(text, "--sandbox:") { // or the system has none
				continue
			}
			if status != exitNothing || !strings.Contains(text, says) {
				t.Errorf("%q: status %d, want %q\n%s", args, status, says, text)
			}
		}
		if text, status := runForAMinute(t, exec.Command("corewalk", "--debuginfod=none", core, file)); status == exitNothing || !strings.Contains(text, "not used as BINARY") {
			t.Errorf("BINARY %s: status %d\n%s", file, status, text)
		}
		if text, status := runForAMinute(t, exec.Command("corewalk", "triage", "--no-db", file)); status == 0 || !strings.Contains(text, "not a regular file") && !strings.Contains(text, "real file system") && !strings.Contains(text, "permission denied") {
			t.Errorf("triage %s: status %d\n%s", file, status, text)
		}
	}
	// In directories they are left out, also under the names of what is looked for.
	names := []string{"core", "core.1", "inline_tail", "inline_tail.debug", "core.dmp", "libc.so.6", "ld.so.conf", "manifest.json", "oci-layout", "repositories"}
	for _, below := range []string{"", "etc", "usr/lib/debug", "lib64", "opt/corewalk-fixtures/inline-tail-O2"} {
		sub := filepath.Join(dir, below)
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := syscall.Mkfifo(filepath.Join(sub, name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{{"--search", dir, core}, {"--sysroot", dir, core}, {"--debug-dir", dir, core}, {"--symbol-path", dir, core}, {"--sandbox=auto", "--search", dir, core}} {
		if text, status := runForAMinute(t, exec.Command("corewalk", append([]string{"--debuginfod=none"}, args...)...)); status == exitNothing {
			t.Errorf("%q: status %d\n%s", args, status, text)
		}
	}
	if text, _ := runForAMinute(t, exec.Command("corewalk", "triage", "-r", "--no-db", dir)); !strings.Contains(text, "0 dumps") {
		t.Errorf("triage: %s", text)
	}
}

// TestPipeOfShell: the path that a shell gives for <(...) is read, until there is no more time.
func TestPipeOfShell(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/fd/0"); err != nil {
		t.Skip(err)
	}
	core, err := os.ReadFile(fixture.Get(t, "amd64-inline-tail-O2").Core(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, full := range []bool{true, false} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, "corewalk", "--debuginfod=none", "--deadline=1s", "/dev/fd/3")
		if full {
			cmd.Args[2] = "--deadline=1m"
			go func() { w.Write(core); w.Close() }()
		}
		cmd.ExtraFiles = []*os.File{r}
		text, status := runForAMinute(t, cmd)
		r.Close()
		w.Close()
		switch want := "the time limit of 1s"; {
		case full && (status == exitNothing || !strings.Contains(text, "died of SIGSEGV")):
			t.Errorf("status %d\n%s", status, text)
		case !full && (status != exitNothing || !strings.Contains(text, want)):
			t.Errorf("of a pipe into which nobody writes: status %d, want %q\n%s", status, want, text)
		}
	}
}
