package livestate

import (
	"testing"
	"time"
)

func TestActivity(t *testing.T) {
	for stat, want := range map[string]struct {
		a    Activity
		word string
		ok   bool
	}{
		"42 (a) R b) S 1 42 42 0 -1 4194304 1 2 3 4 150 25 0 0 20": {Activity{'S', 1750 * time.Millisecond}, "sleeping", true},
		"42 (x) R 1 2": {Activity{'R', 0}, "running", true},
		"42 (x) t 1 42 42 0 -1 4194304 1 2 3 4 1 junk 0":                  {Activity{'t', 10 * time.Millisecond}, "", true},
		"42 (x) D 1 42 42 0 -1 4194304 1 2 3 4 999999999999999999999 0 0": {Activity{'D', 0}, "uninterruptible", true},
		"42 (x)": {Activity{}, "", false},
		"":       {Activity{}, "", false},
	} {
		if a, ok := parseActivity([]byte(stat)); a != want.a || ok != want.ok || a.Word() != want.word {
			t.Errorf("%s: %+v %q, %v", stat, a, a.Word(), ok)
		}
	}
}
