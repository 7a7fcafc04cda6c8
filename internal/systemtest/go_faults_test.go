package systemtest

import (
	"cmp"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// goSignal is the runtime's own line about a fault.
var goSignal = regexp.MustCompile(`\[signal (SIG[A-Z]+): .* code=(0x[0-9a-f]+) addr=(0x[0-9a-f]+) pc=(0x[0-9a-f]+)\]`)

// A panic of Go, or a fatal error, that stands for a fault has the fault's address, instruction and cause: those that the runtime prints
// itself. One that stands for none has none, also if there was a fault before.
func TestGoFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		way, kind, cause, optimised string // cause of the optimised program, if another
		noFault                     bool
	}{
		{way: "field", kind: report.CrashNullRead, cause: "o.In.City where o.In = 0x0, read by main.field"},
		{way: "slicelen", kind: report.CrashNullRead, cause: "o.In.List where o.In = 0x0, read by main.slicelen"},
		{way: "far", kind: report.CrashNullRead, cause: "o.Last where o = 0x0, argument of main.far"},
		{way: "write", cause: "o.In.pad[2] where o.In = 0x0, read by main.write"},
		{way: "index", kind: report.CrashNullRead, cause: "o.In = 0x0, read by main.index"},
		{way: "call", kind: report.CrashNullRead, optimised: "f = 0x0, argument of main.call"},
		{way: "wild", kind: report.CrashWildRead, cause: "*p where p = 0x123456789000, argument of main.wild"},
		{way: "noncanon", noFault: true},
		{way: "wildcall"},
		{way: "global", kind: report.CrashNullRead, cause: "main.global.Name where main.global = 0x0, global, read by main.fromGlobal"},
		{way: "mapped"},
		{way: "readonly", kind: report.CrashWriteReadOnly},
		{way: "nilmap", noFault: true},
		{way: "deferred", noFault: true},
		{way: "div", noFault: true},
	}
	for _, release := range goReleases(t) {
		for _, optimised := range []bool{false, true} {
			g := goBuild{release: release, optimised: optimised}
			t.Run(g.name(), func(t *testing.T) {
				t.Parallel()
				program := goProgram(t, "go-faults", g)
				for _, c := range tests {
					r := goCrash(t, program, c.way)
					said, _ := exec.Command(program, c.way).CombinedOutput()
					line := goSignal.FindStringSubmatch(string(said))
					got := r.Crash
					switch {
					case c.noFault && got.Address != nil:
						t.Errorf("%s: address %v, of a panic without", c.way, *got.Address)
						continue
					case c.noFault:
						continue
					case line == nil || got.Address == nil:
						t.Errorf("%s: address %v, the runtime says %q", c.way, got.Address, line)
						continue
					}
					addr, _ := strconv.ParseUint(line[3], 0, 64)
					if pc, _ := strconv.ParseUint(line[4], 0, 64); c.way != "wildcall" && (got.Instruction == nil || uint64(got.Instruction.Address) != pc) {
						t.Errorf("%s: instruction %v, the runtime says %#x", c.way, got.Instruction, pc)
					}
					if uint64(*got.Address) != addr && c.way != "mapped" { // each run maps the file elsewhere
						t.Errorf("%s: address %v, the runtime says %#x", c.way, *got.Address, addr)
					}
					if c.kind != "" && got.Kind != c.kind {
						t.Errorf("%s: kind %s, want %s", c.way, got.Kind, c.kind)
					}
					want := c.cause
					if optimised {
						want = cmp.Or(c.optimised, want)
					}
					if want != "" && (len(got.Causes) == 0 || !regexp.MustCompile("^"+regexp.QuoteMeta(want)).MatchString(got.Causes[0].Text)) {
						t.Errorf("%s: causes %v, want %s", c.way, got.Causes, want)
					}
				}
			})
		}
	}
}

// What a program of Go divided by has a name: the compiler compares it with zero before the division, so there is no fault.
func TestGoDivisor(t *testing.T) {
	t.Parallel()
	var builds []goBuild
	for _, release := range goReleases(t) {
		builds = append(builds, goBuild{release: release}, goBuild{release: release, optimised: true})
	}
	builds = append(builds, goBuild{release: "local", arch: "arm64", optimised: true})
	for _, g := range builds {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			if g.arch != "" {
				fixture.Tools(t) // all of Go's library is compiled once more
			}
			program := goProgram(t, "go-faults", g)
			run := []string{program}
			if g.arch != "" {
				if _, err := exec.LookPath("qemu-aarch64-static"); err != nil {
					t.Skip("qemu-aarch64-static is not installed: Debian's qemu-user-static")
				}
				run = []string{"qemu-aarch64-static", program}
			}
			for way, want := range map[string]string{
				"div":    `main\.zero = 0, global, read by main\.main`,
				"mean":   `s\.count = 0, read by main\.\(\*sums\)\.mean`,
				"share":  `b = 0, argument of main\.share`,
				"each":   `list\.len = 0, argument of main\.each`,
				"either": `b = 0, argument of main\.either`,
			} {
				args := append(slices.Clone(run[1:]), way)
				r := analyzeCore(t, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, run[0], args...), program)
				c := r.Crash
				if len(c.Causes) != 1 || !regexp.MustCompile("^"+want).MatchString(c.Causes[0].Text) || c.Address != nil || c.Message != "panic: runtime error: integer divide by zero" {
					t.Errorf("%s: %q, address %v, causes %v, want %s", way, c.Message, c.Address, c.Causes, want)
				}
			}
			r := analyzeCore(t, fixture.Crash(t, []string{"GOTRACEBACK=crash"}, run[0], append(slices.Clone(run[1:]), "another")...), program)
			if len(r.Crash.Causes) > 0 || r.Crash.Panic == nil || r.Crash.Panic.Value != "another" {
				t.Errorf("another panic: %v, causes %v", r.Crash.Panic, r.Crash.Causes)
			}
		})
	}
}

