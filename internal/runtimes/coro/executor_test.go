package coro_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// told runs a program until it dies, and returns its core and the lines that it wrote, in order.
func told(t *testing.T, exe string, args ...string) (core string, lines []string) {
	t.Helper()
	dir := t.TempDir()
	out, _ := fixture.Dies(dir, exe, args...).Output() // fails: the program dies
	lines = strings.Fields(string(out))
	slices.Sort(lines)
	return fixture.CoreIn(t, dir), lines
}

// asyncTasks lists the async tasks of a core that executors have, and where each is suspended in a function of the program.
func asyncTasks(t *testing.T, core, exe string) (all []*tasks.Task, places []string) {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for task, err := range target.Tasks(context.Background()) {
		switch {
		case err != nil:
			t.Error(err)
		case task.Kind == tasks.KindAsync && task.Runtime != "rust":
			all = append(all, task)
			places = append(places, place(task))
		}
	}
	slices.Sort(places)
	return all, places
}

// place is the outermost function of the program that a task is in, and the line.
func place(t *tasks.Task) string {
	for i := len(t.Suspended) - 1; i >= 0; i-- {
		if f := &t.Suspended[i]; strings.HasPrefix(f.Function, "program::") {
			return strings.TrimPrefix(f.Function, "program::") + ":" + strconv.Itoa(f.Line)
		}
	}
	return "nowhere"
}

// TestTokio: all tasks of tokio are found where no variable leads to them, at the places that they say themselves.
func TestTokio(t *testing.T) {
	fixture.Long(t)
	for _, release := range []bool{false, true} {
		exe := fixture.Cargo(t, "tasks/executor_tokio.rs", "tokio", `{ version = "1", features = ["rt-multi-thread", "time", "sync", "macros", "net"] }`, release)
		for _, kind := range []string{"current_thread", "multi_thread"} {
			core, want := told(t, exe, kind)
			all, places := asyncTasks(t, core, exe)
			if len(want) != 18 || !slices.Equal(places, want) {
				t.Errorf("%s, release %v: got %q\nwant %q", kind, release, places, want)
			}
			checkTokio(t, all)
			damaged(t, core, exe, 100*len(all))
		}
	}
}

// checkTokio checks what the program's tasks wait for.
func checkTokio(t *testing.T, all []*tasks.Task) {
	t.Helper()
	names := map[tasks.Key]string{}
	for _, task := range all {
		name, _, _ := strings.Cut(place(task), ":")
		names[task.Key] = name
	}
	ids := map[string]bool{}
	for _, task := range all {
		name := names[task.Key]
		if task.Runtime != "tokio" || task.Certainty != tasks.Certain || task.State != tasks.StateWaiting || len(task.Labels) != 1 || ids[task.Labels[0].Value] {
			t.Errorf("%s: %+v", name, task)
			continue
		}
		ids[task.Labels[0].Value] = true
		got := "nothing"
		if w := task.Wait; w != nil {
			got = string(w.Kind) + " " + w.Object.Type
			if w.Timed {
				got += " timed"
			}
			if w.Open {
				got += " open"
			}
			for _, h := range w.Holders {
				got += " " + names[h.Key] + " " + string(h.Certainty)
			}
			if strings.HasSuffix(string(w.Kind), "lock") && (w.Object.Address == 0 || !w.Proved) {
				t.Errorf("%s: %+v", name, w)
			}
		}
		want := map[string]string{
			"sleeper": "timer tokio::time::Sleep timed", "keeper": "forever ", "locker": "lock tokio::sync::Mutex keeper possible",
			"receiver": "channel-receive tokio::sync::mpsc", "sender": "channel-send tokio::sync::mpsc", "answered": "channel-receive tokio::sync::oneshot",
			"notified": "condition tokio::sync::Notify", "limited": "condition tokio::sync::Notify open", "permitted": "semaphore tokio::sync::Semaphore",
			"reader": "read-lock tokio::sync::RwLock", "writer": "lock tokio::sync::RwLock", "accept": "io ", "joiner": "join  sleeper certain",
			"transfer": "lock tokio::sync::Mutex transfer possible",
		}[name]
		if got != want {
			t.Errorf("%s waits for %q, want %q", name, got, want)
		}
	}
	found := tasks.NewGraph(all).Deadlocks()
	if len(found) != 1 || found[0].Certainty != tasks.Possible || len(found[0].Tasks) != 2 {
		t.Errorf("deadlocks: %+v", found)
	}
}

// TestAsyncStd: the tasks of async-std's executor, which are in a static variable's memory.
func TestAsyncStd(t *testing.T) {
	fixture.Long(t)
	for _, release := range []bool{false, true} {
		exe := fixture.Cargo(t, "tasks/executor_async_std.rs", "async-std", `"1"`, release)
		core, want := told(t, exe)
		all, places := asyncTasks(t, core, exe)
		if len(want) != 8 || !slices.Equal(places, want) {
			t.Errorf("release %v: got %q\nwant %q", release, places, want)
		}
		for _, task := range all {
			name, _, _ := strings.Cut(place(task), ":")
			kind := tasks.WaitKind("")
			if task.Wait != nil {
				kind = task.Wait.Kind
			}
			want := map[string]tasks.WaitKind{"sleeper": tasks.WaitTimer, "keeper": tasks.WaitForever, "locker": tasks.WaitLock, "receiver": tasks.WaitReceive, "joiner": tasks.WaitJoin}[name]
			if kind != want || task.Runtime != "async-task" || task.Name != "program::"+name {
				t.Errorf("%s (%s, %s) waits for %s, want %s", name, task.Name, task.Runtime, kind, want)
			}
			if name == "joiner" && (task.Wait == nil || len(task.Wait.Holders) != 1) {
				t.Errorf("who ends is joined: %+v", task.Wait)
			}
		}
		// What lies three words before a header looks like a header of another layout.
		for _, task := range all {
			if _, got := asyncTasks(t, leadTo(t, core, task.ID-3*8), exe); !slices.Equal(got, want) {
				t.Errorf("release %v, with a pointer to before %s: got %q\nwant %q", release, place(task), got, want)
			}
		}
	}
}

// leadTo returns a copy of a core in which the program's variable for that has an address.
func leadTo(t *testing.T, path string, to uint64) string {
	t.Helper()
	core, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mark := binary.LittleEndian.AppendUint64(nil, 0x5eadbeefc0decafe)
	if !bytes.Contains(core, mark) {
		t.Fatal("the variable is not in the core")
	}
	copied := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(copied, bytes.ReplaceAll(core, mark, binary.LittleEndian.AppendUint64(nil, to)), 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

// damaged: lists of tasks that lead in circles or elsewhere end.
func damaged(t *testing.T, path, exe string, most int) {
	t.Helper()
	core, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range 10 {
		path := filepath.Join(t.TempDir(), "core")
		if err := os.WriteFile(path, damage(core, uint64(seed), 3000), 0o600); err != nil {
			t.Fatal(err)
		}
		target, err := corewalk.Open(context.Background(), path, corewalk.WithExecutable(exe))
		if err != nil {
			continue
		}
		n := 0
		for task := range target.Tasks(context.Background()) {
			if task != nil && task.Kind == tasks.KindAsync {
				n += max(1, len(task.Suspended))
			}
		}
		target.Close()
		if n > most {
			t.Errorf("%d frames", n)
		}
	}
}
