package service

import (
	"strings"
	"testing"
)

// What is stored below a directory is told by the path at which it was sent.
func TestSymbolPath(t *testing.T) {
	for _, p := range []string{"buildid/abcdef/debuginfo", "buildid/abcdef/executable", "app.pdb/AB12/app.pdb"} {
		key, err := symbolKey("a", p)
		if got := symbolPath(strings.TrimPrefix(key, symbolsDir("a")+"/")); err != nil || got != p {
			t.Errorf("%s is stored at %s, that is told as %s", p, key, got)
		}
	}
}
