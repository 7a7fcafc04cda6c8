//go:build unix

package command

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestSpecialOutput: a pipe or a device that is to take the result takes it, and stays what it is. Else root would replace /dev/null by a file.
func TestSpecialOutput(t *testing.T) {
	t.Parallel()
	c := fixture.Get(t, "amd64-inline-tail-O2")
	core := c.Core(t)
	for _, tt := range []struct {
		begins string
		args   []string
	}{
		{"\x7fELF", []string{"slim"}},
		{"PK", []string{"pack"}},
		{"MDMP", []string{"convert"}},
		{`{"type":"dump"`, []string{"triage", "--no-db", "--format", "json"}},
	} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skip(err)
		}
		got := make(chan string)
		go func() {
			var b []byte
			if f, err := os.Open(pipe); err == nil {
				b, _ = io.ReadAll(f)
				f.Close()
			}
			got <- string(b)
		}()
		out, err := exec.Command("corewalk", append(tt.args, "-o", pipe, "--debuginfod=none", "--search", filepath.Dir(c.Binary(t)), core)...).CombinedOutput()
		if st, serr := os.Lstat(pipe); serr != nil || st.Mode().Type() != fs.ModeNamedPipe {
			t.Fatalf("%s replaced the pipe: %v, %v\n%s", tt.args[0], st, serr, out)
		}
		if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // nothing was written: the reader waits still
			f.Close()
		}
		if s := <-got; !strings.HasPrefix(s, tt.begins) {
			t.Errorf("%s: %.40q, %v\n%s", tt.args[0], s, err, out)
		}
		if list, _ := os.ReadDir(filepath.Dir(pipe)); len(list) != 1 {
			t.Errorf("%s left %v", tt.args[0], list)
		}
	}
}