// What a program of Go read a nil from has a name, where registers are all that the code has of it: elements of maps, methods, functions and
// members, behind a jump table and a prologue that begins again.
func TestGoUses(t *testing.T) {
	t.Parallel()
	for _, release := range goReleases(t) {
		for _, optimised := range []bool{false, true} {
			g := goBuild{release: release, optimised: optimised}
			t.Run(g.name(), func(t *testing.T) {
				t.Parallel()
				program := goProgram(t, "go-faults", g)
				for how, want := range []string{
					`len\(s\.ByName\[name\]\.City\)|s\.ByName\[name\]\.City where s\.ByName\[name\] = 0x0, read by`,
					`s\.ByID\[(42|\.\.\.)\]\.City where s\.ByID\[(42|\.\.\.)\] = 0x0, read by`,
					`s\.ByName\["none"\]\.City where s\.ByName\["none"\] = 0x0, read by`,
					`s\.Counts = nil in main\.\(\*store\)\.use`,
					`s\.Shape = 0x0, read by`,
					`s\.Done = 0x0, read by`,
					`s\.Last\[2\]\.City where s\.Last\[2\] = 0x0, read by`,
					`(\*s\.pick\(|[^\[]*returned by main\.\(\*store\)\.pick)`, // no element of the map that it takes
					"", // what assigned is a function of reflect, whose variables are not the program's
					`s\.ByName\[\.\.\.\]\.City where s\.ByName\[\.\.\.\] = 0x0, read by`,
					`s\.ByName\[(p\.second|\.\.\.)\]\.City where s\.ByName\[(p\.second|\.\.\.)\] = 0x0, read by`,
				} {
					r := goCrash(t, program, "use", strconv.Itoa(how))
					if want == "" {
						if len(r.Crash.Causes) > 0 {
							t.Errorf("use %d: causes %v", how, r.Crash.Causes)
						}
						continue
					}
					if got := r.Crash.Causes; len(got) == 0 || !regexp.MustCompile("^"+want).MatchString(got[0].Text) || got[0].Confidence == report.Certain && how == 3 {
						t.Errorf("use %d: causes %v, want %s", how, got, want)
					}
				}
			})
		}
	}
}

// The signal that ended a program of Go is the one that it received: until Go 1.20, the runtime sends SIGQUIT to its other threads, and the
// last of them ends the program.
func TestGoSignals(t *testing.T) {
	t.Parallel()
	for _, release := range goReleases(t) {
		g := goBuild{release: release}
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			program := goProgram(t, "go-faults", g)
			for way, want := range map[string]string{"abrt": "^SIGABRT received", "trap": "^SIGTRAP", "quit": "^SIGQUIT received"} {
				if got := goCrash(t, program, way).Crash.Reason; !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("%s: %q, want %s", way, got, want)
				}
			}
		})
	}
}

// exceeded is the runtime's own line about a stack that is too large.
var exceeded = regexp.MustCompile(`runtime: sp=(0x[0-9a-f]+) stack=\[0x[0-9a-f]+, (0x[0-9a-f]+)\]`)

// A stack overflow of Go is of the goroutine, whose stack the report measures also where the walk ends before it.
func TestGoOverflow(t *testing.T) {
	t.Parallel()
	for _, release := range goReleases(t) {
		g := goBuild{release: release}
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			program := goProgram(t, "go-faults", g)
			said, _ := exec.Command(program, "deep").CombinedOutput()
			line := exceeded.FindStringSubmatch(string(said))
			if line == nil {
				t.Fatalf("the runtime says %.300s", said)
			}
			sp, _ := strconv.ParseUint(line[1], 0, 64)
			end, _ := strconv.ParseUint(line[2], 0, 64)
			core := fixture.Crash(t, []string{"GOTRACEBACK=crash"}, program, "deep")
			for _, most := range []int{0, 1000} {
				target, err := corewalk.Open(t.Context(), core)
				if err != nil {
					t.Fatal(err)
				}
				r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{MaxFrames: most})
				target.Close()
				if err != nil {
					t.Fatal(err)
				}
				c, o := r.Crash, r.Crash.Overflow
				if c.Kind != report.CrashStackOverflow || o == nil || c.Reason != "fatal error: stack overflow (goroutine 1)" || !slices.Equal(o.Cycle, []string{"main.deep"}) {
					t.Fatalf("%+v, %+v", c, o)
				}
				// The runtime speaks of where it was called, the report of its caller.
				if used, is := end-sp, o.Stack; most > 0 && (!o.Incomplete || is > used || is+256 < used) || most == 0 && (o.Incomplete || is > 0 || o.Bytes > used || o.Bytes+2048 < used) {
					t.Errorf("%d frames at most: %+v; the runtime says %d bytes", most, o, used)
				}
			}
		})
	}
}
