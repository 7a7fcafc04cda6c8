package libraries_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the dynamic linker's data lies in these processes.
const (
	debugAt = 0x7000_0000
	listAt  = 0x7000_0100 // entries 0x40 apart
	namesAt = 0x7000_8000 // names 0x40 apart
	trapAt  = 0x2345
)

type entry struct {
	bias uint64
	name string
	ld   uint64
	next uint64 // 0: the following entry, or none after the last
}

// linkMap writes a struct r_debug and its list.
func (p *process) linkMap(entries ...entry) {
	region := make([]byte, 0x10000)
	copy(region, p.words(1, listAt, trapAt, 0, 0))
	for i, e := range entries {
		next := e.next
		if next == 0 && i+1 < len(entries) {
			next = listAt + uint64(i+1)*0x40
		}
		name := namesAt + uint64(i)*0x40
		copy(region[listAt-debugAt+i*0x40:], p.words(e.bias, name, e.ld, next, 0))
		copy(region[namesAt-debugAt+i*0x40:], e.name)
	}
	p.mapping(debugAt, debugAt+0x10000, 0, rw, "", region)
}

// anonymous maps the usual library as load does, in a dump that names no files.
func (p *process) anonymous(base arch.Address, header, dynamic []byte) {
	p.load("", base, header, dynamic)
}

func (p *process) dynamicSection() []byte {
	return p.words(elffile.DT_NEEDED, 1, elffile.DT_DEBUG, debugAt, elffile.DT_NULL, 0)
}

func TestLinkMapNamesLibraries(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	page := firstPage(corebuild.Lib(usual...))
	p.anonymous(0x10000, page, p.dynamicSection())
	p.anonymous(0x20000, page, nil)
	p.anonymous(0x30000, nil, nil) // its first page was left out
	p.linkMap(
		entry{bias: 0x10000, ld: 0x14e00},
		entry{bias: 0x5000, name: "linux-vdso.so.1", ld: 0x5100}, // in no mapping
		entry{bias: 0x20000, name: "/lib/libc.so.6", ld: 0x24e00},
		entry{bias: 0x30000, name: "/lib/libx.so.1", ld: 0x34e00},
	)
	p.aux(libstate.ATPhdr, 0x10040, libstate.ATExecFn, namesAt+3*0x40)
	tab := p.want(`
		executable /lib/libx.so.1 bias 0x10000 [0x10000,0x17000) 5 maps header 0x10000` + idText + `
		library /lib/libc.so.6 bias 0x20000 [0x20000,0x27000) 5 maps header 0x20000` + idText + `
		library /lib/libx.so.1 bias 0x30000 [0x30000,0x35000) 4 maps
`)
	if tab.LibTrapAddress() != trapAt {
		t.Errorf("LibTrapAddress = %#x", tab.LibTrapAddress())
	}
}

// A prelinked library lies where it was linked to: the dynamic linker's load
// bias is 0, and a guess from the mappings would be wrong.
func TestLinkMapCorrectsGuesses(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	p.load("/bin/prog", 0x400000, nil, p.dynamicSection())
	p.load("/lib/libc-2.16.so", 0x37_0000_0000, nil, nil)
	p.linkMap(
		entry{bias: 0, ld: 0x404e00},
		entry{bias: 0, name: "/lib/libc.so.6", ld: 0x37_0000_4e00},
	)
	p.aux(libstate.ATPhdr, 0x400040, libstate.ATBase, 0x36_0000_0000)
	p.want(`
		executable /bin/prog bias 0x0 [0x400000,0x405000) 4 maps header 0x400000
		library /lib/libc-2.16.so bias 0x0 [0x3700000000,0x3700005000) 4 maps header 0x3700000000
`)
}

func TestLinkMapWithFilesOnly(t *testing.T) {
	f := fileOf(t, corebuild.Header{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_DYN,
		Machine: elffile.EM_X86_64, Entry: 0x1100, Progs: usual})
	p := newProcess(t, arch.AMD64)
	p.anonymous(0x5500_0000, nil, p.dynamicSection())
	p.anonymous(0x5600_0000, nil, nil)
	p.linkMap(
		entry{bias: 0x5500_0000, ld: 0x5500_4e00},
		entry{bias: 0x5600_0000, name: "/lib/libc.so.6", ld: 0x5600_4e00},
	)
	p.aux(libstate.ATPhdr, 0x5500_0040, libstate.ATEntry, 0x5500_1100)
	p.src.ExecPath = "./prog"
	p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return f })
	p.want(`
		executable ./prog bias 0x55000000 [0x55000000,0x55007000) 5 maps header 0x55000000
		library /lib/libc.so.6 bias 0x56000000 [0x56000000,0x56007000) 5 maps
`)

	// A program with another entry point is not believed.
	p.src.Auxv = nil
	p.aux(libstate.ATPhdr, 0x5500_0040, libstate.ATEntry, 0x5500_1234)
	_, got, warnings := p.build()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "not the program of this process") {
		t.Errorf("warnings %q for\n%s", warnings, got)
	}
}

