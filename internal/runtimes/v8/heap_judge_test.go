package v8_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// TestHeapAgainstNode: in the core of a Node there are as many objects of each class, with as many bytes, as in the snapshot that V8 wrote just before.
func TestHeapAgainstNode(t *testing.T) {
	for _, node := range nodes(t) {
		t.Run(version(t, node), func(t *testing.T) {
			dir := t.TempDir()
			snapshot := filepath.Join(dir, "s.heapsnapshot")
			core := heapCore(t, dir, node, snapshot)
			want := readSnapshot(t, snapshot)
			m, facts := memoryOf(t, core)
			compareSnapshot(t, m, want)
			checkPaths(t, m, facts)
		})
	}
}

// TestHeapOutOfMemory: what fills the heap of a Node that had no memory left is named, and who keeps it.
func TestHeapOutOfMemory(t *testing.T) {
	for _, node := range nodes(t) {
		t.Run(version(t, node), func(t *testing.T) {
			fixture.Long(t)
			dir := t.TempDir()
			m, _ := memoryOf(t, heapCore(t, dir, node, "--max-old-space-size=50"))
			count, bytes := 0, uint64(0)
			for _, row := range m.Types {
				if row.Name == "Leak" {
					count, bytes = row.Count, row.Bytes
				}
			}
			if count < 100_000 || bytes < uint64(count)*48 || m.Roots[0].Name != "global.kept" || m.Roots[0].Count < 4*count {
				t.Errorf("%d of Leak with %d bytes; %+v", count, bytes, m.Roots[0])
			}
		})
	}
}

// heapCore is the core of a Node that ran heap.js.
func heapCore(t *testing.T, dir, node, arg string) string {
	program, err := filepath.Abs("testdata/heap.js")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{program, arg}
	if strings.HasPrefix(arg, "-") {
		args = []string{arg, program}
	}
	fixture.Dies(dir, node, args...).Run() // fails: it dies
	return fixture.CoreIn(t, dir)
}

