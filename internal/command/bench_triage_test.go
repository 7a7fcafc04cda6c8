package command

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The benchmark of batches is a program run as a whole, with its peers: make
// bench-triage. COREWALK_TRIAGE_DUMPS says how many dumps.
const benchDumps = "COREWALK_TRIAGE_DUMPS"

// benchCases are small single-thread cores of a few programs.
var benchCases = []string{"amd64-inline-tail-O2", "amd64-abort", "amd64-cxx-sort", "amd64-assert"}

// TestBenchTriage measures a batch of small cores, with symbols, files and lines:
// dumps a second, against gdb and eu-stack as two processes each, on a part of the
// batch; and the memory of the analysis process.
func TestBenchTriage(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(benchDumps))
	if err != nil || n < len(benchCases) {
		t.Skipf("%s is not set to a number of dumps: nothing is measured", benchDumps)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "corewalk")
	if out, err := exec.Command("go", "build", "-tags", "nethttpomithttp2", "-o", program, "../../cmd/corewalk").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bins, crashes := filepath.Join(dir, "bins"), filepath.Join(dir, "crashes")
	for _, d := range []string{bins, crashes} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	programs, root := writeBatch(t, n, bins, crashes)
	args := func(more ...string) []string {
		return append([]string{"triage", "--no-db", "--search", bins, "--sysroot", root, "--debug-dir", bins}, more...)
	}
	for _, cpus := range []string{"1", "2"} {
		before := childrenCPU()
		out, took, mem := timed(t, append(os.Environ(), "GOMAXPROCS="+cpus), program, args(crashes)...)
		if !strings.Contains(out, fmt.Sprintf("analysed %d dumps", n)) {
			t.Fatalf("output:\n%s", out)
		}
		t.Logf("corewalk triage, %s processor(s): %d dumps in %v, %.0f a second, %v of processor time a dump, at most %d MB",
			cpus, n, took.Round(time.Millisecond), float64(n)/took.Seconds(), (childrenCPU()-before)/time.Duration(n), mem>>10)
	}
	part := min(n, 60)
	peer(t, "gdb", part, crashes, func(core string) []string {
		return []string{"gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set sysroot " + root, "-ex", "bt", programs[benchCase(core)], core}
	})
	peer(t, "eu-stack", part, crashes, func(core string) []string {
		return []string{"eu-stack", "-i", "-v", "--core=" + core, "-e", programs[benchCase(core)]}
	})
}

// writeBatch writes n different cores, in turn of each program.
func writeBatch(t *testing.T, n int, bins, crashes string) (programs []string, root string) {
	var cores [][]byte
	for i, name := range benchCases {
		c := fixture.Get(t, name)
		root = c.Sysroot(t)
		for from, to := range map[string]string{c.Binary(t): filepath.Join(bins, fmt.Sprintf("program%d", i))} {
			data, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, data, 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
			programs = append(programs, to)
		}
		core, err := os.ReadFile(c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		cores = append(cores, core)
	}
	for i := range n {
		data := binary.LittleEndian.AppendUint64(bytes.Clone(cores[i%len(cores)]), uint64(i)) // which nobody reads
		if err := os.WriteFile(filepath.Join(crashes, fmt.Sprintf("core.%06d", i)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return programs, root
}

// benchCase is which of benchCases a core is of.
func benchCase(core string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(core), "."))
	return n % len(benchCases)
}

// timed runs a command; mem is the most memory that it, or a process of its own, had
// resident, in KiB, where the system tells.
func timed(t *testing.T, env []string, name string, args ...string) (out string, took time.Duration, mem int64) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = env
	start := time.Now()
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s: %v", name, err)
	}
	took = time.Since(start)
	return string(b), took, peakOf(cmd.ProcessState)
}

// peer measures another program on the first dumps, two processes at a time.
func peer(t *testing.T, name string, n int, crashes string, command func(core string) []string) {
	if _, err := exec.LookPath(name); err != nil {
		t.Logf("%s is not installed: not compared", name)
		return
	}
	start, before := time.Now(), childrenCPU()
	slots := make(chan bool, 2)
	for i := range n {
		slots <- true
		go func() {
			defer func() { <-slots }()
			c := command(filepath.Join(crashes, fmt.Sprintf("core.%06d", i)))
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("main")) {
				t.Logf("%v: %v: %.400s", c, err, out)
			}
		}()
	}
	for range cap(slots) {
		slots <- true
	}
	took := time.Since(start)
	t.Logf("%s, two processes: %d dumps in %v, %.1f a second, %v of processor time a dump", name, n, took.Round(time.Millisecond),
		float64(n)/took.Seconds(), (childrenCPU()-before)/time.Duration(n))
}
