package hotspot_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/unwind"
)

// moments is how often each virtual machine is stopped.
var moments = 10

// TestMoments stops a virtual machine that runs all kinds of code at many moments. Every stack of
// its two busy threads must lead to the beginning of the thread, through the method that they run in.
func TestMoments(t *testing.T) {
	fixture.Long(t)
	if n, err := strconv.Atoi(os.Getenv("COREWALK_MOMENTS")); err == nil {
		moments = n
	}
	for _, home := range homes(t) {
		classes := compiled(t, home)
		for _, options := range [][]string{nil, {"-XX:TieredStopAtLevel=1"}, {"-XX:-TieredCompilation"}} {
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
				fixture.Bind(t, cmd.Process.Pid)
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
				if good < 2*moments || bad > 1+good/100 { // the handlers of safepoints have frames that no table describes
					t.Errorf("%d stacks of %d are wrong", bad, good+bad)
				}
			})
		}
	}
}

// moment counts the stacks of busy threads that are right, and those that are not.
func moment(t *testing.T, pid int, show bool) (good, bad int) {
	stopped(t, pid, func(java *hotspot.Java, id unwind.ThreadID, s *unwind.Stack) {
		stretches, _ := java.Stretches(context.Background(), id, s.Frames)
		isJava := len(stretches) > 0
		var names []string
		ends := ""
		for i, f := range s.Frames {
			name, _ := f.Name()
			for _, st := range stretches {
				for _, c := range st.Calls {
					if st.From == i {
						name = c.Function
					}
				}
			}
			names = append(names, name+" "+java.Code(f)+" "+f.Trust().String())
			ends = name
		}
		all := strings.Join(names, "\n")
		if !isJava {
			return
		}
		bottom := ends == "__clone3" || ends == "clone3" || ends == "__clone" || ends == "" && s.End == unwind.EndBottom // of a libc without symbols
		if bottom && (!strings.Contains(all, "Frames") || strings.Contains(all, "Frames.spinOnce(int)") || strings.Contains(all, "Frames.spin()") || strings.Contains(all, "Frames.lambda$spin")) {
			good++
			return
		}
		bad++
		if show {
			t.Logf("thread %d ends %s at %q:\n%s", id, s.End, ends, all)
		}
	})
	return good, bad
}

// stopped stops a process, so that all that is read of it is of one moment, and calls do with the stack of each of its threads.
func stopped(t *testing.T, pid int, do func(*hotspot.Java, unwind.ThreadID, *unwind.Stack)) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	for running := true; running; {
		running = false
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, name := range stats {
			b, _ := os.ReadFile(name)
			_, state, ok := strings.Cut(string(b), ") ")
			running = running || ok && !strings.HasPrefix(state, "T")
		}
	}
	target, err := corewalk.Attach(context.Background(), pid)
	if err != nil {
		t.Skipf("attach: %v", err)
	}
	defer target.Close()
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var java *hotspot.Java
	for _, s := range w.StepperGroup().Steppers() {
		if j, ok := s.(*hotspot.Java); ok {
			java = j
		}
	}
	ids, _ := w.AvailableThreads()
	for _, id := range ids {
		s, _ := w.WalkStack(id)
		do(java, id, s)
	}
}

// TestCrosses stops threads in which compiled methods call interpreted ones, and those compiled ones, without end: in
// adapters, where frames begin and where they end. Each stack is the end of the one chain of calls that there is.
func TestCrosses(t *testing.T) {
	fixture.Long(t)
	chain := " fastFive slowFour fastThree slowTwo fastOne slowSpin spin"
	for _, home := range homes(t) {
		dir := javac(t, home, "testdata/Crosses.java")
		t.Run(filepath.Base(home), func(t *testing.T) {
			cmd := exec.Command(filepath.Join(home, "bin/java"), "-Xmx64m", "-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Crosses.slow*",
				"-XX:CompileCommand=dontinline,Crosses.fast*", "-cp", dir, "Crosses")
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
			time.Sleep(time.Second) // until it is compiled
			good := 0
			for range 4 * moments {
				time.Sleep(time.Millisecond)
				stopped(t, cmd.Process.Pid, func(java *hotspot.Java, id unwind.ThreadID, s *unwind.Stack) {
					stretches, _ := java.Stretches(context.Background(), id, s.Frames)
					names := ""
					for _, st := range stretches {
						for _, c := range st.Calls {
							if name, ok := strings.CutPrefix(c.Function, "Crosses."); ok && !strings.HasPrefix(name, "main(") {
								name, _, _ = strings.Cut(name, "(")
								names += " " + name
							}
						}
					}
					switch {
					case names == "":
					case strings.HasSuffix(chain, names) && strings.HasSuffix(names, " spin"):
						good++
					default:
						t.Errorf("got%s at %s", names, java.Code(s.Frames[0]))
					}
				})
			}
			t.Logf("%d stacks are right", good)
			if good < 6*moments {
				t.Errorf("%d stacks of %d moments", good, 4*moments)
			}
		})
	}
}
