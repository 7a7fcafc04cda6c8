package systemtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/symlookup"
)

// What fixed runs may cost, in counts that do not depend on how busy a machine is. A timed test would fail on a busy one.
//
//	go test ./internal/systemtest -run '^TestBudgets$' -update                    # after a change that is meant to cost more, or saves much
//	go test -tags countdwarf ./internal/systemtest -run '^TestBudgets$' -update   # also the bytes of debugging entries

// budgetFile has a line for each run and measure.
const budgetFile = "testdata/budgets.txt"

// What is measured.
const (
	measureAllocs  = "allocations"
	measureBytes   = "allocated-bytes"
	measureEntries = "entries"      // of tables and debugging information, for names and lines
	measurePages   = "mapped-pages" // of files, in memory when the run ends
	measureDWARF   = "dwarf-bytes"  // distinct bytes of debugging entries
	measureInstrs  = "instructions" // in user mode, of the analysis's own thread
)

const (
	budgetTolerance = 15 // percent; noise is less, and growth by a quarter is more
	budgetSmall     = 16 // what a small count may grow by
	budgetRounds    = 4
)

// A budgetRun is a fixed run. The result of work is written, so that all of it is done.
type budgetRun struct {
	name    string // of a fixture
	kind    string
	how     corewalk.FactsOptions
	options corewalk.AnalyzeOptions
	shared  bool // the files are known from a run before
}

func budgetRuns() []budgetRun {
	text := func(name string) budgetRun {
		return budgetRun{name: name, kind: "report", options: corewalk.AnalyzeOptions{For: report.TextOptions{}}}
	}
	return []budgetRun{
		text("amd64-recursion-O0"), text("amd64-recursion-12000"), text("amd64-threads"), text("amd64-cxx-sort"),
		text("amd64-vars-go-O0"), text("amd64-no-tables-omit-fp"), text("amd64-go-stripped"), text("aarch64-threads"),
		text("amd64-clang-O2-deep"), text("amd64-zlib"),
		{name: "amd64-vars-cxx-O2", kind: "variables", options: corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll}},
		{name: "amd64-cxx-sort", kind: "second", shared: true, options: corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone, NoBlame: true}},
	}
}

// TestBudgets compares what fixed runs cost with what they may cost.
func TestBudgets(t *testing.T) {
	if why := notComparable(); why != "" {
		t.Skip(why)
	}
	budgets, err := readBudgets(budgetFile)
	if err != nil && !(*update && errors.Is(err, os.ErrNotExist)) {
		t.Fatal(err)
	}
	check := func(key string, n uint64) {
		budget, ok := budgets[key]
		switch {
		case *update:
			budgets[key] = n
		case !ok && strings.HasSuffix(key, measureInstrs): // not every machine counts them
		case !ok:
			t.Errorf("%s: %d, and no budget: -update", key, n)
		case exceeds(n, budget):
			t.Errorf("%s: %d, may be %d: if this is meant, -update", key, n, budget)
		case exceeds(budget, n):
			t.Logf("%s: %d, may be %d: -update keeps what was saved", key, n, budget)
		}
	}
	pages := uint64(0)
	for _, r := range budgetRuns() {
		for what, n := range r.costs(t) {
			if what == measurePages {
				pages += n
				continue
			}
			check(r.name+" "+r.kind+" "+what, n)
		}
	}
	// Touching a page maps up to 15 neighbours; how many depends on the addresses of mappings. So one run's number
	// differs by a quarter from process to process, but the sum by 3 percent.
	if pages > 0 {
		check("all runs "+measurePages, pages)
	}
	if _, ok := instructions(func() {}); !ok {
		t.Log("this system counts no instructions: they are not compared")
	}
	if _, ok := touchedDWARF(); !ok {
		t.Log("bytes of debugging entries are counted with -tags countdwarf only")
	}
	if *update {
		if err := writeBudgets(budgetFile, budgets); err != nil {
			t.Fatal(err)
		}
	}
}

// notComparable says why the costs differ from those in the file whatever the program does.
func notComparable() string {
	switch {
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		return "the budgets are for linux on amd64"
	case raceDetector:
		return "the race detector allocates"
	}
	return ""
}

// exceeds reports whether n is more than a budget, and not by noise.
func exceeds(n, budget uint64) bool {
	return n > budget+max(budget*budgetTolerance/100, budgetSmall)
}

// Growth by a quarter fails, and noise does not.
func TestBudgetExceeded(t *testing.T) {
	for _, c := range []struct {
		n, budget uint64
		want      bool
	}{{1000, 1000, false}, {1100, 1000, false}, {1250, 1000, true}, {500, 1000, false}, {10, 0, false}, {1000, 0, true}, {125000, 100000, true}} {
		if got := exceeds(c.n, c.budget); got != c.want {
			t.Errorf("%d of %d: %v", c.n, c.budget, got)
		}
	}
}

