package systemtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestSlimGDB: gdb walks every slim core, also the redacted, as it walks the whole one.
func TestSlimGDB(t *testing.T) {
	fixture.Long(t)
	steps := regexp.MustCompile(`(?m)^(Thread .*LWP \d+|#\d+ +(0x[0-9a-f]+ in )?[^ ]+)`)
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			gdb, err := exec.LookPath(c.GDB())
			if err != nil {
				t.Skipf("%s is not installed (Debian: %s)", c.GDB(), c.GDB())
			}
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t)), corewalk.ForSlim()}
			target, err := corewalk.Open(context.Background(), c.Core(t), opts...)
			if err != nil {
				t.Skip(err)
			}
			defer target.Close()
			if target.Core() == nil {
				t.Skip("not an ELF core")
			}
			walk := func(core string) string {
				out, _ := exec.Command(gdb, "-nx", "-batch", "-iex", "set sysroot "+c.Sysroot(t), "-iex", "set debuginfod enabled off",
					"-iex", "set debug-file-directory "+c.Dir, "-ex", "thread apply all backtrace 200", c.Binary(t), core).CombinedOutput()
				return strings.Join(steps.FindAllString(string(out), -1), "\n")
			}
			want := walk(c.Core(t))
			if want == "" {
				t.Skip("gdb does not read this core")
			}
			for _, redact := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), "slim")
				f, err := os.Create(path)
				if err != nil {
					t.Fatal(err)
				}
				_, err = target.WriteSlim(context.Background(), f, corewalk.SlimOptions{Redact: redact})
				if cerr := f.Close(); err != nil || cerr != nil {
					t.Fatal(err, cerr)
				}
				if got := walk(path); got != want {
					t.Errorf("redacted %v: gdb walks\n%s\nand of the whole core\n%s", redact, got, want)
				}
			}
		})
	}
}
