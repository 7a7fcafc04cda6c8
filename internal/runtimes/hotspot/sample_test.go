package hotspot_test

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
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/tasks"
)

// moments is how often each virtual machine is stopped.
var moments = 20

// TestMoments stops a virtual machine that runs all kinds of code at many moments. Every stack of
// its two busy threads must lead to the beginning of the thread, through the method that they run in.
func TestMoments(t *testing.T) {
	fixture.Long(t)
	if n, err := strconv.Atoi(os.Getenv("COREWALK_MOMENTS")); err == nil {
		moments = n
	}
	for _, home := range homes(t) {
		classes := compiled(t, home)
		for _, options := range [][]string{nil, {"-Xint"}, {"-XX:TieredStopAtLevel=1"}, {"-XX:-TieredCompilation"}, {"-XX:+UseZGC"}} {
			t.Run(filepath.Base(home)+strings.Join(options, ""), func(t *testing.T) {
				args := append([]string{"-Xmx64m", "-cp", classes}, options...)
				cmd := exec.Command(filepath.Join(home, "bin/java"), append(args, "Frames", "spin")...)
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
					t.Fatal(err)
				}
				good, bad := 0, 0
				for range moments {
					time.Sleep(time.Millisecond)
					g, b := moment(t, cmd.Process.Pid, bad < 5)
					good, bad = good+g, bad+b
				}
				t.Logf("%d stacks, %d of them wrong", good+bad, bad)
			})
		}
	}
}

// moment counts the stacks of busy threads that are right, and those that are not.
func moment(t *testing.T, pid int, show bool) (good, bad int) {
	ctx := context.Background()
	target, err := corewalk.Attach(ctx, pid, corewalk.WithHold())
	if err != nil {
		t.Skipf("attach: %v", err)
	}
	defer target.Close()
	var vm *hotspot.VM
	for range target.Tasks(ctx, func(p *tasks.Process) (tasks.Runtime, error) { vm, err = hotspot.Open(p); return nil, err }) {
		break
	}
	if err != nil || vm == nil {
		t.Fatal(vm, err)
	}
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.AddStepper(hotspot.NewStepper(vm))
	ids, _ := w.AvailableThreads()
	for _, id := range ids {
		s, _ := w.WalkStack(id)
		java := false
		var names []string
		ends := ""
		for _, f := range s.Frames {
			name, _ := f.Name()
			for _, c := range vm.Calls(f, nil) {
				java = true
				name = c.Name
				names = append(names, name)
				if f.NonCall() {
					names = append(names, "at "+vm.BlobName(f.RA()))
				}
			}
			if len(names) == 0 || names[len(names)-1] != name {
				names = append(names, name+" "+vm.BlobName(f.RA())+" "+f.Trust().String())
			}
			ends = name
		}
		all := strings.Join(names, "\n")
		if !java && !strings.Contains(all, "InterpreterRuntime") && !strings.Contains(all, "StubRoutines") {
			continue
		}
		if (ends == "__clone3" || ends == "clone3" || ends == "__clone") && (!strings.Contains(all, "Frames") || strings.Contains(all, "Frames.spinOnce(int)") || strings.Contains(all, "Frames.spin()") || strings.Contains(all, "Frames.lambda$spin")) {
			good++
			continue
		}
		bad++
		if show {
			t.Errorf("thread %d ends %s at %q:\n%s", id, s.End, ends, all)
		}
	}
	return good, bad
}