// TestBudgetsFound: a run that does twice the work exceeds its budgets.
func TestBudgetsFound(t *testing.T) {
	if why := notComparable(); why != "" {
		t.Skip(why)
	}
	if _, counts := touchedDWARF(); counts {
		t.Skip("counting the bytes of entries allocates")
	}
	budgets, err := readBudgets(budgetFile)
	if err != nil {
		t.Fatal(err)
	}
	r := budgetRuns()[3]
	more := r
	more.how = corewalk.FactsOptions{Verify: true, Explain: true}
	more.options = corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.Whole{Trees: true}, Include: corewalk.Include{Details: true}}
	costs := more.measure(t)
	for _, what := range []string{measureAllocs, measureBytes} {
		if budget := budgets[r.name+" "+r.kind+" "+what]; budget == 0 || !exceeds(costs[what], budget) {
			t.Errorf("%s: %d, budget %d", what, costs[what], budget)
		}
	}
}

// costs does the run several times, and returns the least of each count: others of the program may allocate, too.
func (r *budgetRun) costs(t *testing.T) map[string]uint64 {
	t.Helper()
	// What a pool lost to a garbage collection, or keeps for another processor, would count as allocated.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r.measure(t)
	costs := map[string]uint64{}
	for range budgetRounds {
		for what, n := range r.measure(t) {
			if old, ok := costs[what]; ok {
				n = min(n, old)
			}
			costs[what] = n
		}
	}
	return costs
}

// measure does the run once and counts.
func (r *budgetRun) measure(t *testing.T) map[string]uint64 {
	t.Helper()
	c := fixture.Get(t, r.name)
	core := c.Core(t)
	opts := caseOptions(t, c)
	if r.shared {
		cache := corewalk.NewCache(t.Context(), 0, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(t.TempDir()))
		defer cache.Close()
		opts = []corewalk.Option{corewalk.WithExecutable(c.Binary(t)), corewalk.WithCache(cache)}
		r.run(t, core, opts).Close()
	}
	warm(t, core, c.Binary(t))
	costs := map[string]uint64{}
	before := mappedPages()
	resetDWARF()
	var target *corewalk.Target
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	n, counted := instructions(func() { target = r.run(t, core, opts) })
	runtime.ReadMemStats(&m1)
	defer target.Close()
	if n, ok := touchedDWARF(); ok { // counting these costs much itself
		return map[string]uint64{measureDWARF: n}
	}
	if counted {
		costs[measureInstrs] = n
	}
	costs[measureAllocs], costs[measureBytes] = m1.Mallocs-m0.Mallocs, m1.TotalAlloc-m0.TotalAlloc
	costs[measurePages] = mappedPages() - before
	costs[measureEntries] = uint64(target.SymbolLookup().(*symlookup.Lookup).Work())
	return costs
}

func (r *budgetRun) run(t *testing.T, core string, opts []corewalk.Option) *corewalk.Target {
	target, err := corewalk.Open(context.Background(), core, opts...)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	rep, err := target.AnalyzeWith(context.Background(), r.how, r.options)
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	if text, ok := r.options.For.(report.TextOptions); ok {
		err = report.WriteText(io.Discard, rep, text)
	} else {
		err = report.WriteJSON(io.Discard, rep)
	}
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	return target
}

// warm reads files, so that the system has all their pages and maps the neighbours of those that are touched.
func warm(t *testing.T, paths ...string) {
	for _, path := range paths {
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
}

// mappedPages is how many pages of mapped files this process has in memory.
func mappedPages() (pages uint64) {
	text, _ := os.ReadFile("/proc/self/smaps")
	ofFile := false
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			ofFile = len(fields) > 5 && filepath.IsAbs(fields[5])
		case ofFile && len(fields) == 3 && fields[0] == "Rss:":
			kb, _ := strconv.ParseUint(fields[1], 10, 64)
			pages += kb * 1024 / uint64(os.Getpagesize())
		}
	}
	return pages
}

func readBudgets(path string) (map[string]uint64, error) {
	budgets := map[string]uint64{}
	text, err := os.ReadFile(path)
	if err != nil {
		return budgets, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseUint(line[at+1:], 10, 64)
		if at < 0 || err != nil {
			return nil, fmt.Errorf("%s: %q is not a run, a measure and a number", path, line)
		}
		budgets[line[:at]] = n
	}
	return budgets, nil
}

func writeBudgets(path string, budgets map[string]uint64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "# What the runs of TestBudgets may cost, by go test ./internal/systemtest -run '^TestBudgets$' -update")
	for _, key := range slices.Sorted(maps.Keys(budgets)) {
		fmt.Fprintf(w, "%s %d\n", key, budgets[key])
	}
	return errors.Join(w.Flush(), f.Close())
}
