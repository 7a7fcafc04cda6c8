package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// everyFormat is a seed with which a service writes all that it can: what is known before the analysis, and the report in each format.
const everyFormat = 27

// explained is a seed with which a report says how frames were found.
const explained = 3

// What hostile authors write costs no more memory than is allowed, and where it asks for too much work, the report
// says that it ended early.
func TestMade(t *testing.T) {
	// What shows that the hostile list was gone through.
	evidence := map[string]string{"long link map": "has more than", "link maps of namespaces over one another": "using the headers", "link map in a cycle": "has a loop",
		"long JIT list": "more than 65536 entries", "JIT list in a cycle": "is listed twice",
		"goroutines: all are in one page": "not all goroutines are listed", "goroutines: all are in one page, explained": "frames it is not said how",
		"goroutines: all lie over one another, with other numbers": "not all goroutines are listed"}
	// What is allocated once, and not again for each frame, would be far more.
	most := map[string]uint64{"frame pointers in long functions without tables": 400 << 20}
	// Of "values on entry" only how frames were found is left out.
	limited := []string{"expressions that call themselves", "expressions that loop", "long name of a function", "long name of a function without tables", "long names", "long unwind program", "many rows", "inlined calls of frames", "locals of frames", "unwind expression that loops",
		"variables of frames", "values on entry", "wide structure", "Go program with long tables", "Go errors that are their own members", "Go interfaces of types that nobody knows", "Go interfaces whose itabs are their own types", "Go program whose tables are one",
		"abbreviations over one another", "aranges over one another", "array of a wide enumeration", "arrays of nothing",
		"augmentations without an end", "file names of attributes without bytes", "files in one long directory", "frame pointers in long functions without tables",
		"files of one long name", "frames of one long CIE", "frames of which each has a long CIE", "function under others",
		"implicit pointers in a circle", "line program of instructions without rows", "line tables over one another",
		"lines that go back", "location list of all variables", "parameters of call sites", "pieces of variables", "threads of one stack",
		"ranges of all units", "type units of one signature", "unit under the ranges of another", "variants of one variable"}
	for _, b := range madeBases() {
		t.Run(b.name, func(t *testing.T) {
			fixture.LongPart(t)
			r, err := b.ready(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { r.close() }()
			took := time.Duration(math.MaxInt64)
			for tries := 0; tries < 2 && took > limitTime; tries++ { // what runs beside it may slow it down once
				before, cpu := allocated(), processorTime()
				written.Store(0)
				if err := r.run(nil, rand.New(rand.NewPCG(everyFormat, 0))); err != nil {
					t.Fatal(err)
				}
				if n := allocated() - before; n > cmp.Or(most[b.name], limitAllocs) {
					t.Errorf("allocated %d MB", n>>20)
				}
				took = min(took, processorTime()-cpu)
			}
			if took > limitTime {
				t.Errorf("took %v of processor time", took)
			}
			if n := written.Load(); n > limitOutput {
				t.Errorf("wrote %d MB", n>>20)
			}
			if r.last != nil {
				t.Logf("%v, %d threads, %d tasks, %d MB written", took, len(r.last.Threads), len(r.last.Tasks), written.Load()>>20)
			}
			if text := evidence[b.name]; text != "" && (r.last == nil || !slices.ContainsFunc(r.last.Warnings, func(w report.Warning) bool { return strings.Contains(w.Message, text) })) {
				t.Errorf("no warning that %q", text)
			}
			if strings.HasPrefix(b.name, "minidump threads of one") && strings.HasSuffix(b.name, "stack") && !slices.ContainsFunc(r.last.Warnings, func(w report.Warning) bool { return w.Code == report.WarnLimit }) {
				t.Error("not ended early")
			}
			if madeDumps[b.name] != nil {
				return
			}
			if kind, _, ok := strings.Cut(b.name, ": "); ok && kind != "sym" {
				if r.last == nil || len(r.last.Threads) == 0 || len(r.last.Threads[0].Frames) == 0 { // its budget may end before others are walked
					t.Error("no stacks")
				}
				return
			}
			if strings.HasPrefix(b.name, "sym: ") {
				if r.last == nil || len(r.last.Threads) == 0 || len(r.last.Threads[0].Frames) < 20 {
					t.Error("no stack")
				}
				return
			}
			// What uses up its budget does so where everything is explained.
			r.close()
			if r, err = b.ready(t.TempDir()); err == nil {
				err = r.run(nil, rand.New(rand.NewPCG(explained, 0)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.last == nil || len(r.last.Threads) != 1 && b.name != "threads of one stack" || len(r.last.Threads[0].Frames) == 0 {
				t.Fatal("no stack")
			}
			ended := slices.ContainsFunc(r.last.Warnings, func(w report.Warning) bool { return w.Code == report.WarnLimit })
			if ended != slices.Contains(limited, b.name) {
				t.Errorf("ended early: %t", ended)
			}
		})
	}
}
