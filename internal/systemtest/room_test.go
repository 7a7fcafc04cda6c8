package systemtest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A name that a program has once, and its values a hundred thousand times, does not make gigabytes of a report: each value has it once, and all
// values have room in proportion to the dump. What was left out is said.
func TestPageOfTypes(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 40_000)
	exe := fixture.Compile(t, "gcc", "hostile/types.c", "-g", "-DNAME="+name)
	core := fixture.Crash(t, nil, exe)
	target, err := corewalk.Open(context.Background(), core, corewalk.WithExecutable(exe), corewalk.WithDebugDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for _, unlimited := range []bool{false, true} {
		r, err := target.AnalyzeWith(context.Background(), corewalk.FactsOptions{Unlimited: unlimited}, corewalk.AnalyzeOptions{For: report.Whole{Trees: true}})
		if err != nil {
			t.Fatal(err)
		}
		var js, text bytes.Buffer
		if err := report.WriteJSON(&js, r); err != nil {
			t.Fatal(err)
		}
		if err := report.WriteText(&text, r, report.TextOptions{Wide: true}); err != nil {
			t.Fatal(err)
		}
		if !unlimited && js.Len() > 48<<20 || js.Len() > 100<<20 || text.Len() > 16<<20 {
			t.Errorf("%d bytes of JSON, %d of text", js.Len(), text.Len())
		}
		vars := r.Threads[0].Frames[0].Locals
		if len(vars) == 0 || vars[0].Data == nil || len(vars[0].Data.Children) < 1000 {
			t.Fatalf("%d variables, the first without its members", len(vars))
		}
		if typ := vars[0].Type; len(typ) > 4096 || !strings.HasSuffix(typ, "nnn...") {
			t.Errorf("a type of %d bytes: ...%s", len(typ), typ[max(0, len(typ)-8):])
		}
		said := slices.ContainsFunc(r.Warnings, func(w report.Warning) bool {
			return w.Code == report.WarnLimit && strings.Contains(w.Message, "larger than its dump explains")
		})
		if said == unlimited || said == (len(vars) == 100) {
			t.Errorf("unlimited %v: %d of 100 variables, warnings %v", unlimited, len(vars), r.Warnings)
		}
	}
}
