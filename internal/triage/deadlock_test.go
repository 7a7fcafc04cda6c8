package triage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestDeadlockIsOneGroup: cores of one deadlock have one signature, whichever thread came first, whichever thread the
// signal was for, however long the program ran on, and however the program ended.
func TestDeadlockIsOneGroup(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds and runs programs: set COREWALK_LONG=1")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed: Debian's gcc")
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "bank")
	if out, err := exec.Command("gcc", "-g", "-O1", "-pthread", "-o", exe, "../../testdata/src/tasks/bank.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	groups := map[string]int{}
	const runs = 24
	for i := range runs {
		here := filepath.Join(dir, fmt.Sprint(i))
		os.Mkdir(here, 0o777)
		// Which thread is first, which one gets the signal, which signal, after how long.
		cmd := exec.Command("sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh", exe, fmt.Sprint(i%2), fmt.Sprint(i/2%3), fmt.Sprint(i/6%2), fmt.Sprint(20+7*i))
		cmd.Dir = here
		cmd.Run()
		cores, _ := filepath.Glob(filepath.Join(here, "core*"))
		if len(cores) == 0 {
			t.Skip("the kernel writes no core here: /proc/sys/kernel/core_pattern")
		}
		target, err := corewalk.Open(context.Background(), cores[0], corewalk.WithExecutable(exe))
		if err != nil {
			t.Fatal(err)
		}
		r, err := ForSignature(context.Background(), target)
		if err != nil {
			t.Fatal(err)
		}
		s := signature.Of(r)
		groups[s.Hash+" "+s.String()]++
		target.Close()
	}
	if len(groups) != 1 {
		t.Errorf("%d groups of %d cores of one deadlock: %v", len(groups), runs, groups)
	}
	for g := range groups {
		if want := "deadlock in deposit and withdraw"; g[len(g)-len(want):] != want {
			t.Errorf("%q, want %q", g, want)
		}
	}
}
