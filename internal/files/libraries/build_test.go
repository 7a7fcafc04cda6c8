package libraries_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// memory is a process's memory in pieces.
type memory struct {
	arch   *arch.Arch
	pieces []piece
}

type piece struct {
	addr arch.Address
	data []byte
}

func (m *memory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	n := 0
next:
	for n < len(buf) {
		a := addr + uint64(n)
		for _, p := range m.pieces {
			if a >= p.addr && a-p.addr < uint64(len(p.data)) {
				n += copy(buf[n:], p.data[a-p.addr:])
				continue next
			}
		}
		return n, &arch.MemError{Addr: a, Err: arch.ErrNotInDump}
	}
	return n, nil
}

func (m *memory) ReadWord(addr arch.Address) (uint64, error) {
	buf := make([]byte, m.arch.WordSize)
	if _, err := m.ReadMem(addr, buf); err != nil {
		return 0, err
	}
	return m.arch.Word(buf), nil
}

// process is a process being described for Build.
type process struct {
	t    *testing.T
	arch *arch.Arch
	mem  memory
	src  libraries.Source
}

func newProcess(t *testing.T, a *arch.Arch) *process {
	p := &process{t: t, arch: a}
	p.mem.arch = a
	p.src = libraries.Source{Arch: a, Mem: &p.mem}
	return p
}

const (
	r  = libstate.Read
	rx = libstate.Read | libstate.Exec
	rw = libstate.Read | libstate.Write
)

// mapping adds a mapping; the memory is in the dump when data is not nil.
func (p *process) mapping(start, end, off arch.Address, perm libstate.Perm, path string, data []byte) {
	p.src.Mappings = append(p.src.Mappings, libstate.Mapping{Start: start, End: end, Offset: off, Path: path, Perm: perm})
	if data != nil {
		p.mem.pieces = append(p.mem.pieces, piece{start, data})
	}
}

func (p *process) words(ws ...uint64) []byte {
	var b []byte
	for _, w := range ws {
		word := make([]byte, 8)
		if p.arch.WordSize == 4 {
			p.arch.ByteOrder.PutUint32(word, uint32(w))
		} else {
			p.arch.ByteOrder.PutUint64(word, w)
		}
		b = append(b, word[:p.arch.WordSize]...)
	}
	return b
}

func (p *process) aux(kv ...uint64) {
	for i := 0; i < len(kv); i += 2 {
		p.src.Auxv = append(p.src.Auxv, libstate.AuxEntry{Key: kv[i], Value: kv[i+1]})
	}
}

// build returns the libraries, one a line, and the warnings.
func (p *process) build() (*libstate.Table, string, []string) {
	tab, warnings := libraries.Build(p.src)
	libs, _ := tab.Libraries(false)
	var b strings.Builder
	for _, l := range libs {
		fmt.Fprintf(&b, "%s %s bias %#x [%#x,%#x) %d maps", l.Kind, l.Path, l.LoadBias, l.Start, l.End, len(l.Mappings))
		if l.HeaderAddr != 0 {
			fmt.Fprintf(&b, " header %#x", l.HeaderAddr)
		}
		if l.BuildID != nil {
			fmt.Fprintf(&b, " id %x", l.BuildID)
		}
		if l.BiasGuessed {
			b.WriteString(" guessed")
		}
		if l.Deleted {
			b.WriteString(" deleted")
		}
		b.WriteByte('\n')
	}
	return tab, b.String(), warnings
}

func (p *process) want(want string) *libstate.Table {
	p.t.Helper()
	tab, got, warnings := p.build()
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	if got != want {
		p.t.Errorf("libraries:\n%swant:\n%s", got, want)
	}
	if len(warnings) > 0 {
		p.t.Errorf("warnings: %q", warnings)
	}
	return tab
}

