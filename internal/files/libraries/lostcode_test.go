package libraries_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// dataOnly maps the usual library as load does, in a dump that has only what its process could write.
func (p *process) dataOnly(path string, base arch.Address, dynamic []byte) {
	p.mapping(base+0x4000, base+0x5000, 0x3000, rw, path, append(make([]byte, 0xe00), dynamic...))
	p.mapping(base+0x5000, base+0x7000, 0, rw, "", nil)
}

// Code that the dump has no mapping of is where the headers put it: here of a program and a library in no list of
// files, and of a library of which only the data is in it. What the dump has whole stays as it is.
func TestLostCode(t *testing.T) {
	f := fileOf(t, corebuild.Header{Class: 64, Order: binary.LittleEndian, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Entry: 0x1100, Progs: usual})
	p := newProcess(t, arch.AMD64)
	p.dataOnly("", 0x1000_0000, p.dynamicSection())
	p.dataOnly("", 0x2000_0000, nil)
	p.dataOnly("/lib/liby.so", 0x3000_0000, nil)
	p.load("/lib/libz.so", 0x4000_0000, firstPage(corebuild.Lib(usual...)), nil)
	p.linkMap(
		entry{bias: 0x1000_0000, ld: 0x1000_4e00},
		entry{bias: 0x2000_0000, name: "/lib/libx.so", ld: 0x2000_4e00},
		entry{bias: 0x3000_0000, name: "/lib/liby.so", ld: 0x3000_4e00},
		entry{bias: 0x4000_0000, name: "/lib/libz.so", ld: 0x4000_4e00},
	)
	p.aux(libstate.ATPhdr, 0x1000_0040, libstate.ATEntry, 0x1000_1100)
	p.src.ExecPath = "/bin/prog"
	p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return f })
	tab := p.want(`
		executable /bin/prog bias 0x10000000 [0x10001000,0x10007000) 3 maps
		library /lib/libx.so bias 0x20000000 [0x20001000,0x20007000) 3 maps
		library /lib/liby.so bias 0x30000000 [0x30001000,0x30007000) 3 maps
		library /lib/libz.so bias 0x40000000 [0x40000000,0x40007000) 5 maps header 0x40000000` + idText + `
`)
	for addr, want := range map[arch.Address]string{0x1000_1000: "/bin/prog", 0x2000_1000: "/lib/libx.so", 0x2000_2fff: "/lib/libx.so", 0x3000_1800: "/lib/liby.so", 0x4000_1000: "/lib/libz.so"} {
		lib, ok := tab.LibraryAt(addr)
		if !ok || lib.Path != want {
			t.Errorf("%#x is in %v, want %s", addr, lib, want)
			continue
		}
		if m, ok := lib.MappingAt(addr); !ok || m.Perm != libstate.Read|libstate.Exec || m.Offset != 0x1000 {
			t.Errorf("%#x: %+v", addr, m)
		}
	}
	for _, addr := range []arch.Address{0x2000_0800, 0x2000_3000, 0x1000_0fff, 0x1000_3000} { // constants need no mapping: the files have them
		if lib, ok := tab.LibraryAt(addr); ok {
			t.Errorf("%#x is in %s", addr, lib.Path)
		}
	}
}

// Where two libraries would have had their code in the same place, neither gets it.
func TestLostCodeOfTwo(t *testing.T) {
	f := fileOf(t, corebuild.Lib(usual...))
	p := newProcess(t, arch.AMD64)
	p.load("/bin/prog", 0x1000_0000, firstPage(corebuild.Lib(usual...)), p.dynamicSection())
	p.mapping(0x2000_4000, 0x2000_5000, 0x3000, rw, "/lib/libx.so", nil)
	p.mapping(0x2000_5000, 0x2000_6000, 0x3000, rw, "/lib/liby.so", nil)
	p.linkMap(entry{bias: 0x1000_0000, ld: 0x1000_4e00},
		entry{bias: 0x2000_0000, name: "/lib/libx.so", ld: 0x2000_4e00},
		entry{bias: 0x2000_1000, name: "/lib/liby.so", ld: 0x2000_5e00})
	p.aux(libstate.ATPhdr, 0x1000_0040)
	p.src.Files = elfOf(func(*libstate.Library) *elffile.File { return f })
	p.want(`
		executable /bin/prog bias 0x10000000 [0x10000000,0x10007000) 5 maps header 0x10000000` + idText + `
		library /lib/libx.so bias 0x20000000 [0x20004000,0x20005000) 1 maps
		library /lib/liby.so bias 0x20001000 [0x20005000,0x20006000) 1 maps
`)
}
