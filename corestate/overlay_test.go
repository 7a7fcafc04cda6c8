package corestate

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// libxProgs are a library's segments: headers, code, constants, and data whose
// first page is PT_GNU_RELRO.
var libxProgs = []elffile.Prog{
	{Type: elffile.PT_LOAD, Flags: rFlag, Off: 0, Vaddr: 0, Filesz: 0x1000, Memsz: 0x1000},
	{Type: elffile.PT_LOAD, Flags: rxFlag, Off: 0x1000, Vaddr: 0x1000, Filesz: 0x1800, Memsz: 0x1800},
	{Type: elffile.PT_LOAD, Flags: rFlag, Off: 0x3000, Vaddr: 0x3000, Filesz: 0x1000, Memsz: 0x1000},
	{Type: elffile.PT_LOAD, Flags: rwFlag, Off: 0x4000, Vaddr: 0x5000, Filesz: 0x2000, Memsz: 0x2000},
	{Type: elffile.PT_GNU_RELRO, Flags: rFlag, Off: 0x4000, Vaddr: 0x5000, Filesz: 0x1000, Memsz: 0x1000},
}

// libxFile is the library's file: byte i of page n is n+1, but for the headers.
func libxFile(t *testing.T, progs []elffile.Prog) *elffile.File {
	t.Helper()
	var data []byte
	for page := range 6 {
		data = append(data, bytes.Repeat([]byte{byte(page + 1)}, 0x1000)...)
	}
	copy(data, corebuild.Lib(progs...).Bytes())
	f, err := elffile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const libxAt = 0x7f00_0000_0000

// libxCore is a core that holds the library's first page only; the page of RELRO
// was left out, too, and is not writable by the time of the dump.
func libxCore(named bool) *corebuild.Core {
	b := threaded()
	if named {
		b.Files(
			corebuild.Mapping{Start: libxAt, End: libxAt + 0x1000, Offset: 0, Path: "/lib/libx.so"},
			corebuild.Mapping{Start: libxAt + 0x1000, End: libxAt + 0x3000, Offset: 0x1000, Path: "/lib/libx.so"},
			corebuild.Mapping{Start: libxAt + 0x3000, End: libxAt + 0x4000, Offset: 0x3000, Path: "/lib/libx.so"},
			corebuild.Mapping{Start: libxAt + 0x5000, End: libxAt + 0x6000, Offset: 0x4000, Path: "/lib/libx.so"},
			corebuild.Mapping{Start: libxAt + 0x6000, End: libxAt + 0x7000, Offset: 0x5000, Path: "/lib/libx.so"},
		)
	}
	page := append(corebuild.Lib(libxProgs...).Bytes(), make([]byte, 0x1000)...)[:0x1000]
	b.Load(libxAt, rFlag, 0x1000, page)
	b.Load(libxAt+0x1000, rxFlag, 0x2000, []byte{0xcc}) // a breakpoint at its first byte
	b.Load(libxAt+0x3000, rFlag, 0x1000, nil)
	b.Load(libxAt+0x5000, rFlag, 0x1000, nil)
	b.Load(libxAt+0x6000, rwFlag, 0x1000, nil)
	return b
}

func TestFilesStandInForOmittedPages(t *testing.T) {
	for _, named := range []bool{true, false} {
		c := open(t, libxCore(named))
		c.BuildLibraries(nil)
		asked := 0
		f := libxFile(t, libxProgs)
		c.SetBacking(elfOf(func(l *libstate.Library) *elffile.File { asked++; return f }))
		tail := byte(3) // past the segment's end, in its last page
		tailErr := error(nil)
		if !named { // nothing says what of the file is mapped there
			tail, tailErr = 0, arch.ErrNotInDump
		}
		for _, tt := range []struct {
			name string
			off  uint64
			want byte
			err  error
		}{
			{"in the dump", 0, 0x7f, nil},
			{"in the dump, not as in the file", 0x1000, 0xcc, nil},
			{"code", 0x1001, 2, nil},
			{"code's end", 0x27ff, 3, nil},
			{"behind the code", 0x2800, tail, tailErr},
			{"constants", 0x3000, 4, nil},
			{"in no mapping", 0x4000, 0, arch.ErrUnmapped},
			{"RELRO", 0x5000, 0, arch.ErrNotInDump},
			{"RELRO's end", 0x5fff, 0, arch.ErrNotInDump},
			{"data", 0x6000, 0, arch.ErrNotInDump},
		} {
			var buf [1]byte
			_, err := c.ReadMem(libxAt+tt.off, buf[:])
			if !errors.Is(err, tt.err) || buf[0] != tt.want {
				t.Errorf("named %v, %s: %#x, %v; want %#x, %v", named, tt.name, buf[0], err, tt.want, tt.err)
			}
		}
		if asked != 1 {
			t.Errorf("asked for the file %d times", asked)
		}
		if v, err := c.ReadWord(libxAt + 0x1001); v != 0x0202020202020202 || err != nil {
			t.Errorf("ReadWord: %#x, %v", v, err)
		}
		if n := testing.AllocsPerRun(100, func() { c.ReadWord(libxAt + 0x1100) }); n != 0 {
			t.Errorf("ReadWord of a file's bytes allocates %v times", n)
		}
		if _, err := c.DumpMemory().ReadWord(libxAt + 0x1100); !errors.Is(err, arch.ErrNotInDump) {
			t.Errorf("DumpMemory: %v", err)
		}
		buf := make([]byte, 0x3000)
		if n, err := c.ReadMem(libxAt+0x1000, buf[:0x1800]); n != 0x1800 || err != nil || buf[0] != 0xcc || buf[1] != 2 || buf[0x17ff] != 3 {
			t.Errorf("a read over the dump's and the file's bytes: %d, %v", n, err)
		}
		c.SetBacking(nil)
		if _, err := c.ReadWord(libxAt + 0x1001); !errors.Is(err, arch.ErrNotInDump) {
			t.Errorf("without files: %v", err)
		}
	}
}

func TestFilesThatMustNotStandIn(t *testing.T) {
	textRel := slices.Clone(libxProgs)
	textRel = append(textRel, elffile.Prog{Type: elffile.PT_DYNAMIC, Off: 0x4000, Vaddr: 0x5000, Filesz: 0x20, Memsz: 0x20})
	withTextRel := libxFile(t, textRel)
	copy(withTextRel.Data[0x4000:], []byte{22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	writable := slices.Clone(libxProgs)
	writable[1].Flags |= elffile.PF_W
	moved := slices.Clone(libxProgs)
	moved[1].Off, moved[1].Vaddr = 0x1000, 0x9000
	for name, f := range map[string]*elffile.File{
		"no file":             nil,
		"text relocations":    withTextRel,
		"writable code":       libxFile(t, writable),
		"code elsewhere":      libxFile(t, moved),
		"cut before the code": func() *elffile.File { f := libxFile(t, libxProgs); f.Data = f.Data[:0x1000]; return f }(),
	} {
		c := open(t, libxCore(true))
		c.BuildLibraries(nil)
		c.SetBacking(elfOf(func(*libstate.Library) *elffile.File { return f }))
		if v, err := c.ReadWord(libxAt + 0x1100); !errors.Is(err, arch.ErrNotInDump) {
			t.Errorf("%s: %#x, %v", name, v, err)
		}
	}
}

// gcore writes no segment at all for code that it thinks the file has.
func TestFilesStandInForMissingSegments(t *testing.T) {
	b := threaded()
	b.Files(
		corebuild.Mapping{Start: libxAt, End: libxAt + 0x1000, Offset: 0, Path: "/lib/libx.so"},
		corebuild.Mapping{Start: libxAt + 0x1000, End: libxAt + 0x3000, Offset: 0x1000, Path: "/lib/libx.so"},
		corebuild.Mapping{Start: libxAt + 0x5000, End: libxAt + 0x7000, Offset: 0x4000, Path: "/lib/libx.so"},
	)
	page := append(corebuild.Lib(libxProgs...).Bytes(), make([]byte, 0x1000)...)[:0x1000]
	b.Load(libxAt, rFlag, 0x1000, page)
	c := open(t, b)
	if m, ok := c.MappingAt(libxAt + 0x5100); !ok || m.Perm != libstate.Unknown|libstate.Read|libstate.Exec {
		t.Errorf("before the libraries are known: %+v, %v", m, ok)
	}
	table, warnings := c.BuildLibraries(nil)
	for off, want := range map[uint64]libstate.Perm{
		0x100: libstate.Read, 0x1100: libstate.Read | libstate.Exec, 0x5100: libstate.Read | libstate.Write,
	} {
		if m, ok := c.MappingAt(libxAt + off); !ok || m.Perm != want {
			t.Errorf("MappingAt(+%#x): %v, %v; want %v", off, m.Perm, ok, want)
		}
	}
	l, ok := table.LibraryAt(libxAt + 0x1100)
	if !ok || len(warnings) > 0 || !l.Contains(libxAt+0x1100) {
		t.Fatalf("library %v, warnings %q", l, warnings)
	}
	for i, want := range []libstate.Perm{libstate.Read, libstate.Read | libstate.Exec, libstate.Read | libstate.Write} {
		if l.Mappings[i].Perm != want {
			t.Errorf("mapping %d: %v, want %v", i, l.Mappings[i].Perm, want)
		}
	}
	f := libxFile(t, libxProgs)
	c.SetBacking(elfOf(func(*libstate.Library) *elffile.File { return f }))
	if v, err := c.ReadWord(libxAt + 0x1100); v != 0x0202020202020202 || err != nil {
		t.Errorf("code: %#x, %v", v, err)
	}
	if v, err := c.ReadWord(libxAt + 0x6000); !errors.Is(err, arch.ErrNotInDump) {
		t.Errorf("data: %#x, %v", v, err)
	}
}

// TestRelroSharesPages: what lies on a page with relocated bytes is left alone, before
// and behind them; the pages beside are not.
func TestRelroSharesPages(t *testing.T) {
	progs := slices.Clone(libxProgs)
	progs[3].Flags = rFlag // nothing else says that it is written
	progs[4].Vaddr, progs[4].Memsz, progs[4].Filesz = 0x5800, 0x400, 0x400
	b := threaded()
	b.Files(
		corebuild.Mapping{Start: libxAt, End: libxAt + 0x1000, Offset: 0, Path: "/lib/libx.so"},
		corebuild.Mapping{Start: libxAt + 0x1000, End: libxAt + 0x3000, Offset: 0x1000, Path: "/lib/libx.so"},
		corebuild.Mapping{Start: libxAt + 0x3000, End: libxAt + 0x4000, Offset: 0x3000, Path: "/lib/libx.so"},
		corebuild.Mapping{Start: libxAt + 0x5000, End: libxAt + 0x7000, Offset: 0x4000, Path: "/lib/libx.so"},
	)
	page := append(corebuild.Lib(progs...).Bytes(), make([]byte, 0x1000)...)[:0x1000]
	b.Load(libxAt, rFlag, 0x1000, page)
	b.Load(libxAt+0x1000, rxFlag, 0x2000, nil)
	b.Load(libxAt+0x3000, rFlag, 0x1000, nil)
	b.Load(libxAt+0x5000, rFlag, 0x2000, nil)
	c := open(t, b)
	c.BuildLibraries(nil)
	f := libxFile(t, progs)
	c.SetBacking(elfOf(func(*libstate.Library) *elffile.File { return f }))
	for off, given := range map[uint64]bool{
		0x3000: true, 0x3ff8: true, 0x5000: false, 0x57f8: false, 0x5800: false, 0x5bf8: false, 0x5c00: false, 0x5ff8: false, 0x6000: true, 0x6ff8: true,
	} {
		if v, err := c.ReadWord(libxAt + off); (err == nil) != given || !given && !errors.Is(err, arch.ErrNotInDump) {
			t.Errorf("+%#x: %#x, %v; given by the file: want %v", off, v, err, given)
		}
	}
}