// The dynamic linker executed with the program's name: the auxiliary vector
// speaks of the dynamic linker.
func TestLinkMapTellsTheProgram(t *testing.T) {
	withInterp := append([]elffile.Prog{{Type: elffile.PT_INTERP, Off: 0x600, Vaddr: 0x600, Filesz: 8, Memsz: 8}}, usual...)
	p := newProcess(t, arch.AMD64)
	p.load("/lib/ld.so", 0x10000, firstPage(corebuild.Lib(usual...)), nil)
	p.load("/bin/prog", 0x20000, firstPage(corebuild.Lib(withInterp...)), p.dynamicSection())
	p.linkMap(entry{bias: 0x20000, ld: 0x24e00}, entry{bias: 0x10000, name: "/lib/ld.so", ld: 0x14e00})
	p.aux(libstate.ATPhdr, 0x10040)
	tab := p.want(`
		interpreter /lib/ld.so bias 0x10000 [0x10000,0x17000) 5 maps header 0x10000` + idText + `
		executable /bin/prog bias 0x20000 [0x20000,0x27000) 5 maps header 0x20000` + idText + `
`)
	if l, _ := tab.AOut(); l == nil || l.Path != "/bin/prog" {
		t.Errorf("AOut = %v", l)
	}
}

func TestLinkMapOfMIPS(t *testing.T) {
	a := &arch.Arch{Name: "mips", WordSize: 4, ByteOrder: binary.BigEndian}
	h := corebuild.Header{Class: 32, Order: binary.BigEndian, Type: elffile.ET_DYN, Machine: elffile.EM_MIPS, Progs: usual}
	for _, tag := range []uint64{elffile.DT_MIPS_RLD_MAP, elffile.DT_MIPS_RLD_MAP_R} {
		p := newProcess(t, a)
		const pointer = debugAt + 0xff00 // where the pointer to r_debug is
		value := uint64(pointer)
		if tag == elffile.DT_MIPS_RLD_MAP_R {
			value -= 0x14e00
		}
		p.load("/bin/prog", 0x10000, firstPage(h), p.words(tag, value, 0, 0))
		p.load("/lib/libc.so.6", 0x20000, nil, nil)
		p.linkMap(entry{bias: 0x10000, ld: 0x14e00}, entry{bias: 0x20000, name: "/lib/libc.so.6", ld: 0x24e00})
		copy(p.mem.pieces[len(p.mem.pieces)-1].data[pointer-debugAt:], p.words(debugAt))
		p.aux(libstate.ATPhdr, 0x10034)
		p.want(`
			executable /bin/prog bias 0x10000 [0x10000,0x17000) 5 maps header 0x10000` + idText + `
			library /lib/libc.so.6 bias 0x20000 [0x20000,0x25000) 4 maps header 0x20000
`)
	}
}

func TestLinkMapNamespaces(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	p.load("/bin/prog", 0x10000, firstPage(corebuild.Lib(usual...)), p.dynamicSection())
	p.load("/lib/plugin.so", 0x20000, nil, nil)
	p.linkMap(entry{bias: 0x10000, ld: 0x14e00})
	region := p.mem.pieces[len(p.mem.pieces)-1].data
	// struct r_debug_extended: the next namespace's is at 0x1000, and comes back.
	copy(region, p.words(2, listAt, trapAt, 0, 0, debugAt+0x1000))
	copy(region[0x1000:], p.words(2, debugAt+0x2000, trapAt, 0, 0, debugAt+0x1000))
	copy(region[0x2000:], p.words(0x20000, namesAt, 0x24e00, 0, 0))
	p.aux(libstate.ATPhdr, 0x10040)
	p.want(`
		executable /bin/prog bias 0x10000 [0x10000,0x17000) 5 maps header 0x10000` + idText + `
		library /lib/plugin.so bias 0x20000 [0x20000,0x25000) 4 maps header 0x20000
`)
}

