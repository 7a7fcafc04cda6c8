package command

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/serving"
)

// Both programs say who they are, and a page says neither.
func TestSaid(t *testing.T) {
	for name, fleet := range map[string]*serving.Fleet{"corewalk": nil, "corewalkd": {}} {
		var out strings.Builder
		e := env{stderr: &out, fleet: fleet}
		if e.usageError("a: b"); out.String() != name+": a: b ("+name+" --help shows how)\n" {
			t.Errorf("%q", out.String())
		}
		if got := firstSaid(out.String() + "more\n"); got != "a: b ("+name+" --help shows how)" {
			t.Errorf("%q", got)
		}
	}
	for _, line := range []string{"", "panic: x", "no colon"} {
		if got := firstSaid(line + "\nmore"); got != line {
			t.Errorf("%q", got)
		}
	}
}
