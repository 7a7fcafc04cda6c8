package triage

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// TestJoinedApart: processes that were told to abort while their main threads wait for a thread's end are of one group only if these threads wait alike.
func TestJoinedApart(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "tasks/joined.c", "-g", "-O1", "-pthread")
	groups := map[string]string{}
	for i, how := range []string{"flush", "read", "flush"} {
		for full, d := range bothWays(t, exe, fixture.Crash(t, nil, exe, how)) {
			want := map[string]string{"flush": "wait_for_flush", "read": "read_reply"}[how]
			if !strings.HasPrefix(d.Where, want) || d.Reason != "sent by kill" {
				t.Errorf("%d: %q, where %q: want it in %s", i, d.Reason, d.Where, want)
			}
			if full == 1 && !strings.Contains(string(d.Report), want) {
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

// bothWays analyses a dump as one whose group has a report, and as one whose group has none: the signature is the same.
func bothWays(t *testing.T, exe, core string) (dumps [2]ledger.Dump) {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core, corewalk.WithExecutable(exe))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for full := range dumps {
		a := analysis{names: new(signature.Cache), likely: full == 1, full: func(*signature.Signature) bool { return full == 1 }}
		if _, err := a.analyze(t.Context(), target, &dumps[full]); err != nil {
			t.Fatal(err)
		}
	}
	return dumps
}
