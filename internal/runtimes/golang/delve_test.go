package golang_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

var (
	delveGoroutine = regexp.MustCompile(`^[* ] Goroutine (\d+) - User: .*?(?: \[(.*)\])?$`)
	delveFrame     = regexp.MustCompile(`^\t\d+  0x[0-9a-f]+ in (.*)$`)
	delvePlace     = regexp.MustCompile(`^\t +at (.*)$`)
	typeArguments  = regexp.MustCompile(`\[go\.shape\.[^]]*\]`)
	colours        = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// delve lists the goroutines of a core with their stacks as Delve prints them.
func delve(t *testing.T, core, program string) map[uint64]*printed {
	t.Helper()
	fixture.Tools(t)
	if _, err := exec.LookPath("dlv"); err != nil {
		t.Skip("dlv is not installed: Debian's delve")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("goroutines -t 100\nexit\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dlv", "core", program, core, "--init", script, "--allow-non-terminal-interactive=true")
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("dlv: %v", err)
	}
	all := map[uint64]*printed{}
	var g *printed
	function := ""
	for line := range strings.Lines(colours.ReplaceAllString(string(out), "")) {
		line = strings.TrimRight(line, "\n")
		if m := delveGoroutine.FindStringSubmatch(line); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			g = &printed{state: m[2]}
			all[id] = g
		} else if m := delveFrame.FindStringSubmatch(line); m != nil {
			function = m[1]
		} else if m := delvePlace.FindStringSubmatch(line); m != nil && g != nil {
			g.frames = append(g.frames, typeArguments.ReplaceAllString(function, "[...]")+" "+filepath.Base(m[1]))
		}
	}
	return all
}

// TestAgainstDelve compares goroutine for goroutine with Delve: number, reason of the wait, and function and line of
// each frame. Delve takes the line of the first frame from the instruction at which the goroutine goes on, Go and
// corewalk from the call before it.
func TestAgainstDelve(t *testing.T) {
	fixture.Long(t)
	release := releases(t)[0]
	core, program, _ := crash(t, release, "", "200")
	want := delve(t, core, program)
	if len(want) < 200 {
		t.Skipf("dlv lists %d goroutines: it may be too old for Go %s", len(want), release)
	}
	ctx := context.Background()
	target, w := walkable(t, core, program)
	frames, goroutines, endless := 0, 0, 0
	for task, err := range target.Tasks(ctx) {
		if err != nil || task.Kind != tasks.KindGoroutine {
			continue
		}
		d := want[task.ID]
		if d == nil {
			t.Errorf("%s [%s] is not listed by dlv", task.Key, task.Status)
			continue
		}
		goroutines++
		if task.Start == nil || task.State != tasks.StateWaiting {
			continue
		}
		if strings.TrimSuffix(task.Status, " (durable)") != strings.TrimSuffix(d.state, " (durable)") { // some releases of Delve know no bubbles
			t.Errorf("%s: %q, dlv says %q", task.Key, task.Status, d.state)
		}
		stack, err := corewalk.WalkTask(ctx, w, task)
		if err != nil {
			t.Errorf("%s: %v", task.Key, err)
			continue
		}
		if len(d.frames) > 0 && strings.HasPrefix(d.frames[0], "runtime.goexit ") {
			endless++ // what Go itself prints of these, TestAgainstGo compares
			continue
		}
		got := names(target, stack)
		for i := range max(len(got), len(d.frames)) {
			a, b := "nothing", "nothing"
			if i < len(got) {
				f, place, _ := strings.Cut(got[i], " ")
				a = f + " " + filepath.Base(place)
			}
			if i < len(d.frames) {
				b = d.frames[i]
			}
			if i == 0 {
				a, _, _ = strings.Cut(a, " ")
				b, _, _ = strings.Cut(b, " ")
			}
			if frames++; a != b {
				t.Errorf("%s: frame %d is %s, dlv says %s", task.Key, i, a, b)
				break
			}
		}
	}
	t.Logf("%d goroutines, %d frames; dlv has no stack of %d", goroutines, frames, endless)
	if frames < 1000 || endless > 8 {
		t.Errorf("only %d frames of %d goroutines", frames, goroutines)
	}
}
