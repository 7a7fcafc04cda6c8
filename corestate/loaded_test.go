package corestate

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/pefile"
)

// compareLoaded holds the bytes of a file that may stand in for memory against the
// dump's own: it returns how many the dump has, and where they differ.
func compareLoaded(m *Minidump, base, size uint64, pe *pefile.File) (compared int, differ []uint64) {
	at := pe.LoadedAt(base)
	for _, s := range minidump.Of(m).Memory.Spans() {
		for addr := max(s.Start, base); addr < min(s.Start+uint64(len(s.Data)), base+size); {
			own, b := minidump.Of(m).Memory.At(addr), at.At(uint32(addr-base))
			n := min(len(own), len(b))
			for i := range n {
				if own[i] != b[i] {
					differ = append(differ, addr-base+uint64(i))
				}
			}
			compared += n
			addr += uint64(max(n, 1))
		}
	}
	return compared, differ
}

// What files say of memory is what the dumps have of it.
func TestLoadedBytesAreTheDumps(t *testing.T) {
	total := 0
	for _, c := range fixture.Minidumps(t) {
		m, err := OpenMinidump(context.Background(), c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, mod := range minidump.Of(m).Modules {
			name := mod.Name()
			for _, dir := range c.Search(t) {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					continue
				}
				pe, err := pefile.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				n, differ := compareLoaded(m, mod.Base, uint64(mod.Size), pe)
				if len(differ) > 0 {
					t.Errorf("%s: %s at %#x differs from the dump at %#x", c.Name, name, mod.Base, differ[:min(len(differ), 8)])
				}
				t.Logf("%s: %s %d", c.Name, name, n)
				total += n
			}
		}
		m.Close()
	}
	if total < 1000 {
		t.Errorf("%d bytes compared", total)
	}
}