func TestHostileLinkMaps(t *testing.T) {
	for _, tt := range []struct {
		name    string
		entries []entry
		warning string
	}{
		{"circle", []entry{{bias: 0x10000, ld: 0x14e00}, {bias: 1, name: "x", next: listAt}}, "has a loop"},
		{"self", []entry{{bias: 0x10000, ld: 0x14e00, next: listAt}}, "has a loop"},
		{"breaks off", []entry{{bias: 0x10000, ld: 0x14e00, next: 0x1234}}, "breaks off"},
		{"lies about the bias", []entry{{bias: 0x999000, ld: 0x14f00}}, "using the headers"},
	} {
		p := newProcess(t, arch.AMD64)
		p.load("/bin/prog", 0x10000, firstPage(corebuild.Lib(usual...)), p.dynamicSection())
		p.linkMap(tt.entries...)
		p.aux(libstate.ATPhdr, 0x10040)
		_, got, warnings := p.build()
		if len(warnings) != 1 || !strings.Contains(warnings[0], tt.warning) {
			t.Errorf("%s: warnings %q", tt.name, warnings)
		}
		if !strings.HasPrefix(got, "executable /bin/prog bias 0x10000 ") {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// Every entry is a library of its own somewhere in one big mapping, and there are
// far more than any process has.
func TestHostileLinkMapIsBounded(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	p.load("/bin/prog", 0x10000, firstPage(corebuild.Lib(usual...)), p.dynamicSection())
	const n = 40000
	region := make([]byte, n*0x40)
	copy(region, p.words(1, debugAt+0x40, trapAt, 0, 0))
	for i := 1; i < n-1; i++ {
		at := uint64(debugAt + i*0x40)
		copy(region[i*0x40:], p.words(at, at, at+0x1000_0000, at+0x40, 0))
	}
	p.mapping(debugAt, debugAt+n*0x40, 0, rw, "", region)
	for i := range uint64(n) {
		at := debugAt + 0x1000_0000 + i*0x40
		p.src.Mappings = append(p.src.Mappings, libstate.Mapping{Start: at, End: at + 0x40, Perm: rw})
	}
	p.aux(libstate.ATPhdr, 0x10040)
	tab, warnings := libraries.Build(p.src)
	libs, _ := tab.Libraries(false)
	if len(libs) > 1<<14 || len(warnings) == 0 {
		t.Errorf("%d libraries, warnings %q", len(libs), warnings)
	}
}

// Thousands of images that each claim the whole address space.
func TestHostileImagesAreBounded(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	page := firstPage(corebuild.Lib(elffile.Prog{Type: elffile.PT_LOAD, Flags: 5, Filesz: 1, Memsz: 1 << 46}))
	for i := range uint64(20000) {
		p.mapping(0x1000_0000+i*0x1000, 0x1000_1000+i*0x1000, 0, r, fmt.Sprintf("/lib/lib%d.so", i), nil)
	}
	p.mem.pieces = []piece{{0x1000_0000, make([]byte, 20000*0x1000)}}
	for i := range 20000 {
		copy(p.mem.pieces[0].data[i*0x1000:], page[:0x200])
	}
	_, _, warnings := p.build()
	if len(warnings) == 0 || !strings.Contains(strings.Join(warnings, " "), "too complex") {
		t.Errorf("warnings: %q", warnings)
	}
}

// What looks like a library in memory that is written and not run is not one, and is not
// read: a core may have 100,000 such mappings.
func TestImagesInDataAreNotRead(t *testing.T) {
	p := newProcess(t, arch.AMD64)
	page := firstPage(corebuild.Lib(usual...))
	p.anonymous(0x10000, page, nil)
	for i := range uint64(100) {
		p.mapping(0x100000+i*0x10000, 0x101000+i*0x10000, 0, rw, "", page)
	}
	read := 0
	p.src.Mem = countingMemory{p.src.Mem, &read}
	if tab, got, _ := p.build(); strings.Count(got, "\n") != 1 || read > 20 {
		t.Errorf("memory was read %d times; libraries:\n%s", read, got)
	} else if _, ok := tab.LibraryAt(0x10000); !ok {
		t.Errorf("libraries:\n%s", got)
	}
}

type countingMemory struct {
	arch.Memory
	n *int
}

func (m countingMemory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	*m.n++
	return m.Memory.ReadMem(addr, buf)
}

func FuzzBuild(f *testing.F) {
	p := newProcess(nil, arch.AMD64)
	p.load("/bin/prog", 0x10000, firstPage(corebuild.Lib(usual...)), p.dynamicSection())
	f.Add(p.mem.pieces[0].data, p.dynamicSection(), uint64(0x10040), uint64(0x10000), true)
	f.Add([]byte("\x7fELF"), []byte{}, uint64(0), uint64(0), false)
	f.Fuzz(func(t *testing.T, page, dynamic []byte, phdr, base uint64, named bool) {
		for _, a := range []*arch.Arch{arch.AMD64, {Name: "be32", WordSize: 4, ByteOrder: binary.BigEndian}} {
			p := newProcess(t, a)
			path := ""
			if named {
				path = "/bin/prog"
			}
			p.load(path, 0x10000, page, dynamic)
			p.load(path, 0x20000, page, dynamic)
			p.linkMap(entry{bias: base, ld: 0x14e00}, entry{bias: phdr, name: path, ld: base, next: phdr})
			p.aux(libstate.ATPhdr, phdr, libstate.ATBase, base, libstate.ATEntry, base+0x1000, libstate.ATSysinfoEhdr, phdr&^0xfff)
			file, _ := elffile.Parse(page)
			p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return file })
			tab, _, _ := p.build()
			libs, _ := tab.Libraries(false)
			for _, l := range libs {
				for _, m := range l.Mappings {
					if m.End <= m.Start || m.Start < l.Start || m.End > l.End {
						t.Fatalf("%s: mapping [%#x,%#x) of [%#x,%#x)", l.Path, m.Start, m.End, l.Start, l.End)
					}
				}
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	p := newProcess(nil, arch.AMD64)
	page := firstPage(corebuild.Lib(usual...))
	for i := range arch.Address(100) {
		p.load(fmt.Sprintf("/lib/lib%d.so", i), 0x100000+i*0x10000, page, nil)
	}
	for b.Loop() {
		libraries.Build(p.src)
	}
}