func memoryOf(t *testing.T, core string) (*corewalk.Memory, *corewalk.Facts) {
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	facts, err := target.Facts(corewalk.FactsOptions{Unlimited: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { facts.Close() })
	m, err := facts.Memory(ctx, corewalk.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Warnings {
		if w.Code == report.WarnObjects {
			t.Error(w.Message)
		}
	}
	for _, a := range m.Allocators {
		if a.Name == "V8 heap" && len(a.Damages) != 0 {
			t.Errorf("damages: %q", a.Damages)
		}
	}
	return m, facts
}

type objectCount struct {
	count int
	bytes uint64
}

// readSnapshot counts the objects of V8's heap in a snapshot as DevTools groups them. Those of C++ are not in it.
func readSnapshot(t *testing.T, path string) map[string]objectCount {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Snapshot struct {
			Meta struct {
				Fields []string          `json:"node_fields"`
				Types  []json.RawMessage `json:"node_types"`
			}
		}
		Nodes   []uint64
		Strings []string
	}
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	var types []string
	if err := json.Unmarshal(s.Snapshot.Meta.Types[0], &types); err != nil {
		t.Fatal(err)
	}
	out := map[string]objectCount{}
	for n, step := s.Nodes, len(s.Snapshot.Meta.Fields); len(n) >= step; n = n[step:] {
		name := ""
		switch typ := types[n[0]]; typ {
		case "hidden":
			name = "(system)"
		case "object":
			name = s.Strings[n[1]]
		case "code":
			name = "(compiled code)"
		case "native", "synthetic":
			continue
		default:
			name = "(" + typ + ")"
		}
		if n[3] != 0 {
			out[name] = objectCount{out[name].count + 1, out[name].bytes + n[3]}
		}
	}
	return out
}

// system are the groups of what is no object of the program.
var system = []string{"(system)", "(array)", "(compiled code)", "(object shape)", "system / Context"}

func compareSnapshot(t *testing.T, m *corewalk.Memory, want map[string]objectCount) {
	got := map[string]objectCount{}
	for _, row := range m.Types {
		if row.By == report.TypeByObject {
			got[row.Name] = objectCount{row.Count, row.Bytes}
		}
	}
	lost := map[string]int{}
	for _, row := range m.Unreached.Types {
		lost[row.Name] = row.Count
	}
	for name, n := range map[string]int{"Order": 5002 /* and a prototype */, "Special": 300, "Item": 10702, "Named": 70, "Keyed": 100} {
		if got[name] != want[name] || got[name].count != n || lost[name] != 0 {
			t.Errorf("%s: %+v, want %+v and %d; nothing leads to %d", name, got[name], want[name], n, lost[name])
		}
	}
	if got["Lost"].count != 500 || lost["Lost"] < 490 { // the last of them are on stacks
		t.Errorf("Lost: %+v, of which nothing leads to %d", got["Lost"], lost["Lost"])
	}
	equal, classes := 0, 0
	for name, w := range want {
		if strings.HasPrefix(name, "(") || strings.HasPrefix(name, "system /") {
			continue
		}
		if classes++; got[name] == w {
			equal++
		}
	}
	// What comes and goes between the snapshot and the abort differs, as do classes of which V8 keeps none but by weak handles.
	if classes < 50 || equal < classes*9/10 {
		t.Errorf("%d of %d classes are equal", equal, classes)
	}
	near := func(name string, got, want, percent uint64) {
		if d := int64(got - want); uint64(max(d, -d))*100 > want*percent {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	for _, name := range []string{"(closure)", "(number)", "(concatenated string)", "(regexp)"} {
		near(name, uint64(got[name].count), uint64(want[name].count), 3)
		near("bytes of "+name, got[name].bytes, want[name].bytes, 3)
	}
	near("(symbol)", uint64(got["(symbol)"].count), uint64(want["(symbol)"].count), 10)
	near("(string)", uint64(got["(string)"].count), uint64(want["(string)"].count), 8) // since 13 the snapshot has not those that only V8 itself has
	var all, wanted objectCount
	for _, name := range system {
		all = objectCount{all.count + got[name].count, all.bytes + got[name].bytes}
		wanted = objectCount{wanted.count + want[name].count, wanted.bytes + want[name].bytes}
	}
	near("of the system", uint64(all.count), uint64(wanted.count), 5)
	near("bytes of the system", all.bytes, wanted.bytes, 3)
	if own := got["ArrayBuffer's bytes"]; own.count != 0 && own.bytes < 50*100_000 { // where the allocator is known
		t.Errorf("ArrayBuffer's bytes: %+v", own)
	}
	t.Logf("%d of %d classes are equal; of the system %+v, snapshot %+v", equal, classes, all, wanted)
}

// checkPaths: what leads to objects is named.
func checkPaths(t *testing.T, m *corewalk.Memory, facts *corewalk.Facts) {
	roots := map[string]int{}
	for _, r := range m.Roots {
		roots[r.Name] = r.Count
	}
	if roots["global.cache"] < 45_000 || roots["global.closures"] < 6000 || roots["global.special"] < 1500 {
		t.Errorf("roots: %v", roots)
	}
	paths := map[string]bool{}
	for _, b := range m.Largest {
		paths[b.Path] = true
	}
	if !paths["global.big → elements"] || !paths["global.cache → table"] {
		t.Errorf("paths: %v", paths)
	}
	for _, b := range m.Largest {
		if b.Path == "global.big → elements" {
			p, err := facts.At(context.Background(), unwind.Address(b.Address)+1000)
			if err != nil || p.Block == nil || p.Block.Type != "(array)" || p.Block.Allocator != "V8 heap" || p.Block.Offset != 1000 || p.Block.Size != b.Size {
				t.Errorf("%#x is %+v, %v", b.Address, p, err)
			}
		}
	}
}
