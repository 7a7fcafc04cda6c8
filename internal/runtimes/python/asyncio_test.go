package python_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestAsyncio checks asyncio's tasks: what each awaits, through which coroutines.
func TestAsyncio(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		if !slices.ContainsFunc([]string{"3.11.", "3.12.", "3.13.", "3.14.", "3.15."}, func(v string) bool { return strings.HasPrefix(version, v) }) {
			continue // tasks are not read of others
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "asyncio_tasks.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			names := map[int]string{}
			for _, task := range r.Tasks {
				names[task.ID] = task.Name
			}
			got := map[string]string{}
			for _, task := range r.Tasks {
				if task.Kind != "async-task" {
					continue
				}
				var b strings.Builder
				b.WriteString(task.State)
				for _, f := range task.Frames {
					fmt.Fprintf(&b, " %s:%d", f.Function, f.Source.Line)
				}
				if w := task.Wait; w != nil {
					b.WriteString(" awaits " + w.Object.Type)
					for _, h := range w.Holders {
						b.WriteString(" " + names[h.ID])
					}
				}
				got[strings.TrimRight(task.Name, "-0123456789")] = b.String()
			}
			if c, ok := got["C"]; ok { // the line of sleep differs
				if !strings.HasPrefix(c, "waiting sleep:") || !strings.HasSuffix(c, " sleeps:18 awaits Future") {
					t.Errorf("C: %s", c)
				}
				got["C"] = ""
			}
			group := "Future" // from 3.14 on tasks know who waits for them
			if strings.HasPrefix(version, "3.14.") || strings.HasPrefix(version, "3.15.") {
				group += " H"
			}
			if g := got["G"]; !strings.HasPrefix(g, "waiting TaskGroup.") || !strings.HasSuffix(g, " grouped:35 awaits "+group) {
				t.Errorf("G: %s", g)
			}
			delete(got, "G")
			want := map[string]string{
				"A":    "waiting inner:6 waits_future:10 awaits Future",
				"B":    "waiting waits_task:14 awaits Task A",
				"C":    "",
				"D":    "running",
				"Task": "waiting main:58 awaits Task D",
				"E":    "waiting inner:6 numbers:22 iterates:26 awaits Future",
				"H":    "waiting inner:6 awaits Future",
				"F":    "waiting gathers:31 awaits _GatheringFuture A E",
			}
			if !maps.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestAsyncioLocks checks what tasks wait for in the rows of asyncio's objects, and who possibly has its locks: tasks in the body of
// an "async with", but neither those that wait to enter, nor those whose lock was given back.
func TestAsyncioLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		if !slices.ContainsFunc([]string{"3.11.", "3.12.", "3.13.", "3.14.", "3.15."}, func(v string) bool { return strings.HasPrefix(version, v) }) {
			continue // tasks are not read of others
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := analyze(t, dump(t, python, "asyncio_locks.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			names := map[int]string{}
			for _, task := range r.Tasks {
				names[task.ID] = task.Name
			}
			got := map[string]string{}
			for _, task := range r.Tasks {
				if task.Kind != "async-task" || task.Wait == nil {
					continue
				}
				s := task.Wait.Kind + " " + task.Wait.Object.Type
				for _, h := range task.Wait.Holders {
					s += " " + h.Certainty + " " + names[h.ID]
				}
				got[task.Name] = s
			}
			want := map[string]string{
				"A":            "lock asyncio.Lock possible B",
				"B":            "lock asyncio.Lock possible A",
				"behind":       "future Task certain A",
				"second":       "lock asyncio.Lock possible A", // not B and itself, which wait to enter
				"again":        "lock asyncio.Lock possible again",
				"manual":       "future Future",
				"unknown":      "lock asyncio.Lock", // acquired without "async with"
				"holds":        "future Future",
				"held":         "lock asyncio.Lock possible holds",
				"passes":       "future Future", // another method of the lock among its operands
				"gave":         "future Future",
				"woken":        "lock asyncio.Lock", // given back meanwhile
				"event":        "condition asyncio.Event",
				"semaphore":    "semaphore asyncio.Semaphore",
				"get":          "channel-receive asyncio.Queue",
				"put":          "channel-send asyncio.Queue",
				"condition":    "condition asyncio.Condition",
				"told":         "condition asyncio.Condition",
				"limited":      "lock asyncio.Lock possible to limited",
				"to limited":   "lock asyncio.Lock possible limited",
				"unlimited":    "lock asyncio.Lock possible to unlimited",
				"to unlimited": "lock asyncio.Lock possible unlimited",
				"inside":       "future Task certain child",
				"child":        "lock asyncio.Lock possible around",
				"around":       "lock asyncio.Lock possible inside", // not told, which gave it back
			}
			if !maps.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			var deadlocks []string
			for _, d := range r.Deadlocks {
				var in []string
				for _, id := range d.Tasks {
					in = append(in, names[id.ID])
				}
				slices.Sort(in)
				deadlocks = append(deadlocks, d.Certainty+" "+strings.Join(in, ", "))
			}
			slices.Sort(deadlocks)
			if want := []string{"possible A, B", "possible again", "possible around, child, inside", "possible to unlimited, unlimited"}; !slices.Equal(deadlocks, want) {
				t.Errorf("deadlocks %q, want %q", deadlocks, want)
			}
		})
	}
}

// TestAsyncioMany: all tasks are listed, however many wait for one lock.
func TestAsyncioMany(t *testing.T) {
	fixture.Long(t)
	const waiting = 19999
	for version, python := range sampled(t) {
		if !strings.HasPrefix(version, "3.11.") && !strings.HasPrefix(version, "3.13.") {
			continue
		}
		t.Run(version, func(t *testing.T) {
			r := analyze(t, dump(t, python, "asyncio_many.py", "said"), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
			got := map[string]int{}
			for _, task := range r.Tasks {
				if task.Kind == "async-task" && task.Wait != nil {
					got[task.Wait.Object.Type]++
					if task.Wait.Object.Type == "asyncio.Lock" && len(task.Wait.Holders) != 1 {
						t.Fatalf("%d tasks may have the lock", len(task.Wait.Holders))
					}
				}
			}
			if want := map[string]int{"asyncio.Lock": waiting, "Future": 1}; !maps.Equal(got, want) {
				t.Errorf("tasks wait for %v, want %v", got, want)
			}
			if len(r.Deadlocks) != 0 {
				t.Errorf("%d deadlocks", len(r.Deadlocks))
			}
		})
	}
}
