package image_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// TestNoSize: a local function without a size names its own code, and not what follows it.
func TestNoSize(t *testing.T) {
	data, err := os.ReadFile(fixture.Get(t, "amd64-haskell-safe").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := f.SymTab()
	if err != nil {
		t.Fatal(err)
	}
	dummy, ok := tab.ByName("frame_dummy")
	if !ok || dummy.Size != 0 {
		t.Fatal("there is no frame_dummy without a size")
	}
	text, symtab := f.Section(".text"), f.Section(".symtab")
	code, entry := text.Off+dummy.Value-text.Addr, symtab.Off+24*uint64(dummy.Index)
	const local, global = elffile.STB_LOCAL<<4 | elffile.STT_FUNC, elffile.STB_GLOBAL<<4 | elffile.STT_FUNC
	for name, c := range map[string]struct {
		code string
		info byte
		size uint64
		ends uint64 // where its names end; 0 if not before the next symbol
	}{
		"jumps elsewhere":          {"\xf3\x0f\x1e\xfa\xeb\x80\x90\x90", local, 0, 6},
		"returns":                  {"\x90\xc3\x90\x90", local, 0, 2},
		"traps":                    {"\x0f\x0b\x90\x90", local, 0, 2},
		"goes on behind":           {"\x74\x02\xc3\xc3\x90\xc3", local, 0, 6},
		"goes on behind its jump":  {"\xeb\x01\xc3\x90\xc3", local, 0, 5},
		"a table":                  {"\xff\xe0\xc3\xc3", local, 0, 0},
		"what is no instruction":   {"\x06\xc3\xc3", local, 0, 0},
		"of other files":           {"\xc3\x90\x90", global, 0, 0},
		"an object":                {"\xc3\x90\x90", elffile.STB_LOCAL<<4 | elffile.STT_OBJECT, 0, 0},
		"of a size":                {"\xc3\x90\x90", local, 16, 0},
		"without an end, far away": {"", local, 0, 0},
	} {
		changed := append([]byte(nil), data...)
		for i := range uint64(16) {
			changed[code+i] = 0x90
		}
		copy(changed[code:], c.code)
		changed[entry+4] = c.info
		binary.LittleEndian.PutUint64(changed[entry+16:], c.size)
		im := open(t, write(t, filepath.Join(t.TempDir(), "program"), changed), t.TempDir())
		for off := uint64(0); off < 16; off++ {
			s, ok := im.SymbolAt(dummy.Value + off)
			if want := c.ends == 0 || off < c.ends; (ok && s.Name() == "frame_dummy") != want {
				t.Errorf("%s: at %d %q", name, off, s.Name())
			}
		}
	}
}
