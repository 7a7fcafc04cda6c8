package systemtest

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// goNotes is what the runtime prints behind a panic: what became of it, and the signal that it was made of.
var goNotes = regexp.MustCompile(`( \[recovered[^]]*\]|\n\[signal .*)`)

// goPlace is the address of a value that the runtime does not print.
var goPlace = regexp.MustCompile(`0x[0-9a-f]+$`)

// The message of a program of Go is what its runtime prints: values of each kind, named types, errors, panics in panics, fatal errors.
func TestGoPanics(t *testing.T) {
	t.Parallel()
	ways := strings.Fields("string name int code uint8 wide int64 uintptr ratio float tiny infinite complex pair flag error wrapped pointer teller point nil " +
		"index slice convert divide nilmap nested deferred goroutine unlock asleep")
	for _, release := range goReleases(t) {
		for _, arch := range []string{"amd64", "386"} {
			for _, optimised := range []bool{false, true} {
				g := goBuild{release: release, arch: arch, optimised: optimised}
				t.Run(g.name(), func(t *testing.T) {
					t.Parallel()
					if !optimised && !fixture.IsLong(t) {
						t.Skip("the optimised program, whose panics are harder to find, is built in short runs")
					}
					if arch == "386" {
						fixture.Need386(t, "-m32")
					}
					program := goProgram(t, "go-panics", g)
					for _, way := range ways {
						out, _ := exec.Command(program, way).CombinedOutput()
						said, _, _ := strings.Cut(string(out), "\n\n")
						said = goNotes.ReplaceAllString(said, "")
						where := goPlace.FindString(said) // which may be another in each run
						r := goCrash(t, program, way)
						got := r.Crash.Message
						if where != "" {
							got = goPlace.ReplaceAllLiteralString(got, where)
						}
						if got != said {
							t.Errorf("%s: %q, the runtime says %q", way, got, said)
						}
						if p := r.Crash.Panic; way != "asleep" && (p == nil || p.Goroutine == 0) {
							t.Errorf("%s: of no goroutine: %v", way, p)
						}
					}
				})
			}
		}
	}
}
