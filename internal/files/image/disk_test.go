package image

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// packedFile returns a file with compressed sections that has not changed for long enough.
func packedFile(t *testing.T) string {
	t.Helper()
	file, _ := fixture.PackDebug(t, fixture.Get(t, "amd64-vars-cxx-O2").Binary(t))
	path := fixture.Keep(t, "packed", file)
	fixture.Settle(t, path)
	return path
}

// settled returns a copy of a fixture's program that is old enough for something of it to be kept.
func settled(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(fixture.Get(t, name).Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	path := fixture.Keep(t, "program", data)
	fixture.Settle(t, path)
	return path
}

// with opens a file with a room, and closes it.
func with(t *testing.T, room *kept.Room, path string, use func(im *Image)) {
	t.Helper()
	c := NewCache(find.New(context.Background(), find.Options{DebugDirs: []string{t.TempDir()}}))
	c.Kept = room
	im, err := c.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	use(im)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// decompressed says how much of the sections of an image was decompressed, in bytes.
func decompressed(im *Image) (n uint64) {
	for _, s := range im.disk.sections {
		if l := s.lazy.Load(); l != nil {
			n += l.Filled()
		}
	}
	return n
}

func eachPacked(im *Image, do func(s *elffile.Section)) {
	for i := range im.elf.Sections() {
		if s := &im.elf.Sections()[i]; s.Flags&elffile.SHF_COMPRESSED != 0 && len(im.elf.Data) > 0 {
			do(s)
		}
	}
}

// TestKeptSections: what one run decompressed the next one finds, and more of it is right, too.
func TestKeptSections(t *testing.T) {
	path := packedFile(t)
	room := kept.New(filepath.Join(t.TempDir(), "kept"), 1<<30)
	want := map[string][]byte{}
	with(t, nil, path, func(im *Image) {
		eachPacked(im, func(s *elffile.Section) {
			data, err := im.elf.SectionData(s)
			if err != nil {
				t.Fatal(err)
			}
			want[s.Name()] = bytes.Clone(data)
		})
	})
	if len(want) == 0 {
		t.Fatal("no compressed section")
	}
	// More of each section is needed from run to run; the last two need all.
	for run, part := range []int{2, 2, 1, 1} {
		with(t, room, path, func(im *Image) {
			eachPacked(im, func(s *elffile.Section) {
				data, need, err := im.elf.LazySection(s)
				if err != nil {
					t.Fatal(err)
				}
				whole := want[s.Name()]
				half := uint64(len(whole) / 2)
				if err := need(half, half+uint64(len(whole)/2/part)); err != nil {
					t.Fatal(err)
				}
				if end := half + uint64(len(whole)/2/part); !bytes.Equal(data[half:end], whole[half:end]) {
					t.Errorf("run %d: %s is wrong", run, s.Name())
				}
			})
			if n := decompressed(im); (n == 0) != (run == 1 || run == 3) {
				t.Errorf("run %d: %d bytes decompressed", run, n)
			}
		})
	}
	// A run that needs nothing new writes nothing.
	before, _ := room.List()
	with(t, room, path, func(im *Image) { im.DWARF() })
	if after, _ := room.List(); len(before) != 1 || len(after) != 1 || before[0].Size != after[0].Size {
		t.Errorf("entries %+v, then %+v", before, after)
	}
}

// TestKeptIndexes: a later run finds the indexes of symbols that an earlier one made, and makes them again if they are damaged.
func TestKeptIndexes(t *testing.T) {
	path := settled(t, "amd64-vars-libcxx")
	dir := filepath.Join(t.TempDir(), "kept")
	run := func(limit int64) (name string, stored int) {
		with(t, kept.New(dir, limit), path, func(im *Image) {
			for range 2 {
				s, ok := im.SymbolByName("main")
				if at, found := im.SymbolAt(s.Value); !ok || !found || at.Name() != "main" {
					t.Errorf("%v %q %v", ok, at.Name(), found)
				}
				name = s.Name()
			}
			im.elf.Storable(func(elffile.Index, *elffile.Section, []byte) { stored++ })
		})
		return name, stored
	}
	for i, want := range []int{2, 2, 0} {
		if _, stored := run([]int64{0, 1 << 30, 0}[i]); stored != want {
			t.Errorf("run %d: %d indexes are new, want %d", i, stored, want)
		}
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(entries) != 1 {
		t.Fatal(entries)
	}
	bad, _ := os.ReadFile(entries[0])
	bad[len(bad)-1] ^= 1
	os.WriteFile(entries[0], bad, 0o600)
	for i, want := range []int{1, 0} {
		if _, stored := run(1 << 30); stored != want {
			t.Errorf("damaged, run %d: %d indexes are new, want %d", i, stored, want)
		}
	}
}

// TestKeptUnits: a later run finds the index of units that an earlier one made, and makes it again if it is damaged. That of a file
// whose code is elsewhere is another one.
func TestKeptUnits(t *testing.T) {
	path := settled(t, "amd64-cxx-errors")
	dir := filepath.Join(t.TempDir(), "kept")
	var key, moved kept.Key
	run := func() (fresh bool) {
		with(t, kept.New(dir, 1<<30), path, func(im *Image) {
			for _, name := range []string{"main", "_init", "_fini", "_start"} {
				s, _ := im.SymbolByName(name)
				im.DWARF().UnitForPC(s.Value)
			}
			fresh = im.DWARF().UnitIndex() != nil
			key, _ = im.unitsKey(im)
			for i := range im.elf.Progs {
				im.elf.Progs[i].Vaddr += 0x1000
			}
			moved, _ = im.unitsKey(im)
		})
		return fresh
	}
	for i, want := range []bool{true, false} {
		if fresh := run(); fresh != want {
			t.Errorf("run %d: a new index: %v, want %v", i, fresh, want)
		}
	}
	if key == moved || key == (kept.Key{}) {
		t.Errorf("key %+v, %+v where the code is elsewhere", key, moved)
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(entries) == 0 {
		t.Fatal("nothing is kept")
	}
	for _, e := range entries {
		bad, _ := os.ReadFile(e)
		bad[len(bad)-1] ^= 1
		os.WriteFile(e, bad, 0o600)
	}
	for i, want := range []bool{true, false} {
		if fresh := run(); fresh != want {
			t.Errorf("damaged, run %d: a new index: %v, want %v", i, fresh, want)
		}
	}
}
