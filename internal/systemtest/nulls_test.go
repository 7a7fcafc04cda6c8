package systemtest

import (
	"strings"
	"testing"
)

// A null is followed through a loop that cannot have made it; what the loop may have made is not.
func TestNullsOfLoops(t *testing.T) {
	t.Parallel()
	causesOf(t, "nulls.c", []string{"gcc", "clang"}, "wlesd", func(t *testing.T, way byte, build, cause string) {
		from := map[byte]string{'w': "g->title", 'l': "g->first", 'e': "g->note"}[way]
		ok := strings.Contains(cause, from)
		if way == 's' || way == 'd' {
			ok = !strings.Contains(cause, "g->first") && !strings.Contains(cause, "passed by")
		}
		if !ok {
			t.Errorf("%s, %c: %s", build, way, cause)
		}
	})
}
