package systemtest

import (
	"context"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// With symbol files alone, a report whose stacks have all names and reach their bottoms complains of no missing
// file; without the symbol file of one module it complains of that one.
func TestSymbolFilesAlone(t *testing.T) {
	for _, given := range []int{3, 2} {
		d := browserDump{modules: given, threads: 2, depth: 5, funcs: 20}
		_, tree, _ := d.make(t)
		d.modules = 3
		dump, _, _ := d.make(t)
		target, err := corewalk.Open(context.Background(), dump, corewalk.WithSearch(tree))
		if err != nil {
			t.Fatal(err)
		}
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		target.Close()
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := report.WriteText(&text, r, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if whole := given == 3; whole != r.Complete() || whole != (len(r.Warnings) == 0) || strings.Contains(text.String(), "Missing: ") || strings.Contains(text.String(), "module2.dll: no file found") == whole {
			t.Errorf("%d symbol files: complete %v, %+v\n%s", given, r.Complete(), r.Warnings, text.String())
		}
	}
}
