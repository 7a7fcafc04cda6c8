package lua_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestMemory: of a program that says how many objects it keeps, as many of each type are in memory, they take as much as Lua counts, and what keeps them
// has its name.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Lua")
	}
	for version, p := range all(t) {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			program, err := filepath.Abs("testdata/heap.lua")
			if err != nil {
				t.Fatal(err)
			}
			out, _ := p.Command(dir, program).CombinedOutput() // fails: it dies
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			counted, err := strconv.ParseUint(strings.TrimSpace(string(log)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			m := memoryOf(t, fixture.CoreIn(t, dir))
			lua := map[string]report.MemoryType{}
			bytes := uint64(0)
			for _, row := range m.Types {
				if row.By == report.TypeByObject {
					lua[row.Name] = row
					bytes += row.Bytes
				}
			}
			// Besides the program's there are those that Lua has at its start.
			for name, want := range map[string][2]int{"table": {5006, 5060}, "string": {3000, 4100}, "function": {2200, 2420}, "thread": {200, 200}, "userdata FILE*": {10, 11},
				"main thread, with what all threads share": {1, 1}, "thread's stack": {201, 201}, "table of all strings": {1, 1}} {
				if name == "userdata FILE*" && strings.HasPrefix(version, "5.1") || name == "userdata FILE*" && strings.HasPrefix(version, "5.2") {
					name = "userdata" // metatables have no name
				}
				if n := int(lua[name].Count); n < want[0] || n > want[1] {
					t.Errorf("%d of type %s, want %d to %d", n, name, want[0], want[1])
				}
			}
			if bytes < counted*95/100 || bytes > counted*130/100 { // an allocator rounds up
				t.Errorf("%d bytes of Lua's, which counts %d", bytes, counted)
			}
			t.Logf("%d bytes in blocks of Lua's, which counts %d", bytes, counted)
			kept := uint64(0)
			for _, r := range m.Roots {
				if r.Name == "kept" {
					kept = r.Bytes
				}
			}
			if kept < counted*70/100 {
				t.Errorf("kept leads to %d of %d bytes: %+v", kept, counted, m.Roots)
			}
		})
	}
}

func memoryOf(t *testing.T, core string) *corewalk.Memory {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	facts, err := target.Facts(corewalk.FactsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	m, err := facts.Memory(t.Context(), corewalk.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
