package lua_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
)

// kept are cores of real Luas.
var kept = replayed.Kept{Find: lua.Find, Least: 3, Step: 449}

func TestRecorded(t *testing.T) { kept.Test(t, record) }
func TestDamaged(t *testing.T)  { kept.Damage(t, fixture.IsLong(t)) }
func FuzzRecorded(f *testing.F) { kept.Fuzz(f) }

func record(t *testing.T) {
	t.Helper()
	one := func(p judged.Interpreter, name, program string, args ...string) {
		kept.Record(t, name, p.Dump(t, program, append([]string{program}, args...)...), p.Root)
	}
	for version, p := range all(t) {
		one(p, version, "judge.lua", "coroutines")
	}
	for _, p := range jitInterpreters.All(t) {
		switch build := filepath.Base(filepath.Dir(filepath.Dir(p.Exe))); { // DIR/bin/luajit
		case build == "usr":
			one(p, "jit-coroutines", "judge.lua", "coroutines")
			one(p, "jit-values", "jitjudge.lua", "values")
			one(p, "jit-trace", "jitjudge.lua", "trace-leaf")
		case strings.Contains(build, "32"): // without GC64
			one(p, "jit-trace-narrow", "jitjudge.lua", "trace-leaf")
		}
	}
}
