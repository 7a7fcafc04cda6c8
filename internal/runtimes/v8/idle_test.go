package v8_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// TestIdle: while nothing runs, the async functions that wait are those that the program says, each for what it says.
func TestIdle(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/idle.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		for option, how := range map[string]string{"--no-opt": "with a worker", "--always-sparkplug": "alone"} {
			t.Run(version(t, node)+option, func(t *testing.T) {
				if how == "alone" {
					fixture.Long(t)
				}
				program := filepath.Join(t.TempDir(), "idle.js")
				if err := os.WriteFile(program, source, 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(node, option, program, how)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Wait()
				defer cmd.Process.Kill()
				printed, err := bufio.NewReader(out).ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				var said [][2]string
				if err := json.Unmarshal([]byte(printed), &said); err != nil {
					t.Fatalf("%q: %v", printed, err)
				}
				var want []string
				for _, s := range said {
					want = append(want, s[0]+" waits for "+s[1])
				}
				time.Sleep(100 * time.Millisecond) // it goes back to wait
				target, err := corewalk.Attach(context.Background(), cmd.Process.Pid, corewalk.WithHold(), files())
				if err != nil {
					t.Skipf("attach: %v", err)
				}
				defer target.Close()
				got := waitsOf(t, target, program)
				slices.Sort(got)
				slices.Sort(want)
				if len(want) < 20 || !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				in := 0
				for _, task := range r.Tasks {
					if len(task.Frames) > 0 && task.Frames[len(task.Frames)-1].Source.File == program {
						in++
					}
				}
				if in != len(want) {
					t.Errorf("the report has %d of %d functions", in, len(want))
				}
				recordTasks(t, target)
			})
		}
	}
}

// TestIdleModule: a module that awaits at its top is a task, by the path of its file; Node's loader, which waits for it, is the system's.
func TestIdleModule(t *testing.T) {
	t.Parallel()
	for _, node := range nodes(t) {
		t.Run(version(t, node), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "top.mjs")
			if err := os.WriteFile(program, []byte("export async function slow() {\n  await new Promise((done) => setTimeout(done, 1e8));\n}\nconsole.log('ready');\nawait slow();\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(node, program)
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
			time.Sleep(100 * time.Millisecond) // it goes to wait
			target, err := corewalk.Attach(context.Background(), cmd.Process.Pid, corewalk.WithHold(), files())
			if err != nil {
				t.Skipf("attach: %v", err)
			}
			defer target.Close()
			own, system := "", 0
			for task, err := range target.Tasks(context.Background()) {
				switch {
				case err != nil:
					t.Error(err)
				case task.Kind != tasks.KindAsync:
				case task.System:
					system++
				default:
					for _, f := range task.Suspended {
						own += fmt.Sprintf("%s %s:%d ", f.Function, f.File, f.Line)
					}
				}
			}
			if want := "slow " + program + ":2 <anonymous> " + program + ":5 "; own != want || system == 0 {
				t.Errorf("%q, %d of the system, want %q", own, system, want)
			}
		})
	}
}

// waitsOf are the async functions of a program, in lines: the one that waits, those that await it, and which of the others they wait for.
func waitsOf(t *testing.T, target *corewalk.Target, program string) (out []string) {
	var all []*tasks.Task
	names := map[tasks.Key]string{}
	for task, err := range target.Tasks(context.Background()) {
		if err != nil {
			t.Error(err)
			continue
		}
		if task.Kind == tasks.KindAsync && len(task.Suspended) > 0 && task.Suspended[0].File == program {
			all = append(all, task)
			names[task.Key] = task.Suspended[len(task.Suspended)-1].Function
		}
	}
	for _, task := range all {
		var line []string
		for _, f := range task.Suspended {
			line = append(line, fmt.Sprintf("%s:%d", strings.TrimPrefix(f.Function, "#"), f.Line))
		}
		what := ""
		if w := task.Wait; w == nil {
			what = "nothing"
		} else if len(w.Holders) > 0 {
			var others []string
			for _, h := range w.Holders {
				others = append(others, names[h.Key])
			}
			slices.Sort(others)
			what = map[bool]string{true: "all", false: "any"}[w.All] + " of " + strings.Join(others, ", ")
		}
		out = append(out, strings.Join(line, " < ")+" waits for "+what)
	}
	return out
}
