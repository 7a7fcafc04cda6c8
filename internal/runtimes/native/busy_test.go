package native_test

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestBusy stops programs that are merely busy, slow or starved at random moments: no deadlock of theirs is certain.
// COREWALK_MOMENTS is how many moments of each program, 5 without it.
func TestBusy(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds and stops programs: set COREWALK_LONG=1")
	}
	moments := 5
	if n, err := strconv.Atoi(os.Getenv("COREWALK_MOMENTS")); err == nil {
		moments = n
	}
	for _, cc := range []string{"gcc", "musl-gcc"} {
		t.Run(cc, func(t *testing.T) {
			exe := compile(t, cc, "busy.c", "-g", "-O1", "-pthread")
			list, err := exec.Command(exe, "list").Output()
			if err != nil {
				t.Fatal(err)
			}
			possible, waits, held := 0, 0, 0
			for _, mode := range strings.Fields(string(list)) {
				certain := 0
				at := func(r *report.Report) {
					for _, d := range r.Deadlocks {
						if d.Certainty != "certain" {
							possible++
						} else if certain++; certain == 1 {
							t.Errorf("%s: %s\n%+v", mode, r.HangText(), r.Tasks)
						}
					}
					waits += len(r.Tasks)
					for _, task := range r.Tasks {
						if task.Wait != nil && len(task.Wait.Holders) == 1 && task.Wait.Holders[0].Certainty == "certain" {
							held++
						}
					}
				}
				stopAt(t, exe, mode, moments, at)
			}
			t.Logf("%s: %d moments of each program, %d waits, %d of them certain with their holder, %d possible deadlocks", cc, moments, waits, held, possible)
			if held == 0 {
				t.Error("of nothing it was certain who held it: no deadlock could be")
			}
		})
	}
}

// stopAt runs a program and analyses it at random moments, stopped.
func stopAt(t *testing.T, exe, mode string, moments int, at func(*report.Report)) {
	t.Helper()
	cmd := exec.Command(exe, mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%s: %v", mode, err)
	}
	ctx := context.Background()
	target, err := corewalk.Attach(ctx, cmd.Process.Pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("attach: %v", err)
	}
	defer target.Close()
	for range moments {
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		at(r)
	}
}

// TestDescriptors: of a running process, descriptors are named, and the other end of a pipe.
func TestDescriptors(t *testing.T) {
	if os.Getenv("COREWALK_LONG") == "" {
		t.Skip("builds and stops programs: set COREWALK_LONG=1")
	}
	exe := compile(t, "gcc", "busy.c", "-g", "-O1", "-pthread")
	found := false
	stopAt(t, exe, "poll", 40, func(r *report.Report) {
		for i := range r.Tasks {
			w := r.Tasks[i].Wait
			if w != nil && w.Kind == "io" && w.Reason == "write" && w.Object != nil && w.Object.Type == "descriptor 4" &&
				strings.HasPrefix(w.Object.Detail, "pipe:[") && strings.HasSuffix(w.Object.Detail, "], other end: 3") {
				found = true
			}
		}
	})
	if !found {
		t.Error("nobody waited for the pipe of descriptors 3 and 4")
	}
}
