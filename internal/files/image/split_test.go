package image

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// Split debug information is taken by its id. A unit without one, which a stranger's
// program may have, would take any other file without one.
func TestSplitNeedsID(t *testing.T) {
	c := fixture.Get(t, "amd64-split-dwarf")
	dir := t.TempDir()
	var id uint64
	for _, zero := range []bool{false, true} {
		for _, name := range []string{"pack", "pack.dwo"} {
			data, err := os.ReadFile(filepath.Join(c.Dir, name))
			if err == nil && zero {
				data = bytes.ReplaceAll(data, binary.LittleEndian.AppendUint64(nil, id), make([]byte, 8))
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cache := NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{}}))
		defer cache.Close()
		im, err := cache.Open(filepath.Join(dir, "pack"))
		if err != nil {
			t.Fatal(err)
		}
		err = im.DWARF().Units(func(u *dwarf.Unit) bool {
			if _, ok := u.Skeleton(); !ok {
				return true
			}
			if d, err := im.findSplit(u); err != nil || (d == nil) != zero || (u.ID == 0) != zero {
				t.Errorf("id %#x: found %v, %v", u.ID, d != nil, err)
			}
			id = u.ID
			return false
		})
		if err != nil || !zero && id == 0 {
			t.Fatalf("no split unit: %v", err)
		}
	}
}