// usual are the segments of a library as linkers lay them out today: headers and
// a build-id note, code, constants, data with a dynamic section.
var usual = []elffile.Prog{
	{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Off: 0, Vaddr: 0, Filesz: 0x800, Memsz: 0x800, Align: 0x1000},
	{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_X, Off: 0x1000, Vaddr: 0x1000, Filesz: 0x1800, Memsz: 0x1800, Align: 0x1000},
	{Type: elffile.PT_LOAD, Flags: elffile.PF_R, Off: 0x3000, Vaddr: 0x3000, Filesz: 0x400, Memsz: 0x400, Align: 0x1000},
	{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_W, Off: 0x3e00, Vaddr: 0x4e00, Filesz: 0x300, Memsz: 0x1300, Align: 0x1000},
	{Type: elffile.PT_DYNAMIC, Flags: elffile.PF_R | elffile.PF_W, Off: 0x3e00, Vaddr: 0x4e00, Filesz: 0x100, Memsz: 0x100, Align: 8},
	{Type: elffile.PT_NOTE, Flags: elffile.PF_R, Off: 0x400, Vaddr: 0x400, Filesz: 0x24, Memsz: 0x24, Align: 4},
}

var buildID = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}

const idText = " id 0102030405060708090a0b0c0d0e0f1011121314"

// firstPage is what memory has of an image's first page.
func firstPage(h corebuild.Header) []byte {
	page := make([]byte, 0x1000)
	copy(page, h.Bytes())
	copy(page[0x400:], corebuild.BuildIDNote(h.Order, buildID))
	return page
}

// load maps the usual library at base the way the kernel does.
func (p *process) load(path string, base arch.Address, header []byte, dynamic []byte) {
	p.mapping(base, base+0x1000, 0, r, path, header)
	p.mapping(base+0x1000, base+0x3000, 0x1000, rx, path, nil)
	p.mapping(base+0x3000, base+0x4000, 0x3000, r, path, nil)
	p.mapping(base+0x4000, base+0x5000, 0x3000, rw, path, append(make([]byte, 0xe00), dynamic...))
	p.mapping(base+0x5000, base+0x7000, 0, rw, "", nil) // .bss, and something else behind it
}

func TestBuildFromHeaders(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	page := firstPage(corebuild.Lib(usual...))
	p.load("/bin/prog", 0x10000, page, nil)
	p.mapping(0x20000, 0x30000, 0, r, "/usr/lib/locale/locale-archive", []byte("\xde\x12\x02\x95"))
	p.mapping(0x30000, 0x38000, 0, r, "/bin/prog", page) // the program reads its own file
	p.load("/lib/libx.so (deleted)", 0x40000, page, nil)
	p.load("/lib/libx.so", 0x50000, page, nil)
	p.load("/lib/libx.so", 0x60000, page, nil) // again, in another namespace
	p.mapping(0x70000, 0x72000, 0, rx, "", page)
	p.aux(libstate.ATPhdr, 0x10040, libstate.ATBase, 0x40000, libstate.ATSysinfoEhdr, 0x70000)
	tab := p.want(`
		executable /bin/prog bias 0x10000 [0x10000,0x17000) 5 maps header 0x10000` + idText + `
		interpreter /lib/libx.so bias 0x40000 [0x40000,0x47000) 5 maps header 0x40000` + idText + ` deleted
		library /lib/libx.so bias 0x50000 [0x50000,0x57000) 5 maps header 0x50000` + idText + `
		library /lib/libx.so bias 0x60000 [0x60000,0x67000) 5 maps header 0x60000` + idText + `
		vdso [vdso] bias 0x70000 [0x70000,0x72000) 1 maps header 0x70000` + idText + `
`)
	if _, ok := tab.LibraryAt(0x20000); ok {
		t.Error("the locale archive is a library")
	}
}

