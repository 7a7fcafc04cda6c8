package libraries_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// noMemory has nothing.
type noMemory struct{}

func (noMemory) ReadMem(addr arch.Address, b []byte) (int, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrNotInDump}
}
func (noMemory) ReadWord(addr arch.Address) (uint64, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrNotInDump}
}

func pe(path string, base, size uint64) libraries.Module {
	return libraries.Module{Path: path, Base: base, ID: libstate.ModuleID{Format: libstate.FormatPE, CodeID: path, Size: size}}
}

// listed says what a table knows, in one line for each library.
func listed(t *libstate.Table) string {
	libs, _ := t.Libraries(false)
	var out []string
	for _, l := range libs {
		s := fmt.Sprintf("%s %v bias %#x", l.Path, l.Kind, l.LoadBias)
		if l.BiasGuessed {
			s += "?"
		}
		for _, m := range l.Mappings {
			s += fmt.Sprintf(" %#x-%#x", m.Start, m.End)
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestFromModulesOfWindows(t *testing.T) {
	table, warnings := libraries.FromModules(libraries.Source{Arch: arch.AMD64, Mem: noMemory{}}, []libraries.Module{
		pe("a.exe", 0x140000000, 0x10000),
		pe("outer.dll", 0x1000, 0x9000),
		pe("inner.dll", 0x3000, 0x1000),
		pe("late.dll", 0x9000, 0x3000),
		pe("same.dll", 0x9000, 0x1000),
		pe("end.dll", 0xfffffffffffff000, 0x1000),
	})
	want := "outer.dll library bias 0x1000 0x1000-0x3000 0x4000-0x9000\n" +
		"inner.dll library bias 0x3000 0x3000-0x4000\n" +
		"late.dll library bias 0x9000 0xa000-0xc000\n" +
		"same.dll library bias 0x9000 0x9000-0xa000\n" +
		"a.exe executable bias 0x140000000 0x140000000-0x140010000\n" +
		"end.dll library bias 0xfffffffffffff000 0xfffffffffffff000-0xffffffffffffffff"
	if got := listed(table); got != want || len(warnings) != 0 {
		t.Errorf("got\n%s\nwant\n%s\n%q", got, want, warnings)
	}
	for addr, want := range map[uint64]string{0x1000: "outer.dll", 0x3fff: "inner.dll", 0x4000: "outer.dll", 0x9000: "same.dll", 0xbfff: "late.dll", 0xc000: "", 0x140000123: "a.exe"} {
		got := ""
		if l, ok := table.LibraryAt(addr); ok {
			got = l.Module.CodeID
		}
		if got != want {
			t.Errorf("at %#x: %q, want %q", addr, got, want)
		}
	}
	if l, ok := table.AOut(); !ok || l.Path != "a.exe" {
		t.Errorf("program %v", l)
	}
}

// tiny is an ELF file with code at vaddr and data behind it.
func tiny(t *testing.T, typ uint16, vaddr uint64) *elffile.File {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	w := func(v ...any) {
		for _, x := range v {
			binary.Write(&b, binary.LittleEndian, x)
		}
	}
	w(typ, uint16(62), uint32(1), vaddr, uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(2), uint16(0), uint16(0), uint16(0))
	w(uint32(1), uint32(5), uint64(0), vaddr, vaddr, uint64(0x1000), uint64(0x1000), uint64(0x1000))
	w(uint32(1), uint32(6), uint64(0x1000), vaddr+0x2000, vaddr+0x2000, uint64(0x100), uint64(0x800), uint64(0x1000))
	f, err := elffile.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func elf(path string, base, size uint64, id byte) libraries.Module {
	return libraries.Module{Path: path, Base: base, BuildID: []byte{id}, ID: libstate.ModuleID{CodeID: path, Size: size}}
}

// Without the process's mappings, the list and the files tell.
func TestFromModulesOfLinux(t *testing.T) {
	fixed, pic := tiny(t, elffile.ET_EXEC, 0x400000), tiny(t, elffile.ET_DYN, 0)
	asked := map[string][]byte{}
	link := elf("/lib/link.so", 0x7f0000200000, 0x3000, 4)
	link.Bias, link.HasBias = 0x7f00001ff000, true
	table, _ := libraries.FromModules(libraries.Source{Arch: arch.AMD64, Mem: noMemory{}, Files: elfOf(func(l *libstate.Library) *elffile.File {
		asked[l.Path] = l.BuildID
		switch l.Path {
		case "/bin/a":
			return fixed
		case "/lib/x.so":
			return pic
		}
		return nil
	})}, []libraries.Module{
		elf("/bin/a", 0x400000, 0x3000, 1),
		elf("/lib/x.so", 0x7f0000000000, 0x3000, 2),
		elf("/lib/none.so (deleted)", 0x7f0000100000, 0x3000, 3),
		link,
		elf("linux-gate.so", 0x7fff00000000, 0x1000, 5),
	})
	want := "/bin/a executable bias 0x0 0x400000-0x401000 0x402000-0x403000\n" +
		"/lib/x.so library bias 0x7f0000000000 0x7f0000000000-0x7f0000001000 0x7f0000002000-0x7f0000003000\n" +
		"/lib/none.so library bias 0x7f0000100000? 0x7f0000100000-0x7f0000103000\n" +
		"/lib/link.so library bias 0x7f00001ff000 0x7f0000200000-0x7f0000203000\n" +
		"linux-gate.so vdso bias 0x7fff00000000? 0x7fff00000000-0x7fff00001000"
	if got := listed(table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Files are asked for by their build-id.
	if id := asked["/lib/x.so"]; !bytes.Equal(id, []byte{2}) {
		t.Errorf("asked for %x", id)
	}
	if l, _ := table.LibraryAt(0x7f0000100000); l == nil || !l.Deleted || l.BuildID[0] != 3 {
		t.Errorf("%+v", l)
	}
}

// The segments of a debug file tell code from data where the binary is missing.
func TestSegmentsOfDebugFile(t *testing.T) {
	c := fixture.Get(t, "amd64-debuglink")
	data, err := os.ReadFile(filepath.Join(c.Dir, ".debug", "pack.debug"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elffile.Parse(data)
	if err != nil || !f.DebugOnly() {
		t.Fatal(err, "not a debug file")
	}
	const base = 0x7f0000000000
	table, _ := libraries.FromModules(libraries.Source{Arch: arch.AMD64, Mem: noMemory{}, Files: elfOf(func(*libstate.Library) *elffile.File { return f })},
		[]libraries.Module{elf("/lib/pack.so", base, 0x5000, 1)})
	l, ok := table.LibraryAt(base)
	if !ok {
		t.Fatal("no library")
	}
	code := 0
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD {
			continue
		}
		exec := p.Flags&elffile.PF_X != 0
		if exec {
			code++
		}
		for _, m := range l.Mappings {
			if at := base + p.Vaddr; at >= m.Start && at < m.End && (m.Perm&libstate.Exec != 0) != exec {
				t.Errorf("%#x: %v, not as its segment", at, m.Perm)
			}
		}
	}
	if code == 0 || len(l.Mappings) < 3 {
		t.Errorf("%d segments of code, %+v", code, l.Mappings)
	}
}

// Where the mappings are known, they make the libraries; the list identifies them, and
// adds what they do not show.
func TestFromModulesWithMappings(t *testing.T) {
	src := libraries.Source{Arch: arch.AMD64, Mem: noMemory{}, Mappings: []libstate.Mapping{
		{Start: 0x400000, End: 0x401000, Path: "/bin/a", Perm: libstate.Read | libstate.Exec},
		{Start: 0x402000, End: 0x403000, Offset: 0x1000, Path: "/bin/a", Perm: libstate.Read | libstate.Write},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Path: "/lib/x.so", Perm: libstate.Read | libstate.Exec},
	}}
	table, _ := libraries.FromModules(src, []libraries.Module{
		elf("/bin/a", 0x400000, 0x1000, 1), elf("/bin/a", 0x402000, 0x1000, 1), elf("/lib/x.so", 0x7f0000000000, 0x1000, 2), elf("/dev/other", 0x9000, 0x1000, 9)})
	want := "/dev/other library bias 0x9000? 0x9000-0xa000\n" +
		"/bin/a executable bias 0x0? 0x400000-0x401000 0x402000-0x403000\n" +
		"/lib/x.so library bias 0x7f0000000000? 0x7f0000000000-0x7f0000001000"
	if got := listed(table); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if l, _ := table.LibraryAt(0x402000); l == nil || l.BuildID[0] != 1 || l.Module.CodeID != "/bin/a" {
		t.Errorf("%+v", l)
	}
}

func TestSameBuildID(t *testing.T) {
	long := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	for _, tt := range []struct {
		known   []byte
		partial bool
		file    []byte
		want    bool
	}{
		{long, false, long, true},
		{long[:16], true, long, true},
		{long[:16], false, long, false},
		{long[:16], true, append([]byte{9}, long[1:]...), false},
		{append(long[:8:8], 0, 0, 0, 0, 0, 0, 0, 0), true, long[:8], true},
		{append(long[:8:8], 0, 0, 0, 0, 0, 0, 0, 0), true, long, false},
		{long, true, long[:16], false}, // it was in memory, whole
		{make([]byte, 16), true, nil, false},
	} {
		l := &libstate.Library{BuildID: tt.known, Module: &libstate.ModuleID{PartialBuildID: tt.partial}}
		if got := l.SameBuildID(tt.file); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
