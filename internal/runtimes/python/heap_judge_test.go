package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// TestMemory: of a program that counts its objects before it dies, as many of each type are in memory, and what belongs to them takes as much as it says.
func TestMemory(t *testing.T) {
	all := inSample(t)
	if p, err := exec.LookPath("/usr/bin/python3"); err == nil && fixture.IsLong(t) { // without symbols but those that it exports
		all["of the system"] = p
	}
	for version, python := range all {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, err := filepath.Abs("testdata/heap.py")
			if err != nil {
				t.Fatal(err)
			}
			out, _ := fixture.Dies(dir, python, program, "log").CombinedOutput() // fails: it dies
			text, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			remember(t, fixture.CoreIn(t, dir), string(text))
		})
	}
}

// TestMemoryInterpreters: objects of all interpreters of a process are found, also where each has pools of its own.
func TestMemoryInterpreters(t *testing.T) {
	for version, python := range inSample(t) {
		if strings.HasPrefix(version, "3.6.") || strings.HasPrefix(version, "3.7.") {
			continue // its programs cannot have several
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program, err := filepath.Abs("testdata/heap_interpreters.py")
			if err != nil {
				t.Fatal(err)
			}
			out, _ := fixture.Dies(dir, python, program).CombinedOutput() // fails: it dies
			m, err := factsOf(t, fixture.CoreIn(t, dir)).Memory(t.Context(), corewalk.MemoryOptions{})
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := map[string]int{}
			for _, row := range m.Types {
				got[row.Name] += row.Count
			}
			if got["__main__.Sub"] != 2*1234 || got["__main__.Main"] != 321 {
				t.Errorf("%d of the inner interpreters, %d of the first\n%s", got["__main__.Sub"], got["__main__.Main"], out)
			}
		})
	}
}

// factsOf are those of a core, until the test ends.
func factsOf(t *testing.T, core string) *corewalk.Facts {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core, files())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	facts, err := target.Facts(corewalk.FactsOptions{Unlimited: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(facts.Close)
	return facts
}

// remember compares what fills the memory of a core with what the program wrote down.
func remember(t *testing.T, core, log string) {
	facts := factsOf(t, core)
	m, err := facts.Memory(t.Context(), corewalk.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]report.MemoryType{}
	for _, row := range m.Types {
		if row.By != report.TypeByObject {
			continue // C has an int, too
		}
		sum := got[row.Name]
		sum.Count, sum.Bytes = sum.Count+row.Count, sum.Bytes+row.Bytes
		got[row.Name] = sum
	}
	damages := -1
	for _, a := range m.Allocators {
		if a.Name == "Python's small objects" {
			damages = len(a.Damages)
		}
	}
	if damages != 0 {
		t.Errorf("%d damages: %+v", damages, m.Allocators)
	}
	checked := 0
	var lists uint64
	for line := range strings.Lines(log) {
		var count int
		var bytes, where uint64
		var name string
		if fmt.Sscanf(line, "where %v", &where); where != 0 {
			p, err := facts.At(t.Context(), unwind.Address(where))
			if err != nil || p.Block == nil || p.Block.Type != "__main__.Node" {
				t.Errorf("%#x is %v, %v", where, p, err)
			}
			continue
		}
		if n, err := fmt.Sscan(line, &count, &bytes, &name); n != 3 {
			t.Fatal(line, err)
		}
		row := got[name]
		less, more := 0, 0
		switch name {
		case "list", "set", "frozenset", "function", "collections.deque", "array.array", "bytearray", "collections.OrderedDict":
		case "dict":
			more = 30 // to which only the interpreter's own records lead
		case "int", "float", "str", "bytes", "tuple":
			// Small numbers, short texts and what is frozen lie in the interpreter's data, and constants of its code the collector does not see.
			less, more = count/50+300, 8000
		default:
			if !strings.HasPrefix(name, "__main__.") {
				continue
			}
		}
		checked++
		if row.Count < count-less || row.Count > count+more {
			t.Errorf("%d of %s, want %d", row.Count, name, count)
		}
		if name == "list" || name == "__main__.Stack" {
			lists += bytes
		}
	}
	if checked < 20 {
		t.Errorf("%d types were counted in\n%s", checked, log)
	}
	// sys.getsizeof says how much was asked for, blocks are up to 15 bytes larger.
	have := got["list"].Bytes + got["__main__.Stack"].Bytes + got["list items"].Bytes
	if most := lists + 16*uint64(got["list"].Count+got["__main__.Stack"].Count+got["list items"].Count); have < lists || have > most {
		t.Errorf("lists take %d bytes, Python says %d", have, lists)
	}
	roots := map[string]int{}
	for _, r := range m.Roots {
		roots[r.Name] = r.Count
	}
	if roots["__main__.big"] < 90_000 || roots["__main__.nodes"] < 2000 || roots["held of main()"] < 500 {
		t.Errorf("roots: %v", roots)
	}
	for _, b := range m.Largest[:1] {
		if b.Type != "list items" || b.Path != "__main__.big → list → list items" || b.Size < 800_000 {
			t.Errorf("the largest is %+v", b)
		}
	}
	lost := 0
	for _, row := range m.Unreached.Types {
		switch row.Name {
		case "__main__.Lost":
			lost = row.Count
		case "dict", "attribute values": // of the lost
		default:
			t.Errorf("lost: %+v", row)
		}
	}
	if lost < 100 || lost > 200 { // old words may lead to some
		t.Errorf("%d of 200 that nothing leads to", lost)
	}
}
