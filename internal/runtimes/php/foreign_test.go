package php_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestForeign: the place of a function of the C library that the program called by FFI, to end or by mistake, is the program's call.
func TestForeign(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs PHP")
	}
	for _, p := range interpreters.All(t) {
		for how, line := range map[string]int{"abort": 8, "raise": 10, "kill": 12, "strlen": 14} {
			t.Run(p.Version+"/"+how, func(t *testing.T) {
				dir := p.Dir(t, "foreign.php")
				out, _ := p.Command(dir, "-d", "ffi.enable=1", "foreign.php", how).CombinedOutput()
				if strings.Contains(string(out), `Class "FFI" not found`) || strings.Contains(string(out), "Class 'FFI' not found") {
					t.Skip("this PHP has no FFI")
				}
				r := p.Analyze(t, fixture.CoreIn(t, dir), corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone})
				if f := r.Threads[0].Frames[*r.Crash.Frame]; f.Function != "Bank->pays" || filepath.Base(f.Source.File) != "foreign.php" || f.Source.Line != line {
					t.Errorf("the report points to %s at %s:%d, not to line %d", f.Function, f.Source.File, f.Source.Line, line)
				}
			})
		}
	}
}
