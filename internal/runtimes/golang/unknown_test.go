package golang_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
)

// processOf hands the process of a core to do.
func processOf(t *testing.T, core, program string, do func(p *tasks.Process)) {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { do(p); return nil, nil }) {
		break
	}
}

// described writes what is read of each goroutine, and what else is said.
func described(r tasks.Runtime) (lines []string, said string) {
	for g, err := range r.Tasks(context.Background()) {
		if err != nil {
			said += err.Error()
			continue
		}
		var object tasks.Object
		var kind tasks.WaitKind
		if w := r.(tasks.Waiter).Wait(context.Background(), g, nil); w != nil {
			object, kind = w.Object, w.Kind
		}
		lines = append(lines, fmt.Sprint(g.Key, g.Name, g.State, g.Status, g.System, g.Locked, g.Thread, g.LockedTo, g.Labels, g.Created, g.Stack, kind)+fmt.Sprint(" object ", uint64(object.Address)))
	}
	return lines, said
}

// unknown takes away the table's entry for a release. With debug information its layout is the table's; without, that of a near version
// either reads each goroutine as well, and says what it is, or is refused.
func unknown(t *testing.T, core, program, release, ldflags string) {
	t.Helper()
	version := release[:strings.LastIndexByte(release, '.')]
	processOf(t, core, program, func(p *tasks.Process) {
		known, err := golang.Find(p)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := described(known)
		if ldflags == "" {
			r, err := golang.FindWithout(p, version)
			if err != nil {
				t.Fatalf("with debug information: %v", err)
			}
			equal, differ := golang.Differences(r)
			if golang.Source(r) != "DWARF" || len(differ) > 0 || equal < 80 {
				t.Errorf("layout from %s: %d offsets, others: %v", golang.Source(r), equal, differ)
			}
			if got, said := described(r); !slices.Equal(got, want) || said != "" {
				t.Errorf("by the layout in the debug information %d goroutines, not %d, %q", len(got), len(want), said)
			}
			return
		}
		r, err := golang.FindWithout(p, version)
		if err != nil {
			if errors.Is(err, golang.ErrNoRoots) || strings.Contains(err.Error(), "memory does not agree") {
				t.Logf("without go%s: %v", version, err)
				return
			}
			t.Fatal(err)
		}
		got, said := described(r)
		if !strings.Contains(golang.Source(r), "derived") || !strings.Contains(said, "may be wrong") {
			t.Errorf("a layout from %s is not marked: %q", golang.Source(r), said)
		}
		differ := 0
		for i := range want {
			wait, _, _ := strings.Cut(want[i], " object ")
			if i >= len(got) || got[i] != want[i] && got[i] != wait+" object 0" { // what it waits for may remain unknown
				if differ++; differ < 3 {
					t.Errorf("%s: by a near version %s", want[i], append(got, make([]string, len(want))...)[i])
				}
			}
		}
		t.Logf("without go%s: %s: %d of %d goroutines differ", version, golang.Source(r), differ, len(want))
	})
}

// TestUnknownVersions is for this machine's release; TestAgainstGo has all.
func TestUnknownVersions(t *testing.T) {
	release := releases(t)[0]
	for _, ldflags := range []string{"", "-s -w"} {
		core, program, _ := crash(t, release, ldflags, "20")
		unknown(t, core, program, release, ldflags)
	}
}
