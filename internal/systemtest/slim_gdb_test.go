package systemtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
)

// gdbSample is how many cores there are for each that TestSlimGDB looks at without COREWALK_SLIM_GDB=all.
const gdbSample = 5

// gdbStep is what is compared of a line: the thread, or a frame's number, address and function.
var gdbStep = regexp.MustCompile(`(?m)^(Thread .*LWP \d+|#\d+ +(0x[0-9a-f]+ in )?[^ ]+)`)

// gdbAddress is the address of a frame without a function.
var gdbAddress = regexp.MustCompile(`^#\d+ +0x([0-9a-f]+) in \?\?$`)

// gdbStacks returns what is compared of gdb's output. A stack ends before an address that is in no code of the process: what
// gdb took for an address there is a value, which a redacted core has not, and so is all behind it.
func gdbStacks(out string, core *corestate.ELFCore) string {
	var lines []string
	over := false
	for _, line := range gdbStep.FindAllString(out, -1) {
		if m := gdbAddress.FindStringSubmatch(line); m != nil {
			a, _ := strconv.ParseUint(m[1], 16, 64)
			x, ok := core.MappingAt(a)
			over = over || !strings.HasPrefix(line, "#0 ") && !(ok && x.Perm&libstate.Exec != 0)
		} else if strings.HasPrefix(line, "Thread") {
			over = false
		}
		if !over {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// gdbWalk returns what gdb prints of the stacks of all threads. A gdb that does not end is killed, and ok is false.
func gdbWalk(c fixture.Case, sysroot, exe, core string) (text string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.GDB(), "-nx", "-batch", "-iex", "set sysroot "+sysroot, "-iex", "set debuginfod enabled off",
		"-iex", "set debug-file-directory "+c.Dir, "-ex", "thread apply all backtrace 200", exe, core)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, _ := cmd.CombinedOutput()
	return string(out), ctx.Err() == nil
}

// TestSlimGDB: gdb walks slim cores, redacted ones too, as it walks the whole ones. It looks at native cores: gdb's
// other architectures have their own tests, and do not always end.
func TestSlimGDB(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed (Debian: gdb)")
	}
	n := 0
	for _, c := range fixture.Cases(t) {
		if c.GDB() != "gdb" {
			continue
		}
		if n++; n%gdbSample != 0 && os.Getenv("COREWALK_SLIM_GDB") != "all" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			sysroot, exe := c.Sysroot(t), c.Binary(t)
			opts := []corewalk.Option{corewalk.WithSysroot(sysroot), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(exe)}
			target, err := corewalk.Open(t.Context(), c.Core(t), append(opts, corewalk.ForSlim())...)
			if err != nil {
				t.Skip(err)
			}
			defer target.Close()
			if target.Core() == nil {
				t.Skip("not an ELF core")
			}
			text, ok := gdbWalk(c, sysroot, exe, c.Core(t))
			want := gdbStacks(text, target.Core())
			if want == "" || !ok {
				t.Skip("gdb does not read this core")
			}
			for _, redact := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), fmt.Sprint("slim", redact))
				f, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = target.WriteSlim(t.Context(), f, corewalk.SlimOptions{Redact: redact})
				if cerr := f.Close(); err != nil || cerr != nil {
					t.Fatal(err, cerr)
				}
				small, err := corewalk.Open(t.Context(), path, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := corewalk.SameStacks(target, small); err != nil {
					t.Errorf("redacted %v: %v", redact, err)
				}
				small.Close()
				text, _ := gdbWalk(c, sysroot, exe, path)
				if got := gdbStacks(text, target.Core()); got != want {
					t.Errorf("redacted %v: gdb walks\n%s\nand of the whole core\n%s\nit prints\n%s", redact, got, want, text)
				}
			}
		})
	}
}
