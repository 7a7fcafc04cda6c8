package command

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestGuard: the kernel keeps commands without a flag for memory below a limit, too.
func TestGuard(t *testing.T) {
	t.Parallel()
	core := fixture.Get(t, "amd64-inline-tail-O2").Core(t)
	want := fmt.Sprintf("Max data size %d %[1]d bytes", hardMemory(defaultMemory))
	for _, args := range [][]string{{"shell", core}, {"dap"}, {"mcp", t.TempDir()}} {
		cmd := exec.Command("corewalk", args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		limits := ""
		for end := time.Now().Add(time.Minute); !strings.Contains(limits, want) && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", cmd.Process.Pid))
			limits = strings.Join(strings.Fields(string(b)), " ")
		}
		if !strings.Contains(limits, want) {
			t.Errorf("%s: no %q in %s", args[0], want, limits)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}
