package golang_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// planted says by which functions the goroutines of each deadlock of testdata/src/go-deadlock
// wait, each for the next; "" where there is none.
var planted = map[string]string{
	"mutexes": "main.transfer main.transfer", "deferred": "main.transferDeferred main.transferDeferred",
	"three": "main.transfer main.transfer main.transferDeferred", "five": "main.transfer main.transfer main.transfer main.transfer main.transfer",
	"five-channels": "main.relay main.relay main.relay main.relay main.relay", "globals": "main.lockNorth main.lockSouth",
	"itself": "main.(*account).sum", "readers": "main.(*cache).get main.(*cache).set",
	"helpers": "main.(*vault).open main.(*vault).open",
	"mixed":   "main.publish main.subscribe", "channels": "main.relay main.relay", "healthy": "",
}

// takenIn says in which functions the locks of some of these deadlocks were taken.
var takenIn = map[string]string{
	"mutexes": "main.transfer main.transfer", "deferred": "main.transferDeferred main.transferDeferred",
	"globals": "main.lockNorth main.lockSouth", "itself": "main.(*account).twice", "helpers": "main.moveAll main.moveAll",
}

// TestDeadlocks plants deadlocks beside goroutines that look like ones and are none.
func TestDeadlocks(t *testing.T) {
	fixture.Long(t)
	plantAll(t)
}

// TestDeadlocks386 is TestDeadlocks for i386, where locks are inlined in part.
func TestDeadlocks386(t *testing.T) {
	fixture.Long(t)
	t.Setenv("GOARCH", "386")
	plantAll(t)
}

// TestDeadlocksARM64 is TestDeadlocks for arm64.
func TestDeadlocksARM64(t *testing.T) {
	fixture.Long(t)
	forARM64(t)
	plantAll(t)
}

func plantAll(t *testing.T) {
	eachBuild(t, func(t *testing.T, release, ldflags string) {
		program := build(t, "go-deadlock", release, ldflags, "main.go")
		for name, want := range planted {
			if name == "helpers" && os.Getenv("GOARCH") == "386" {
				want = "" // arguments are on the stack: which lock a helper takes is not known
			}
			core, _ := kill(t, program, name)
			got, taken := deadlocks(t, core, program)
			if got != want {
				t.Errorf("%s: deadlocks %q, want %q", name, got, want)
			}
			if in, ok := takenIn[name]; ok && want != "" && taken != in {
				t.Errorf("%s: locks were taken in %q, want %q", name, taken, in)
			}
		}
	})
}

// deadlocks names the functions of the program that wait in each deadlock, and those in which what they wait for was taken.
func deadlocks(t *testing.T, core, program string) (deadlocks, taken string) {
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core, corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	all, err := facts.Waits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var found, places []string
	for _, d := range tasks.NewGraph(all).Deadlocks() {
		var functions []string
		for _, task := range d.Tasks {
			for _, h := range task.Wait.Holders {
				if h.AcquiredAt != nil {
					calls, _ := target.SymbolLookup().(unwind.CallLookup).LookupCalls(h.AcquiredAt.PC, nil)
					places = append(places, calls[len(calls)-1].Name)
				}
			}
			stack, _ := corewalk.WalkTask(ctx, facts.Walker(), task)
			for _, n := range names(target, stack) {
				if strings.HasPrefix(n, "main.") {
					functions = append(functions, strings.Fields(n)[0])
					break
				}
			}
		}
		slices.Sort(functions)
		s := strings.Join(functions, " ")
		if d.Certainty != tasks.Possible {
			s = fmt.Sprint(d.Certainty, " ", s)
		}
		found = append(found, s)
	}
	slices.Sort(places)
	return strings.Join(found, "; "), strings.Join(places, " ")
}

// build builds files of a program of testdata/src with a release of Go and flags for the linker.
func build(t *testing.T, source, release, ldflags string, files ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", append([]string{"build", "-o", program, "-ldflags", ldflags}, files...)...)
	cmd.Dir, _ = filepath.Abs("../../../testdata/src/" + source)
	cmd.Env = append(os.Environ(), "GOARCH="+cmp.Or(os.Getenv("GOARCH"), "amd64"), "GOTOOLCHAIN=go"+release, "CGO_ENABLED="+cmp.Or(os.Getenv("CGO_ENABLED"), "0"), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("Go %s cannot build: %v: %s", release, err, out)
	}
	return program
}
