package systemtest

import (
	"cmp"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

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

// The signal that ended a program of Go is the one that it received: until Go 1.20, the runtime sends SIGQUIT to its other threads, and the
// last of them ends the program.
func TestGoSignals(t *testing.T) {
	t.Parallel()
	for _, release := range goReleases(t) {
		g := goBuild{release: release}
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			program := goProgram(t, "go-faults", g)
			for way, want := range map[string]string{"abrt": "^(SIGABRT received|abort called)", "trap": "^SIGTRAP", "quit": "^SIGQUIT received"} {
				if got := goCrash(t, program, way).Crash.Reason; !regexp.MustCompile(want).MatchString(got) {
					t.Errorf("%s: %q, want %s", way, got, want)
				}
			}
		})
	}
}
