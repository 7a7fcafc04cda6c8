package systemtest

import (
	"strings"
	"testing"
)

// A null is followed through a loop that cannot have made it; what the loop may have made is not.
func TestNullsOfLoops(t *testing.T) {
	t.Parallel()
	causesOf(t, "nulls.c", []string{"gcc", "clang"}, "wlesdct", func(t *testing.T, way byte, build, cause string) {
		from := map[byte]string{'w': "g->title", 'l': "g->first", 'e': "g->note", 'c': "g->title", 't': "g->first"}[way]
		ok := strings.Contains(cause, from)
		switch read := strings.HasSuffix(build, "-O0"); { // which reads again what it has compared
		case way == 'c':
			ok = ok == strings.HasSuffix(cause, "[likely]") && strings.Contains(cause, "by peeking")
		case way == 't' && read:
			ok = ok && strings.HasSuffix(cause, "[likely]")
		case way == 'l' && read:
			ok = ok && strings.HasSuffix(cause, "[certain]")
		}
		if way == 's' || way == 'd' {
			ok = !strings.Contains(cause, "g->first") && !strings.Contains(cause, "passed by")
		}
		if !ok {
			t.Errorf("%s, %c: %s", build, way, cause)
		}
	})
}
