package lua_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
)

// TestMemory: of a program that says how many objects it keeps, as many of each type are in memory, they take as much as Lua counts, and what keeps them
// has its name.
func TestMemory(t *testing.T) {
	for version, p := range all(t) {
		t.Run(version, func(t *testing.T) {
			m, log := p.Memory(t, "heap.lua")
			counted, err := strconv.ParseUint(strings.TrimSpace(log), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			objects := judged.Objects(m)
			bytes := uint64(0)
			for _, row := range objects {
				bytes += row.Bytes
			}
			files := "userdata FILE*"
			if version < "5.3" { // metatables have no name
				files = "userdata"
			}
			// Besides the program's there are those that Lua has at its start.
			for name, want := range map[string][2]int{"table": {5006, 5060}, "string": {3000, 4100}, "function": {2200, 2420}, "thread": {200, 200}, files: {10, 11},
				"main thread, with what all threads share": {1, 1}, "thread's stack": {201, 201}, "table of all strings": {1, 1}} {
				if n := objects[name].Count; n < want[0] || n > want[1] {
					t.Errorf("%d of type %s, want %d to %d", n, name, want[0], want[1])
				}
			}
			if bytes < counted*95/100 || bytes > counted*130/100 { // an allocator rounds up
				t.Errorf("%d bytes of Lua's, which counts %d", bytes, counted)
			}
			judged.Leads(t, m, map[string]uint64{"kept": counted * 70 / 100})
		})
	}
}
