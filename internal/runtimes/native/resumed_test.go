package native_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
)

// TestResumed: a thread for which a handler has returned goes on waiting, whether the call in which it slept is made again or has failed, and wherever the
// next signal finds it.
func TestResumed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the programs are of x86-64")
	}
	platforms := []platform{{name: "amd64", cc: "gcc"}}
	for _, e := range elsewhere() {
		_, libraries := os.Stat(arm64)
		if fixture.IsLong(t) && (e.run == nil || libraries == nil) && (e.name != "musl static" && e.name != "i686 static") {
			platforms = append(platforms, e)
		}
	}
	for _, e := range platforms {
		t.Run(e.name, func(t *testing.T) {
			exe := compile(t, e.cc, "resumed.c", append([]string{"-g", "-O1", "-pthread"}, e.flags...)...)
			for _, ended := range []string{"abort", "lock", "poll", "sleep"} {
				for _, restart := range [][]string{nil, {"restart"}} {
					all := e.read(t, exe, append([]string{ended}, restart...)...)
					var said []string
					locks := 0
					for _, task := range all {
						switch w := task.Wait; {
						case w == nil:
						case w.Kind == tasks.WaitIO || w.Kind == tasks.WaitTimer:
							text := string(w.Kind)
							if w.Note != "" {
								text += " (" + w.Note + ")"
							}
							if w.Proved == (w.Note != "") {
								text += " proved: " + w.Object.Type
							}
							said = append(said, text)
						case w.Kind == tasks.WaitLock && w.Proved:
							locks++
						}
					}
					slices.Sort(said)
					want := map[string]string{"poll": "io (a signal interrupted it)\ntimer", "sleep": "io\ntimer (a signal interrupted it)"}[ended]
					if want == "" {
						want = "io\ntimer"
					}
					got := strings.Join(said, "\n")
					if e.run != nil && ended != "sleep" { // what an emulator leaves of a sleep is not told from its result
						want = strings.TrimSuffix(want, "\ntimer")
					}
					found := deadlocks(all)
					ring := locks == 2 && len(found) == 1 && len(found[0].Tasks) == 2 && found[0].Certainty == tasks.Certain
					if e.cc == "musl-gcc" { // its mutexes have no owners
						ring = len(found) == 1 && found[0].Certainty == tasks.Possible
					}
					if got != want || !ring {
						t.Errorf("%s %v: %s\nwant %s and a deadlock:\n%s", ended, restart, got, want, show(all))
					}
				}
			}
		})
	}
}
