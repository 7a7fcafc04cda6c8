package triage

import (
	"context"
	"fmt"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestDeadlockIsOneGroup: cores of one deadlock have one signature, whichever thread came first, whichever thread the
// signal was for, however long the program ran on, and however the program ended.
func TestDeadlockIsOneGroup(t *testing.T) {
	fixture.Long(t)
	exe := fixture.Compile(t, "gcc", "tasks/bank.c", "-g", "-O1", "-pthread")
	groups := map[string]int{}
	const runs = 24
	for i := range runs {
		// Which thread is first, which one gets the signal, which signal, after how long.
		core := fixture.Crash(t, nil, exe, fmt.Sprint(i%2), fmt.Sprint(i/2%3), fmt.Sprint(i/6%2), fmt.Sprint(20+7*i))
		target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe))
		if err != nil {
			t.Fatal(err)
		}
		r, err := ForSignature(context.Background(), target)
		if err != nil {
			t.Fatal(err)
		}
		s := signature.Of(r)
		groups[s.Hash+" "+s.String()]++
		target.Close()
	}
	if len(groups) != 1 {
		t.Errorf("%d groups of %d cores of one deadlock: %v", len(groups), runs, groups)
	}
	for g := range groups {
		if want := "deadlock in deposit and withdraw"; g[len(g)-len(want):] != want {
			t.Errorf("%q, want %q", g, want)
		}
	}
}