// A small program's code and data lie in one page of its file, which is then in
// memory twice: the program is there once. With its first page left out of the
// dump, the second tells all the same.
func TestBuildOfOnePageFile(t *testing.T) {
	h := corebuild.Lib(
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 5, Off: 0, Vaddr: 0x400000, Filesz: 0x500, Memsz: 0x500, Align: 0x1000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 6, Off: 0x500, Vaddr: 0x401500, Filesz: 0x100, Memsz: 0x100, Align: 0x1000},
		elffile.Prog{Type: elffile.PT_NOTE, Flags: 4, Off: 0x400, Vaddr: 0x400400, Filesz: 0x24, Memsz: 0x24, Align: 4},
	)
	h.Type = elffile.ET_EXEC
	for _, first := range []bool{true, false} {
		p := newProcess(t, arch.AMD64)
		page, id := []byte(nil), ""
		if first {
			page, id = firstPage(h), idText
		}
		p.mapping(0x400000, 0x401000, 0, rx, "/prog", page)
		p.mapping(0x401000, 0x402000, 0, rw, "/prog", firstPage(h))
		p.aux(libstate.ATPhdr, 0x400040)
		p.want("executable /prog bias 0x0 [0x400000,0x402000) 2 maps header 0x400000" + id + "\n")
	}
}

// A dump without offsets has nothing but where segments begin to tell the load bias of a program of which several begin in the first page of its file.
func TestBuildOfOnePageFileWithoutOffsets(t *testing.T) {
	h := corebuild.Lib(
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 4, Off: 0, Vaddr: 0, Filesz: 0x880, Memsz: 0x880, Align: 0x10000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 5, Off: 0x880, Vaddr: 0x10880, Filesz: 0x720, Memsz: 0x720, Align: 0x10000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 6, Off: 0xfa0, Vaddr: 0x20fa0, Filesz: 0x60, Memsz: 0x1060, Align: 0x10000},
		elffile.Prog{Type: elffile.PT_LOAD, Flags: 6, Off: 0x1108, Vaddr: 0x31108, Filesz: 0x98, Memsz: 0x8000, Align: 0x10000},
	)
	p := newProcess(t, arch.ARM64)
	const base = 0x5500000000
	for i, perm := range []libstate.Perm{r, rx, r, rw} {
		start := arch.Address(base + 0x10000*i)
		end := start + 0x1000
		if i == 2 {
			end += 0x1000
		}
		var page []byte
		if i == 0 {
			page = h.Bytes()
		}
		if i == 3 {
			start, end = start+0x1000, start+0xa000
		}
		p.mapping(start, end, 0, perm, "", page)
		if i < 3 {
			p.mapping(end, base+0x10000*arch.Address(i+1)+arch.Address(i/2*0x1000), 0, 0, "", nil)
		}
	}
	p.src.ExecPath = "/prog"
	p.aux(libstate.ATPhdr, base+0x40)
	tab, got, _ := p.build()
	if l, ok := tab.LibraryAt(base + 0x10880); !ok || l.LoadBias != base {
		t.Errorf("%s", got)
	}
}

