package systemtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The command line of a process that has written a title over its arguments is that title, and no argument is cut out of it.
func TestTitle(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "title.c", "-g", "-O1")
	for kind, want := range map[string]string{"short": "short: idle", "long": "long: the title of a process that needs more room than its arguments had"} {
		r := analyzeCore(t, fixture.Crash(t, nil, exe, kind, "--config", "/etc/title.conf"), exe)
		if r.Process == nil || !slices.Equal(r.Process.Arguments, strings.Fields(want)) || !r.Process.ArgumentsJoined {
			t.Errorf("%s: %+v", kind, r.Process)
		}
	}
	r := analyzeCore(t, fixture.Crash(t, nil, exe, "hide", "--key=s", "f"), exe)
	if p := r.Process; p == nil || !p.ArgumentsCut && (len(p.Arguments) != 3 || p.Arguments[1] != "hide" || p.Arguments[2] != "f") {
		t.Errorf("an argument is hidden: %+v", p)
	}
}
