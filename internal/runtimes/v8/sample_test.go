package v8_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestMoments stops a busy program at many moments: in functions that are being entered and left, compiled and
// deoptimized. Every stack must lead to the beginning of the thread, through the function that does all the work.
func TestMoments(t *testing.T) {
	fixture.Long(t)
	moments := 20
	if n, err := strconv.Atoi(os.Getenv("COREWALK_MOMENTS")); err == nil {
		moments = n
	}
	program := filepath.Join(fixture.Root(t), "testdata/src/node/frames.js")
	for _, node := range nodes(t) {
		for _, options := range [][]string{nil, {"--always-sparkplug"}, {"--no-opt"}} {
			t.Run(version(t, node)+strings.Join(options, ""), func(t *testing.T) {
				cmd := exec.Command(node, append(options, program, "spin")...)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				fixture.Bind(t, cmd.Process.Pid)
				defer cmd.Wait()
				defer cmd.Process.Kill()
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				bad := 0
				for range moments {
					time.Sleep(time.Millisecond)
					if why := moment(t, cmd.Process.Pid); why != "" {
						if bad++; bad < 4 {
							t.Log(why)
						}
					}
				}
				t.Logf("%d stacks, %d of them wrong", moments, bad)
				if bad > 1+moments/50 {
					t.Errorf("%d stacks of %d are wrong", bad, moments)
				}
			})
		}
	}
}

// moment says what is wrong with the stack of the busy thread; "" if nothing is.
func moment(t *testing.T, pid int) string {
	ctx := context.Background()
	target, err := corewalk.Attach(ctx, pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("attach: %v", err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range r.Threads {
		if int(th.ID) != pid {
			continue
		}
		var all []string
		spins := false
		for _, f := range th.Frames {
			all = append(all, f.Function+" "+string(f.Trust)+" "+f.Kind+" "+f.PC.String())
			spins = spins || f.Function == "spin" && f.Language == "javascript" && f.Trust != report.TrustScan
		}
		if last := th.Frames[len(th.Frames)-1].Function; last == "_start" && spins {
			return ""
		}
		return strings.Join(all, "\n")
	}
	return "no thread"
}
