package hotspot_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// heapModes are ways to lay out the heap. busy threads make objects while the core is written.
var heapModes = []struct {
	busy    string
	options []string
}{
	{"0", []string{"-XX:+UseSerialGC"}},
	{"0", []string{"-XX:+UseG1GC"}},
	{"0", []string{"-XX:+UseParallelGC"}},
	{"0", []string{"-XX:+UseSerialGC", "-XX:-UseCompressedOops", "-Xshare:off"}},
	{"0", []string{"-XX:+UseG1GC", "-XX:-UseCompressedOops"}},
	{"3", []string{"-XX:+UseSerialGC"}},
	{"3", []string{"-XX:+UseG1GC", "-Xcomp"}},
	{"3", []string{"-XX:+UseParallelGC", "-XX:-UseCompressedOops"}},
	{"0", []string{"-XX:+UseZGC"}},
}

// TestHeapAgainstJava: in the core of a virtual machine there are as many objects of each class, with as many bytes, as it counted itself before it died,
// or as its own debugger counts in the core.
func TestHeapAgainstJava(t *testing.T) {
	fixture.Tools(t)
	for _, home := range homes(t) {
		classes := javac(t, home, "testdata/Heap.java", "-nowarn", "-Xlint:-removal")
		for i, m := range heapModes {
			if i > 1 && !fixture.IsLong(t) {
				break
			}
			t.Run(filepath.Base(home)+" "+m.busy+strings.Join(m.options, ""), func(t *testing.T) {
				dir := t.TempDir()
				args := append([]string{"-Xms64m", "-Xmx128m", "-XX:ReservedCodeCacheSize=64m", "-XX:-CreateCoredumpOnCrash"}, m.options...)
				cmd := fixture.Dies(dir, filepath.Join(home, "bin/java"), append(args, "-cp", classes, "Heap", m.busy)...)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				fixture.Bind(t, cmd.Process.Pid)
				defer cmd.Process.Kill()
				if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
					t.Fatalf("%q, %v", line, err)
				}
				pid := strconv.Itoa(cmd.Process.Pid)
				counted, err := exec.Command(filepath.Join(home, "bin/jcmd"), pid, "GC.class_histogram", "-all").CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, counted)
				}
				time.Sleep(50 * time.Millisecond) // until threads go on
				cmd.Process.Signal(syscall.SIGABRT)
				cmd.Wait() // fails: it dies
				core := fixture.CoreIn(t, dir)
				if m.busy != "0" {
					args := []string{"jmap", "--histo", "--exe", filepath.Join(home, "bin/java"), "--core", core}
					if counted, err = exec.Command(filepath.Join(home, "bin/jhsdb"), args...).CombinedOutput(); err != nil {
						t.Skipf("%v\n%s", err, counted)
					}
				}
				compareHeap(t, core, string(counted), m.busy != "0", m.options[0] == "-XX:+UseG1GC")
			})
		}
	}
}

// histogramRow is a row of what Java prints: number, objects, bytes, class, and the module of that.
var histogramRow = regexp.MustCompile(`(?m)^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)`)

type objectCount struct {
	count int
	bytes uint64
}

