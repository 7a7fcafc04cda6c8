package systemtest

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// goNotes is what the runtime prints behind a panic: what became of it, and the signal that it was made of.
var goNotes = regexp.MustCompile(`( \[recovered[^]]*\]|\n\[signal .*)`)

// goPlace is the address of a value that the runtime does not print.
var goPlace = regexp.MustCompile(`0x[0-9a-f]+$`)

// goEmulators run programs of Go for other architectures. On these no register is known to have the goroutine, and what is on a thread's own
// stack does not lead to it.
var goEmulators = map[string]string{"arm": "qemu-arm-static", "s390x": "qemu-s390x-static", "mips64le": "qemu-mips64el-static", "mipsle": "qemu-mipsel-static", "loong64": "qemu-loongarch64-static",
	"ppc64le": "qemu-ppc64le-static", "ppc64": "qemu-ppc64-static"}

// The message of a program of Go is what its runtime prints: values of each kind, named types, errors, panics in panics, fatal errors.
func TestGoPanics(t *testing.T) {
	t.Parallel()
	ways := strings.Fields("string name int code uint8 wide int64 uintptr ratio float tiny infinite complex pair flag error wrapped pointer teller point nil " +
		"index slice convert divide nilmap nested deferred goexit goroutine")
	onThreadStack := []string{"unlock", "asleep"}
	builds := []goBuild{{release: "local", arch: "amd64", optimised: true}, {release: "local", arch: "386", optimised: true}}
	if fixture.IsLong(t) {
		builds = nil
		for _, release := range goReleases(t) {
			for _, arch := range []string{"amd64", "386"} {
				builds = append(builds, goBuild{release: release, arch: arch}, goBuild{release: release, arch: arch, optimised: true})
			}
		}
		for arch := range goEmulators {
			builds = append(builds, goBuild{release: "local", arch: arch, optimised: true})
		}
	}
	for _, g := range builds {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			if g.arch != "amd64" {
				fixture.Tools(t) // all of Go's library is compiled once more
			}
			run, ways := []string{goProgram(t, "go-panics", g)}, append(slices.Clone(ways), onThreadStack...)
			if g.arch == "386" {
				fixture.Need386(t, "-m32")
			} else if emulator := goEmulators[g.arch]; emulator != "" {
				if _, err := exec.LookPath(emulator); err != nil {
					t.Skip(emulator + " is not installed: Debian's qemu-user-static")
				}
				run, ways = append([]string{emulator}, run...), ways[:len(ways)-len(onThreadStack)]
			}
			for i, way := range ways {
				if g.arch == "386" && i%3 != 0 && !fixture.IsLongRun() {
					continue
				}
				args := append(slices.Clone(run[1:]), way)
				out, _ := exec.Command(run[0], args...).CombinedOutput()
				said, _, _ := strings.Cut(string(out), "\n\n")
				said = goNotes.ReplaceAllString(said, "")
				where := goPlace.FindString(said) // which may be another in each run
				r := analyzeCore(t, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, run[0], args...), run[len(run)-1])
				got := r.Crash.Message
				if where != "" {
					got = goPlace.ReplaceAllLiteralString(got, where)
				}
				if got != said || said == "" {
					t.Errorf("%s: %q, the runtime says %q", way, got, said)
				}
				if p := r.Crash.Panic; way != "asleep" && (p == nil || p.Goroutine == 0) {
					t.Errorf("%s: of no goroutine: %v", way, p)
				}
			}
		})
	}
}