func fileOf(t *testing.T, h corebuild.Header) *elffile.File {
	t.Helper()
	f, err := elffile.Parse(append(h.Bytes(), make([]byte, 0x5000)...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBuildWithoutHeaders(t *testing.T) {
	f := fileOf(t, corebuild.Lib(usual...))
	shifted := append([]elffile.Prog(nil), usual...)
	for i := range shifted {
		shifted[i].Vaddr += 0x100000
	}
	wrong := fileOf(t, corebuild.Lib(elffile.Prog{Type: elffile.PT_LOAD, Off: 0x9000, Vaddr: 0x9000, Filesz: 0x1000, Memsz: 0x1000}))
	p := newProcess(t, arch.AMD64)
	p.load("/bin/prog", 0x5555_0000_0000, nil, nil)
	p.load("/lib/prelinked.so", 0x5555_0010_0000, nil, nil)
	p.load("/lib/unknown.so", 0x5555_0020_0000, nil, nil)
	p.mapping(0x5555_0030_0000, 0x5555_0031_0000, 0, r, "/share/font", nil)
	p.mapping(0x5555_0040_0000, 0x5555_0041_0000, 0x4000, libstate.Unknown, "/lib/gcore.so", nil)
	p.mapping(0x5555_0050_0000, 0x5555_0051_0000, 0, libstate.Unknown, "/share/data", nil)
	p.aux(libstate.ATPhdr, 0x5555_0000_0040)
	asked := ""
	p.src.Files = elfOf(func(l *libstate.Library) *elffile.File {
		asked += l.Path + " "
		switch l.Path {
		case "/bin/prog":
			if l.Kind != libstate.Executable || len(l.Mappings) != 4 {
				t.Errorf("asked for %+v", l)
			}
			return f
		case "/lib/prelinked.so":
			return fileOf(t, corebuild.Lib(shifted...))
		}
		return nil
	})
	tab := p.want(`
		executable /bin/prog bias 0x555500000000 [0x555500000000,0x555500007000) 5 maps header 0x555500000000
		library /lib/prelinked.so bias 0x555500000000 [0x555500100000,0x555500107000) 5 maps header 0x555500100000
		library /lib/unknown.so bias 0x555500200000 [0x555500200000,0x555500205000) 4 maps header 0x555500200000 guessed
		library /lib/gcore.so bias 0x5555003fc000 [0x555500400000,0x555500410000) 1 maps guessed
`)
	if asked != "/bin/prog /lib/prelinked.so /lib/unknown.so /lib/gcore.so " {
		t.Errorf("files asked for: %s", asked)
	}
	if l, _ := tab.LibraryAt(0x5555_0040_0000); l == nil || l.Mappings[0].Perm&libstate.Exec == 0 {
		t.Error("a mapping left out by gcore is not taken for code")
	}
	p.src.Files = elfOf(func(l *libstate.Library) *elffile.File { return wrong })
	if _, _, warnings := p.build(); len(warnings) != 4 {
		t.Errorf("files whose segments do not fit: %q", warnings)
	}
}

func TestBuildRefusesFilesOfOtherMachines(t *testing.T) {
	h := corebuild.Header{Class: 32, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_386, Progs: usual}
	p := newProcess(t, arch.AMD64)
	p.mapping(0x1000, 0x2000, 0, rx, "/lib32/libx.so", firstPage(h))
	p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return fileOf(t, h) })
	p.want("library /lib32/libx.so bias 0x1000 [0x1000,0x2000) 1 maps header 0x1000 guessed\n")
}

func TestBuildReadsLongHeaders(t *testing.T) {
	progs := append([]elffile.Prog(nil), usual...)
	for range 100 { // beyond the first page
		progs = append(progs, elffile.Prog{Type: elffile.PT_NULL})
	}
	progs = append(progs, elffile.Prog{Type: elffile.PT_NOTE, Vaddr: 0x2000, Filesz: 0x24, Memsz: 0x24, Align: 4})
	progs[5].Type = elffile.PT_NULL
	progs[0].Filesz, progs[0].Memsz = 0x2100, 0x2100
	page := make([]byte, 0x2100)
	copy(page, corebuild.Lib(progs...).Bytes())
	copy(page[0x2000:], corebuild.BuildIDNote(binary.LittleEndian, buildID))
	p := newProcess(t, arch.AMD64)
	p.mapping(0x10000, 0x13000, 0, rx, "/lib/libx.so", page)
	p.want("library /lib/libx.so bias 0x10000 [0x10000,0x13000) 1 maps header 0x10000" + idText + "\n")
}

// Go's own build id names a build that has no other.
func TestGoBuildID(t *testing.T) {
	goNote := func(id string) []byte {
		c := corewrite.Core{Order: binary.LittleEndian, NoteAlign: 4}
		c.Note("Go", elffile.NT_GO_BUILD_ID, []byte(id))
		return c.Notes()
	}
	segments := slices.Clone(usual)
	note := &segments[len(segments)-1]
	note.Filesz, note.Memsz = 0x400, 0x400
	for name, tt := range map[string]struct {
		notes []byte
		want  string
	}{
		"Go's":      {goNote("ab/cd"), "ab/cd"},
		"both":      {slices.Concat(goNote("ab/cd"), corebuild.BuildIDNote(binary.LittleEndian, buildID)), ""},
		"too long":  {goNote(strings.Repeat("a", 257)), ""},
		"truncated": {goNote("ab/cd/ef")[:20], ""},
	} {
		page := make([]byte, 0x400, 0x1000)
		copy(page, corebuild.Lib(segments...).Bytes())
		p := newProcess(t, arch.AMD64)
		p.mapping(0x10000, 0x13000, 0, rx, "/bin/prog", append(page, tt.notes...))
		tab, _, _ := p.build()
		if l, _ := tab.LibraryAt(0x10000); l == nil || l.GoBuildID != tt.want {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestBuildIDInTheWrongPlace(t *testing.T) {
	h := corebuild.Lib(usual...)
	for name, note := range map[string][]byte{
		"cut":   corebuild.BuildIDNote(binary.LittleEndian, buildID)[:20],
		"empty": corebuild.BuildIDNote(binary.LittleEndian, nil),
		"huge":  bytes.Repeat([]byte{0xff}, 0x24),
	} {
		page := append(h.Bytes(), make([]byte, 0x400-len(h.Bytes()))...)
		page = append(page, note...)
		p := newProcess(t, arch.AMD64)
		p.mapping(0x10000, 0x13000, 0, rx, "/lib/libx.so", page)
		_, got, _ := p.build()
		if strings.Contains(got, " id ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A program that moves the middle of its code elsewhere, as V8 does with its
// builtins, keeps the addresses of its file there.
func TestBuildOfMovedCode(t *testing.T) {
	f := fileOf(t, corebuild.Lib(
		elffile.Prog{Type: elffile.PT_LOAD, Vaddr: 0x400000, Filesz: 0x1000, Memsz: 0x1000},
		elffile.Prog{Type: elffile.PT_LOAD, Off: 0x1000, Vaddr: 0x411000, Filesz: 0x3000, Memsz: 0x3000, Flags: elffile.PF_X},
	))
	p := newProcess(t, arch.AMD64)
	p.mapping(0x7f00_0000_0000, 0x7f00_0000_1000, 0x2000, rx, "/bin/prog", nil)
	p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return f })
	// 0x412000 in the file.
	p.want("library /bin/prog bias 0x7effffbee000 [0x7f0000000000,0x7f0000001000) 1 maps\n")
}

// A vDSO of an old i386 kernel has the addresses that it lay at before kernels
// moved it about. 0x8a7416 is 0xffffe416 in it, in whatever arithmetic.
func TestBuildBelowTheFilesAddresses(t *testing.T) {
	p := newProcess(t, arch.X86)
	h := corebuild.Header{Class: 32, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_386, Progs: []elffile.Prog{
		{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_X, Vaddr: 0xffffe000, Filesz: 0x800, Memsz: 0x800, Align: 0x1000},
	}}
	p.mapping(0x8a7000, 0x8a8000, 0, rx, "", firstPage(h))
	p.aux(libstate.ATSysinfoEhdr, 0x8a7000)
	tab := p.want("vdso [vdso] bias 0xffffffff008a9000 [0x8a7000,0x8a8000) 1 maps header 0x8a7000\n")
	if l, ok := tab.LibraryAt(0x8a7416); !ok || 0x8a7416-l.LoadBias != 0xffffe416 || l.LoadBias+0xffffe416 != 0x8a7416 {
		t.Errorf("library %+v, %v", l, ok)
	}
}

// elfOf is a source of files by a function.
type elfOf func(*libstate.Library) *elffile.File

func (f elfOf) Image(lib *libstate.Library) *modules.Image {
	elf := f(lib)
	if elf == nil {
		return nil
	}
	return (*modules.Image)(image.FromParts(image.Parts{ELF: elf}))
}
