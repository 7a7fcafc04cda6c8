package triage

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

// A file's hash is that of its bytes, wherever it has holes.
func TestHashHoles(t *testing.T) {
	for name, at := range map[string][]int64{
		"empty": {}, "data": {0}, "hole": {0, 1 << 20}, "hole at the start": {1 << 20}, "holes": {0, 3 << 20, 3<<20 + 100_000, 5 << 20},
	} {
		for _, tail := range []int64{0, 1 << 20, 77} { // a hole at the end
			path := filepath.Join(t.TempDir(), "dump")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			end := tail
			for _, off := range at {
				if _, err := f.WriteAt(bytes.Repeat([]byte{1, 2, 3}, 5000), off); err != nil {
					t.Fatal(err)
				}
				end = max(end, off+15000+tail)
			}
			if err := f.Truncate(end); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int64{wholeDump, 1 << 20, 100_000, 9} {
				h := sha256.New()
				if err := hashFile(h, f, limit); err != nil {
					t.Error(name, err)
				}
				if want := sha256.Sum256(whole[:min(limit, int64(len(whole)))]); !bytes.Equal(h.Sum(nil), want[:]) {
					t.Errorf("%s, %d bytes after the last data, limit %d: the hash is another", name, tail, limit)
				}
			}
			f.Close()
		}
	}
}
