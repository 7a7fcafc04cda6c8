package systemtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// factsOf are those of a core, until the test ends.
func factsOf(t *testing.T, core string) *corewalk.Facts {
	t.Helper()
	target, err := corewalk.Open(t.Context(), core)
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

// memoryOf is what fills the memory of a process that left a core.
func memoryOf(t *testing.T, core string) *corewalk.Memory {
	t.Helper()
	m, err := factsOf(t, core).Memory(t.Context(), corewalk.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMemoryTypes: of programs that write down what they hold, each type has as many blocks as they have, and what they lost is what nothing leads to.
func TestMemoryTypes(t *testing.T) {
	for _, c := range []struct{ name, library, debian, compiler string }{
		{name: "glibc"},
		{"jemalloc", "libjemalloc.so.2", "libjemalloc2", ""},
		{"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4", ""},
		{"mimalloc", "libmimalloc.so.2.0", "libmimalloc2.0", ""},
		{"LLVM's library", "", "", "clang++"},
	} {
		for _, level := range []string{"-O0", "-O2"} {
			t.Run(c.name+level, func(t *testing.T) {
				t.Parallel()
				compiler, flags := "g++", []string{"-g", level}
				if c.compiler != "" {
					compiler, flags = c.compiler, append(flags, "-stdlib=libc++")
				}
				exe := fixture.Compile(t, compiler, "heap/types.cpp", flags...)
				var env []string
				if c.library != "" {
					env = heaptest.Preload(t, c.library, c.debian)
				}
				log := filepath.Join(t.TempDir(), "log")
				m := memoryOf(t, fixture.Crash(t, env, exe, log))
				types, lost := planted(t, log)
				if c.compiler != "" { // clang writes types in another way
					for old, now := range map[string]string{"tree node of std::pair<int const, Event>": "tree node of std::pair<const int, Event>",
						"hash node of std::pair<long int const, Event*>": "hash node of std::pair<const long, Event *>"} {
						types[now] = types[old]
						delete(types, old)
					}
				}
				for _, row := range m.Types {
					if want, ok := types[row.Name]; ok {
						delete(types, row.Name)
						if row.Count != want {
							t.Errorf("%d of %s, want %d", row.Count, row.Name, want)
						}
						if table := row.Name == "Circle" || row.Name == "Square"; table != (row.By == report.TypeByTable) {
							t.Errorf("%s is known by its %s", row.Name, row.By)
						}
					}
				}
				for name := range types {
					t.Errorf("no %s", name)
				}
				if u := m.Unreached; u == nil || u.Count < lost || u.Count > lost+2 {
					t.Errorf("%+v unreached, %d are lost", u, lost)
				}
				roots := map[string]int{}
				for _, r := range m.Roots {
					roots[r.Name] = r.Count
				}
				if roots["cache"] < 2000 || roots["lines"] < 100 || roots["shapes"] != 301 || roots["table"] != 16 {
					t.Errorf("roots: %v", roots)
				}
			})
		}
	}
}

// TestMemoryDeep: members of members of a type are looked at as far as there is time; what comes before them counts.
func TestMemoryDeep(t *testing.T) {
	t.Parallel()
	core := fixture.Crash(t, nil, fixture.Compile(t, "gcc", "heap/deep.c", "-g", "-O0"))
	for _, row := range memoryOf(t, core).Types {
		if row.Name == "struct item" && row.Count == 1 {
			return
		}
	}
	t.Error("not one struct item: the pointer before the members leads to one, that behind them is not looked for")
}

// TestMemoryExport: a heap is written in each format, and pprof counts the objects that there are.
func TestMemoryExport(t *testing.T) {
	t.Parallel()
	m := memoryOf(t, fixture.Crash(t, nil, fixture.Compile(t, "g++", "heap/types.cpp", "-g", "-O2"), filepath.Join(t.TempDir(), "log")))
	for format, begin := range map[string]string{corewalk.MemoryHTML: "<!doctype html>", corewalk.MemoryPprof: "\x1f\x8b", corewalk.MemoryHeapSnapshot: `{"snapshot":`, corewalk.MemoryHprof: "JAVA PROFILE 1.0.2"} {
		var b bytes.Buffer
		if err := m.Export(t.Context(), &b, format); err != nil {
			t.Errorf("%s: %v", format, err)
		} else if !strings.HasPrefix(strings.ToLower(b.String()), strings.ToLower(begin)) || b.Len() < 500 {
			t.Errorf("%s: %d bytes, %.40q", format, b.Len(), b.String())
		}
		if format != corewalk.MemoryPprof {
			continue
		}
		path := filepath.Join(t.TempDir(), "heap.pb.gz")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index=inuse_objects", path).CombinedOutput()
		if err != nil || !regexp.MustCompile(`(?m)^ *316 .* Order$`).Match(out) {
			t.Errorf("go tool pprof: %v\n%s", err, out)
		}
	}
	if err := m.Export(t.Context(), io.Discard, "xml"); err == nil {
		t.Error("there is a format xml")
	}
}

// placeOf says what is at an address of a core.
func placeOf(t *testing.T, core string, addr uint64) string {
	t.Helper()
	p, err := factsOf(t, core).At(t.Context(), unwind.Address(addr))
	if err != nil {
		t.Fatal(err)
	}
	return p.String()
}

// TestMemoryAbsent: of a dump that lacks memory nothing is said to be lost: what leads to it may be there.
func TestMemoryAbsent(t *testing.T) {
	t.Parallel()
	core := fixture.Crash(t, nil, fixture.Compile(t, "g++", "heap/types.cpp", "-g", "-O2"), filepath.Join(t.TempDir(), "log"))
	text := func(m *corewalk.Memory) string {
		var b strings.Builder
		if err := report.WriteMemoryText(&b, m.Memory, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const leaked, lacks = "[likely leaked]", "pointers to them may be in memory that the dump lacks"
	if m := memoryOf(t, core); m.Missing != 0 || !strings.Contains(text(m), leaked) {
		t.Errorf("whole: %d bytes are missing\n%s", m.Missing, text(m))
	}
	st, err := os.Stat(core)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(core, st.Size()*2/3); err != nil {
		t.Fatal(err)
	}
	if m := memoryOf(t, core); m.Missing == 0 || strings.Contains(text(m), leaked) || m.Unreached != nil && m.Unreached.Count > 0 && !strings.Contains(text(m), lacks) {
		t.Errorf("cut: %d bytes are missing\n%s", m.Missing, text(m))
	}
}

// planted reads what a program wrote down: how many blocks of each type it holds, and how many it lost.
func planted(t *testing.T, log string) (types map[string]int, lost int) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	types = map[string]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		what, rest, _ := strings.Cut(s.Text(), " ")
		if what == "lost" {
			lost++
			continue
		}
		n, name := 0, ""
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatal(s.Text())
		}
		if _, name, _ = strings.Cut(rest, " "); name != "" {
			types[name] = n
		}
	}
	if len(types) < 10 || lost == 0 {
		t.Fatalf("%v, %d lost", types, lost)
	}
	return types, lost
}

// TestMemoryGo: of a Go program, as many objects are found as its runtime counts, and as many of each type as it made.
func TestMemoryGo(t *testing.T) {
	t.Parallel()
	builds := []goBuild{{release: "local", optimised: true}, {release: "local", optimised: true, flags: []string{"-ldflags=-s -w"}}}
	if fixture.IsLong(t) {
		builds = nil
		for _, release := range []string{"go1.18.10", "go1.20.14", "go1.22.12", "go1.23.12", "go1.24.9", "local"} {
			for _, arch := range []string{"amd64", "386"} {
				builds = append(builds, goBuild{release: release, arch: arch, optimised: true}, goBuild{release: release, arch: arch, optimised: true, flags: []string{"-ldflags=-s -w"}})
			}
		}
	}
	for _, g := range builds {
		t.Run(g.name()+strings.Join(g.flags, ""), func(t *testing.T) {
			t.Parallel()
			if g.arch == "386" {
				fixture.Need386(t, "-m32")
			}
			log := filepath.Join(t.TempDir(), "log")
			core := fixture.Crash(t, []string{"GOTRACEBACK=crash"}, goProgram(t, "go-memory", g), log)
			m := memoryOf(t, core)
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			var objects, bytes int
			want := map[string]int{}
			for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				name, n := "", 0
				if i == 0 {
					fmt.Sscan(line, &objects, &bytes)
				} else if fmt.Sscan(line, &name, &n); true {
					want[name] = n
				}
			}
			if len(m.Allocators) != 1 || m.Allocators[0].Name != "Go heap" {
				t.Fatalf("%+v", m.Allocators)
			}
			// To write it down and to panic takes some more. Tiny objects share blocks.
			used := m.Allocators[0].Used
			if more := used.Count - objects; more < -300 || more > 300 {
				t.Errorf("%d objects, the runtime counted %d", used.Count, objects)
			}
			if more := int(used.Bytes) - bytes; more < -100_000 || more > 100_000 {
				t.Errorf("%d bytes, the runtime counted %d", used.Bytes, bytes)
			}
			if big := m.Largest[0]; !strings.Contains(placeOf(t, core, uint64(big.Address)+100), fmt.Sprintf("in a block of %d bytes at %#x", big.Size, uint64(big.Address))) {
				t.Errorf("%#x is %s", uint64(big.Address)+100, placeOf(t, core, uint64(big.Address)+100))
			}
			if len(g.flags) > 0 {
				return // without debugging information
			}
			for _, row := range m.Types {
				if n, ok := want[row.Name]; ok && row.Count == n {
					delete(want, row.Name)
				} else if ok {
					t.Errorf("%d of %s, want %d", row.Count, row.Name, n)
				}
			}
			if len(want) > 0 {
				t.Errorf("not found: %v", want)
			}
		})
	}
}

// TestMemoryIdle: what containers have for elements that they do not hold is as much as they say themselves.
func TestMemoryIdle(t *testing.T) {
	fixture.Tools(t)
	for _, c := range []struct {
		name, compiler string
		flags          []string
		all            bool
	}{
		{"GNU", "g++", []string{"-O0"}, true},
		{"GNU, optimised", "g++", []string{"-O2"}, true},
		{"LLVM", "clang++", []string{"-O1", "-stdlib=libc++"}, false}, // whose strings are not known
	} {
		t.Run(c.name, func(t *testing.T) {
			exe := fixture.Compile(t, c.compiler, "heap/idle.cpp", append([]string{"-g"}, c.flags...)...)
			log := filepath.Join(t.TempDir(), "log")
			m := memoryOf(t, fixture.Crash(t, nil, exe, log))
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]uint64{}
			for line := range strings.Lines(string(text)) {
				var name string
				var n uint64
				if _, err := fmt.Sscanf(line, "%s %d", &name, &n); err != nil {
					t.Fatal(line, err)
				}
				want[name] = n
			}
			got := map[string]uint64{}
			for _, x := range m.Types {
				switch {
				case x.Name == "char[]":
					got["strings"] = x.Idle
				case strings.Contains(x.Name, "string"):
					got["names"] = x.Idle
				case x.Name == "Order[]" || x.Name == "int[]":
					got[x.Name] = x.Idle
				case x.Idle != 0:
					t.Errorf("%d bytes of %s", x.Idle, x.Name)
				}
			}
			if !c.all {
				delete(want, "strings")
			}
			for name, n := range want {
				if got[name] != n {
					t.Errorf("%s: %d bytes, want %d", name, got[name], n)
				}
			}
			var out strings.Builder
			if err := report.WriteMemoryText(&out, m.Memory, report.TextOptions{}); err != nil || !strings.Contains(out.String(), "room in containers for elements that they do not hold: ") {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

// TestMemoryIdleLists: of Python's lists, too.
func TestMemoryIdleLists(t *testing.T) {
	fixture.Tools(t)
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Skip(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	m := memoryOf(t, fixture.Crash(t, nil, python, "-I", "-S", "-c", `
import gc, os, sys
many = [[0] * k for k in range(200)]
for l in many: l.append(1)
big = list(range(100000)); big.append(1)
room = lambda l: l.__sizeof__() - [].__sizeof__() - 8 * len(l)
open(sys.argv[1], "w").write(str(sum(map(room, many)) + room(big) + room(many)))
os.abort()`, log))
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := strconv.ParseUint(string(text), 10, 64)
	for _, x := range m.Types {
		if x.Name != "list items" {
			continue
		}
		if x.Idle < want || x.Idle > want+want/20 { // the interpreter has lists of its own
			t.Errorf("%d bytes, want %d", x.Idle, want)
		}
		return
	}
	t.Error("no lists")
}

// TestMemoryRust: rows of Rust's Vec and String have types, of their elements in use only, and room for more.
func TestMemoryRust(t *testing.T) {
	fixture.Tools(t)
	for _, level := range []string{"opt-level=0", "opt-level=3"} {
		t.Run(level, func(t *testing.T) {
			exe := fixture.Compile(t, "rustc", "heap/types.rs", "-g", "-C", level)
			log := filepath.Join(t.TempDir(), "log")
			m := memoryOf(t, fixture.Crash(t, nil, exe, log))
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			types := map[string]report.MemoryType{}
			for _, x := range m.Types {
				types[strings.TrimPrefix(x.Name, "types::")] = x
			}
			for line := range strings.Lines(string(text)) {
				var what, name string
				var n int
				if _, err := fmt.Sscanf(line, "%s %d %s", &what, &n, &name); err != nil {
					t.Fatal(line, err)
				}
				if x := types[name]; what == "type" && x.Count != n || what == "room" && x.Idle != uint64(n) {
					t.Errorf("%+v, want %s", x, line)
				}
			}
		})
	}
}
