package analysis

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// A report of memory says of which modules there is no file, the program first, and says nothing of that where all are there.
func TestMemoryWithoutFiles(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	for _, there := range []bool{true, false} {
		p := o.crash(t, false, false).Parts
		if !there {
			p.Files = nil
		}
		c := &census{Engine: NewEngine(p), out: &report.Memory{}}
		c.withoutFiles()
		switch w := c.out.Warnings; {
		case there && len(w) != 0:
			t.Error(w)
		case !there && (len(w) != 1 || w[0].Code != report.WarnObjects || !strings.HasPrefix(w[0].Message, "no file found of pack and 2 other modules: ")):
			t.Error(w)
		}
	}
}
