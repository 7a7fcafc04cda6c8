package v8_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	v8 "github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/tasks"
)

// TestAsync: the async functions that wait are those that the program says, each awaited by the next, at its lines.
func TestAsync(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/async.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes(t) {
		for _, option := range []string{"--no-opt", "--always-sparkplug"} {
			t.Run(version(t, node)+option, func(t *testing.T) {
				dir := t.TempDir()
				program := filepath.Join(dir, "async.js")
				if err := os.WriteFile(program, source, 0o644); err != nil {
					t.Fatal(err)
				}
				printed, _ := fixture.Dies(dir, node, option, program).Output()
				var want []string
				for s := bufio.NewScanner(bytes.NewReader(printed)); s.Scan(); {
					var chain [][2]any
					if err := json.Unmarshal(s.Bytes(), &chain); err != nil {
						t.Fatalf("%q: %v", s.Text(), err)
					}
					var line []string
					for _, c := range chain {
						line = append(line, fmt.Sprintf("%v:%v", c[0], c[1]))
					}
					want = append(want, strings.Join(line, " < "))
				}
				target, err := corewalk.Open(context.Background(), fixture.CoreIn(t, dir), files())
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				var got []string
				for task, err := range target.Tasks(context.Background()) {
					if err != nil {
						t.Error(err)
						continue
					}
					if task.Kind != tasks.KindAsync || task.Runtime != "V8" {
						continue
					}
					var line []string
					ours := false
					for _, f := range task.Suspended {
						ours = ours || f.File == program
						line = append(line, fmt.Sprintf("%s:%d", f.Function, f.Line))
					}
					if !ours {
						t.Logf("Node's own: %q", line)
						continue
					}
					if task.State != tasks.StateWaiting || task.Wait == nil || task.Wait.Object.Address == 0 {
						t.Errorf("%q is %s, waits for %+v", line, task.State, task.Wait)
					}
					got = append(got, strings.Join(line, " < "))
				}
				slices.Sort(got)
				slices.Sort(want)
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				recordTasks(t, target)
			})
		}
	}
}

// recordTasks records the async functions, with -record.
func recordTasks(t *testing.T, target *corewalk.Target) {
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { v8.RecordTasks(t, p); return nil, nil }) {
		break
	}
}
