//go:build unix

package objects

import (
	"os"
	"syscall"
	"testing"
)

// blocks returns how many bytes a file takes, and whether that is known.
func blocks(t *testing.T, path string) (int64, bool) {
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int64(s.Blocks) * 512, true
}