// compareHeap compares the objects in a core with a histogram; same says that it is the debugger's of the core. Else what marking has found dead may not
// be in it: G1 of JDK 17 leaves that out.
func compareHeap(t *testing.T, core, histogram string, same, marked bool) {
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	facts, err := target.Facts(corewalk.FactsOptions{Unlimited: true})
	if err != nil {
		t.Fatal(err)
	}
	defer facts.Close()
	m, err := facts.Memory(ctx, corewalk.MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range m.Warnings {
		if w.Code == report.WarnObjects && (strings.Contains(w.Message, "ZGC") || strings.Contains(w.Message, "collector was at work")) {
			t.Skip(w.Message)
		}
		t.Error(w.Message)
	}
	got, want := map[string]objectCount{}, map[string]objectCount{}
	for _, row := range m.Types {
		if row.By == report.TypeByObject {
			got[row.Name] = objectCount{row.Count, row.Bytes}
		}
	}
	for _, row := range histogramRow.FindAllStringSubmatch(histogram, -1) {
		name := printedClass(row[3])
		n, _ := strconv.Atoi(row[1])
		b, _ := strconv.ParseUint(row[2], 10, 64)
		want[name] = objectCount{want[name].count + n, want[name].bytes + b}
	}
	if same { // what fills gaps is an array of numbers for the debugger
		f := got[filler]
		got["int[]"] = objectCount{got["int[]"].count + f.count, got["int[]"].bytes + f.bytes}
		delete(got, filler)
	}
	if len(want) < 300 {
		t.Fatalf("%d classes in\n%s", len(want), histogram)
	}
	lost := map[string]int{}
	for _, row := range m.Unreached.Types {
		lost[row.Name] = row.Count
	}
	all := 0
	for name, w := range want {
		all += w.count
		if !same && (name == "int[]" || name == filler) {
			continue // Java filled the ends of what threads have, to count
		}
		if dead := got[name].count - w.count; !same && marked && dead > 0 && dead <= lost[name]+5 {
			continue
		}
		if got[name] != w {
			t.Errorf("%s: %+v, want %+v", name, got[name], w)
		}
	}
	for name, g := range got {
		if _, ok := want[name]; !ok && (same || !marked || g.count > lost[name]) && !strings.HasSuffix(name, ", class not loaded") {
			t.Errorf("%s: %+v, which Java does not count", name, g)
		}
	}
	t.Logf("%d objects of %d classes", all, len(want))
	for _, a := range m.Allocators {
		if a.Name == "Java heap" && len(a.Damages) != 0 {
			t.Errorf("damages: %q", a.Damages)
		}
	}
	roots := map[string]int{}
	for _, r := range m.Roots {
		roots[r.Name] = r.Count
	}
	if roots["Heap.CACHE"] < 45_000 || roots["Heap.chain"] != 3000 || roots["held of Heap.hold()"] != 2 {
		t.Errorf("roots: %v", roots)
	}
	paths := map[string]string{}
	for _, b := range m.Largest {
		paths[b.Type] = b.Path
	}
	if paths["long[]"] != "Heap.humongous" || !cachePath.MatchString(paths["Heap$Item[]"]) || paths["double[]"] != "held of Heap.hold() → what" {
		t.Errorf("paths: %v", paths)
	}
	if !same && lost["Heap$Lost"] < 1300 || // busy threads have had them collected
		lost["Heap$Order"]+lost["Heap$Softly"]+lost["Heap$Finalized"]+lost["Heap$Node"] > 0 {
		t.Errorf("lost: %v", lost)
	}
	if at := m.Largest[0]; at.Type == "long[]" {
		p, err := facts.At(ctx, unwind.Address(at.Address)+1000)
		if err != nil || p.Block == nil || p.Block.Type != "long[]" || p.Block.Allocator != "Java heap" || p.Block.Offset != 1000 || p.Block.Size != at.Size {
			t.Errorf("%#x is %+v, %v", at.Address, p, err)
		}
	}
}

// filler is a class of JDK 19 on.
const filler = "jdk.internal.vm.FillerElement[]"

// cachePath is the way to a large array.
var cachePath = regexp.MustCompile(`^Heap.CACHE → table → \[\d+\] (→ next )*→ value → items$`)

// hiddenEnd is what tells classes without a name of their own apart.
var hiddenEnd = regexp.MustCompile(`[+/]0x[0-9a-f]+`)

// printedClass is a class as programs write it, of how histograms do: "[I", or "int[]".
func printedClass(s string) string {
	dimensions := strings.Count(s, "[") - strings.Count(s, "]")
	if dimensions > 0 {
		s = s[dimensions:]
		if name, ok := strings.CutPrefix(s, "L"); ok {
			s = strings.TrimSuffix(name, ";")
		} else {
			s = map[string]string{"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}[s]
		}
		s += strings.Repeat("[]", dimensions)
	}
	return hiddenEnd.ReplaceAllString(s, "")
}
