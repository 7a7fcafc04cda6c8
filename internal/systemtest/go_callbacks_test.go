package systemtest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Stacks go through C that Go called, and Go that C called; past C to Go where a panic has left what C is known by.
func TestGoCallbacks(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"c": "inC runtime.asmcgocall runtime.cgocall main._Cfunc_inC main.main runtime.main runtime.goexit",
		"b": "inC runtime.asmcgocall runtime.cgocall main._Cfunc_inC main.goBack runtime.cgocallback crosscall2 goBack inC runtime.asmcgocall runtime.cgocall main._Cfunc_inC main.main runtime.main runtime.goexit",
		"g": "runtime.gopanic main.goBack runtime.cgocallback runtime.systemstack_switch runtime.cgocall main._Cfunc_inC main.main runtime.main runtime.goexit",
	}
	for _, g := range []goBuild{{release: "local", arch: "amd64", cc: "gcc"}, {release: "local", arch: "386", cc: "gcc -m32"}} {
		t.Run(g.arch, func(t *testing.T) {
			t.Parallel()
			fixture.Tools(t)
			if _, err := exec.LookPath("gcc"); err != nil {
				t.Skip("gcc is not installed: Debian's gcc")
			}
			fixture.Need386(t, strings.Fields(g.cc)...)
			program := goProgram(t, "go-callbacks", g)
			if got := goCrash(t, program, "a").Crash.Reason; got != "abort called by the program itself" {
				t.Errorf("C that aborts: %q", got)
			}
			for way, names := range want {
				var got []string
				for _, f := range goCrash(t, program, way).Threads[0].Frames {
					if slices.Contains(strings.Fields(names), f.Function) || f.Function == "runtime.mstart" {
						got = append(got, f.Function)
					}
				}
				if text := strings.Join(got, " "); text != names {
					t.Errorf("%s: %s, want %s", way, text, names)
				}
			}
		})
	}
}
