//go:build linux

package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// manyGoroutines starts testdata/src/go-many with n goroutines.
func manyGoroutines(t *testing.T, n int) (pid string) {
	t.Helper()
	cmd := exec.Command(fixture.Compile(t, "go", "go-many/main.go"), fmt.Sprint(n))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	fixture.Bind(t, cmd.Process.Pid)
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 6)); err != nil { // "ready"
		t.Fatal(err)
	}
	return fmt.Sprint(cmd.Process.Pid)
}

// TestSamplingGoroutines: each moment has every goroutine once, with what it waits for.
func TestSamplingGoroutines(t *testing.T) {
	t.Parallel()
	pid := manyGoroutines(t, 800)
	folded := filepath.Join(t.TempDir(), "folded")
	status, out, errs := liveUntil(t, context.Background(), "--every", "50ms", "--for", "200ms", "--folded", folded, pid)
	if status != exitComplete || errs != "" {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	var samples, stacks int
	if _, err := fmt.Sscanf(out, "%d sample", &samples); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`, (\d+) stacks`).FindStringSubmatch(out); m != nil {
		_, _ = fmt.Sscan(m[1], &stacks)
	}
	if stacks != 801*samples { // main's is one, too
		t.Errorf("%d stacks in %d samples of 801 goroutines:\n%s", stacks, samples, out)
	}
	text, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	for what, each := range map[string]int{
		`;main\.\(\*office\)\.read;.*;\[chan receive\]`: 200, `;main\.\(\*office\)\.lock;.*;\[sync\.Mutex\.Lock\]`: 100,
		`main\.main;.*;\[select \(no cases\)\]`: 1, `;time\.Sleep;.*;\[sleep\]`: 100,
	} {
		n := 0
		for _, l := range regexp.MustCompile(`(?m)^[^\n]*`+what+` (\d+)$`).FindAllSubmatch(text, -1) {
			var k int
			_, _ = fmt.Sscan(string(l[1]), &k)
			if !strings.Contains(string(l[0]), ".deep;") {
				n += k
			}
		}
		late := each == 1 && n == samples-1 // on a busy machine, the first sample may be taken before main waits
		if n != each*samples && !late {
			t.Errorf("%s: %d in %d samples, want %d in each", what, n, samples, each)
		}
	}
	status, out, _ = liveUntil(t, context.Background(), "--every", "50ms", "--for", "100ms", "--tasks", "none", pid)
	if status != exitComplete || strings.Contains(out, "[chan receive]") || !strings.Contains(out, "runtime.mstart") {
		t.Errorf("threads: status %d\n%s", status, out)
	}
	status, out, _ = liveUntil(t, context.Background(), "--every", "50ms", "--for", "100ms", "--task", "1", pid)
	if status != exitComplete || strings.Contains(out, "[chan receive]") || !strings.Contains(out, "100.0%") || !strings.Contains(out, "[select (no cases)]") {
		t.Errorf("goroutine 1: status %d\n%s", status, out)
	}
	status, out, _ = liveUntil(t, context.Background(), "--every", "50ms", "--for", "100ms", "--tasks", "all", pid)
	if status != exitComplete || !strings.Contains(out, "[force gc (idle)]") {
		t.Errorf("all: status %d\n%s", status, out)
	}
}
