package triage

import (
	"context"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestJoinedApart: processes that were told to abort while their main threads wait for a thread's end are of one group only if these threads wait alike.
func TestJoinedApart(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "tasks/joined.c", "-g", "-O1", "-pthread")
	groups := map[string]string{}
	for i, how := range []string{"flush", "read", "flush"} {
		core := fixture.Crash(t, nil, exe, how)
		target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		for _, likely := range []bool{false, true} {
			var d ledger.Dump
			a := analysis{names: new(signature.Cache), likely: likely, full: func(*signature.Signature) bool { return likely }}
			if _, err := a.analyze(context.Background(), target, &d); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"flush": "wait_for_flush", "read": "read_reply"}[how]
			if !strings.HasPrefix(d.Where, want) || d.Reason != "sent by kill" {
				t.Errorf("%d: %q, where %q: want it in %s", i, d.Reason, d.Where, want)
			}
			if likely && !strings.Contains(string(d.Report), want) {
				t.Errorf("%d: the group's report has no %s", i, want)
			}
			if old := groups[how]; old != "" && old != d.Group {
				t.Errorf("%d: two groups of one bug", i)
			}
			groups[how] = d.Group
		}
	}
	if groups["flush"] == groups["read"] {
		t.Error("two bugs in one group")
	}
}
