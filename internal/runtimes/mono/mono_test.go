package mono

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/jitmap"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where a made process has its parts. The offsets in structures are those of no version.
const (
	rootVariable = 0x1000
	listVariable = 0x1008
	root, second = 0x2000, 0x2800
	code         = 0x9000
	stubCode     = 0x9800
	image        = 0x5000
	class, outer = 0x5200, 0x5400
	theMethod    = 0x5600
	assembly     = 0x7000_0000 // mapped, and not in the dump
)

// A made process, whose parts tests change.
type made struct {
	remotetest.Words
	symbols  map[string]uint64
	files    map[string][]byte
	mappings []libstate.Mapping
	warned   []string
}

func (m *made) text(at uint64, s string) uint64 {
	m.Put(at, append([]byte(s), 0)...)
	return at
}

// function adds one of these instructions, and returns where it is.
func (m *made) function(name string, code ...byte) {
	at := 0x100000 + uint64(len(m.symbols))*0x100
	m.Put(at, code...)
	m.symbols[name] = at
}

// returns adds a function that returns a field.
func (m *made) returns(name string, off byte) {
	m.function(name, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x47, off, 0xc3) // endbr64; mov off(%rdi),%rax; ret
}

// relative is an instruction that refers to a variable, at the end of a function at at.
func (m *made) variable(name string, variable uint64, op ...byte) {
	at := 0x100000 + uint64(len(m.symbols))*0x100
	m.function(name, append(binary.LittleEndian.AppendUint32(op, uint32(variable-(at+uint64(len(op))+4))), 0xc3)...)
}

// domain makes one whose table has a chunk of methods.
func (m *made) domain(at uint64, infos ...uint64) {
	table, chunk := at+0x400, at+0x480
	m.Zero(at, 0x3f8)
	m.Words[at+0x148] = table
	m.Words[table], m.Words[table+tableChunks], m.Words[table+tableFirst] = at, 1, chunk
	m.Zero(chunk, 24+8*chunkMethods)
	m.Put32(chunk+chunkElements, uint32(len(infos)))
	for i, info := range infos {
		m.Words[chunk+chunkMethod0+8*uint64(i)] = info
		start, size := m.Words[info+16], m.Words[info+24]>>32
		m.Words[chunk+chunkLast] = max(m.Words[chunk+chunkLast], start+size)
	}
}

// info makes a MonoJitInfo.
func (m *made) info(at, method, start uint64, size uint32) uint64 {
	m.Words[at], m.Words[at+16], m.Words[at+24] = method, start, uint64(size)<<32
	return at
}

func madeProcess() *made {
	m := &made{Words: remotetest.Words{}, symbols: map[string]uint64{}, files: map[string][]byte{}}
	m.variable(rootDomain, rootVariable, 0x48, 0x8b, 0x05)              // mov rootVariable(%rip),%rax; ret
	m.variable("mono_domain_get_by_id", listVariable, 0x48, 0x8b, 0x0d) // mov listVariable(%rip),%rcx
	for name, off := range map[string]byte{"mono_jit_info_get_code_start": 16, "mono_jit_info_get_code_size": 28, "mono_method_get_name": 24,
		"mono_method_get_class": 8, "mono_class_get_image": 0x40, "mono_class_get_nesting_type": 0x38, "mono_image_get_guid": 0x58} {
		m.returns(name, off)
	}
	m.Words[rootVariable], m.Words[listVariable] = root, 0x1800
	m.Words[0x1800], m.Words[0x1808], m.Words[0x1810] = root, second, 0
	m.domain(root, m.info(0x3000, theMethod, code, 0x100), m.info(0x3080, 0x3100, stubCode, 0x200))
	m.domain(second, m.info(0x3200, theMethod, code+0x1000, 0x80))
	m.Words[0x3100], m.Words[0x3108], m.Words[0x3110] = stubCode, 0x200, m.text(0x3140, "generic_trampoline_jit")
	m.Words[theMethod+8], m.Words[theMethod+24], m.Words[theMethod+32] = class, m.text(0x4000, "Total"), 0
	for _, c := range []uint64{class, outer} {
		m.Words[c+0x38], m.Words[c+0x40], m.Words[c+0x48], m.Words[c+0x50] = 0, image, m.text(c+0x80, "Line"), m.text(c+0xa0, "")
	}
	m.Words[class+0x38] = outer
	m.text(outer+0x80, "Order`1")
	m.text(outer+0xa0, "Shop")
	m.Words[image+0x58] = m.text(0x5100, "03020100-0504-0706-0809-0A0B0C0D0E0F")
	// pop %r11; push %rbp; mov %rsp,%rbp
	m.Put(stubCode, 0x41, 0x5b, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20)
	return m
}

func (m *made) methods() *Methods {
	lib := &libstate.Library{Path: "/usr/lib/libmonosgen-2.0.so.1"}
	return New(Process{Memory: m, Arch: arch.AMD64, Libraries: func() []*libstate.Library { return []*libstate.Library{{Path: "/lib/libc.so.6"}, lib} },
		Symbol: func(l *libstate.Library, name string) (unwind.Address, bool) {
			at, ok := m.symbols[name]
			return at, ok && l == lib
		},
		MappingAt: func(addr unwind.Address) (libstate.Mapping, bool) {
			for _, x := range m.mappings {
				if addr-x.Start < x.End-x.Start {
					return x, true
				}
			}
			return libstate.Mapping{}, false
		},
		ReadMapped: func(path string, is func([]byte) bool) []byte {
			if b := m.files[path]; b != nil && is(b) {
				return b
			}
			return nil
		},
		Warn: func(_ *libstate.Library, err error) { m.warned = append(m.warned, err.Error()) }})
}

func (m *made) at(t *testing.T, addr uint64, want string) {
	t.Helper()
	got, ok := m.methods().At(addr)
	if got.Name != want || ok != (want != "") {
		t.Errorf("at %#x is %q (%t), want %q", addr, got.Name, ok, want)
	}
}

const whole = "Shop.Order`1/Line:Total"

func TestAt(t *testing.T) {
	m := madeProcess()
	for addr, want := range map[uint64]string{code: whole, code + 0xff: whole, code + 0x100: "", code - 1: "", code + 0x1000: whole, code + 0x1080: "",
		stubCode + 0x1ff: "(stub) generic_trampoline_jit"} {
		m.at(t, addr, want)
	}
	got, _ := m.methods().At(code + 8)
	if got.Start != code || got.Size != 0x100 || got.Table != nil || len(m.warned) != 0 {
		t.Errorf("%+v, warned of %q", got, m.warned)
	}
	for kind, prefix := range map[uint64]string{1: "(wrapper delegate-invoke) ", 2: "(wrapper delegate-begin-invoke) ", 3: "(wrapper delegate-end-invoke) ",
		4: "(wrapper runtime-invoke) ", 5: "(wrapper native-to-managed) ", 6: "(wrapper managed-to-native) ", 7: "", 9: ""} { // later ones are of other kinds in other versions
		m.Words[theMethod+32] = 3 | kind<<2 | 1<<7
		m.at(t, code, prefix+whole)
	}
	p := m.methods().p
	p.Arch = arch.X86
	if got, ok := New(p).At(code); ok {
		t.Errorf("of 32 bits: %+v", got)
	}
}

// What denies that a method is there, or that the runtime is known, leaves no name.
func TestDenied(t *testing.T) {
	for name, change := range map[string]func(m *made){
		"no table names the domain": func(m *made) { m.Words[root+0x400]++ },
		"too many chunks":           func(m *made) { m.Put32(root+0x400+tableChunks, maxChunks+1) },
		"a chunk of too many":       func(m *made) { m.Put32(root+0x480+chunkElements, chunkMethods+1) },
		"a getter does more":        func(m *made) { m.Put(m.symbols["mono_method_get_name"]+4, 0x90, 0x90, 0xff, 0xd0) },
		"a getter is missing":       func(m *made) { delete(m.symbols, "mono_class_get_image") },
		"a field far away": func(m *made) {
			m.Put(m.symbols["mono_class_get_image"]+4, 0x48, 0x8b, 0x87, 0, 0x10, 0, 0, 0xc3)
		},
		"the root's getter reads a field": func(m *made) { m.Put(m.symbols[rootDomain], 0x48, 0x8b, 0x47, 8, 0xc3) },
		"no domain yet":                   func(m *made) { m.Words[rootVariable] = 0 },
		"a method without a class":        func(m *made) { m.Words[theMethod+8] = 0 },
		"a class without an image":        func(m *made) { m.Words[class+0x40] = 0 },
		"a name that is no text":          func(m *made) { m.text(0x4000, "a\x1bb") },
		"a name that never ends":          func(m *made) { m.Put(0x4000, []byte(strings.Repeat("x", maxName+8))...) },
		"a name that is not there":        func(m *made) { m.Words[theMethod+24] = assembly },
		"thrown away":                     func(m *made) { m.Words[0x3000] = 0 },
	} {
		m := madeProcess()
		change(m)
		if got, ok := m.methods().At(code); ok {
			t.Errorf("%s: %q", name, got.Name)
		}
	}
	m := madeProcess()
	m.Words[class+0x38] = class // around itself: no end
	if got, _ := m.methods().At(code); strings.Count(got.Name, "/") != maxNested-1 {
		t.Errorf("a class around itself: %q", got.Name)
	}
	m = madeProcess()
	delete(m.symbols, "mono_class_get_image")
	if m.methods().At(code); len(m.warned) != 1 {
		t.Errorf("warned of %q", m.warned)
	}
	m = madeProcess()
	m.Words[0x1800] = 7 // no list of domains
	m.at(t, code+0x1000, "")
}

// Names that were left out of the dump are those of the file, if it is that build's.
func TestNamesOfFiles(t *testing.T) {
	const guid, strings = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", "\x00Total\x00Line\x00"
	m := madeProcess()
	file := assemblyOf(guid, strings)
	at := uint64(len(file) - len(strings))
	m.mappings = []libstate.Mapping{{Start: assembly, End: assembly + 0x1000, Path: "/srv/shop.exe"}}
	m.Words[theMethod+24] = assembly + at + 1
	m.at(t, code, "")
	m.files["/srv/shop.exe"] = assemblyOf("another build...", strings)
	m.at(t, code, "")
	m.files["/srv/shop.exe"] = file
	m.at(t, code, whole)
	m.Words[theMethod+24] = assembly + 3 // not among the names
	m.at(t, code, "")
	m.Words[theMethod+24] = assembly + at + 1
	m.Words[image+0x58] = 0 // which build it was is not known
	m.at(t, code, "")
}

// assemblyOf is a file that ends with its names.
func assemblyOf(guid, names string) []byte {
	b := append([]byte("MZ......"), "BSJB\x01\x00\x01\x00\x00\x00\x00\x00\x08\x00\x00\x00v4.0.30\x00\x00\x00\x02\x00"...)
	const root, headers = 8, 16 + 20
	off := len(b) + headers - root
	le := binary.LittleEndian
	b = le.AppendUint32(le.AppendUint32(b, uint32(off)), uint32(len(guid)))
	b = append(b, "#GUID\x00\x00\x00"...)
	b = le.AppendUint32(le.AppendUint32(b, uint32(off+len(guid))), uint32(len(names)))
	b = append(b, "#Strings\x00\x00\x00\x00"...)
	return append(append(b, guid...), names...)
}

// The stub that stands for the function that is called has a table of its own; others have none.
func TestStubTable(t *testing.T) {
	m := madeProcess()
	got, _ := m.methods().At(stubCode + 0x100)
	at := jitmap.TableAddr(stubCode, 0x200)
	table := cfi.EHFrame(got.Table, at, nil, 0, cfi.Config{AddrSize: 8})
	for _, c := range []struct {
		at  uint64
		reg uint64
		off int64
	}{{0, 7, 16}, {6, 6, 16}, {0x1ff, 6, 16}} {
		var row cfi.Row
		if err := table.Row(stubCode+c.at, &row); err != nil {
			t.Fatal(err)
		}
		cfa := row.CFA()
		if ra := row.Rule(16); cfa.Reg != c.reg || cfa.Offset != c.off || ra.Kind != cfi.Offset || ra.Offset != -8 || row.FDE.End-row.FDE.Start != 0x200 {
			t.Errorf("%#x: CFA %+v, return address %+v", c.at, cfa, ra)
		}
		if rbp := row.Rule(6); (rbp.Kind == cfi.Offset) != (c.at >= 6) || rbp.Kind == cfi.Offset && rbp.Offset != -16 {
			t.Errorf("%#x: rbp %+v", c.at, rbp)
		}
	}
	for name, entry := range map[string][]byte{
		"no return address is taken": {0x55, 0x48, 0x8b, 0xec},
		"no frame is set up":         {0x41, 0x5b, 0x55, 0xc3},
		"another register is saved":  {0x41, 0x5b, 0x53, 0x48, 0x8b, 0xec},
		"no instruction":             {0x41, 0x5b, 0x06, 0x55, 0x48, 0x8b, 0xec},
		"a call before":              {0x41, 0x5b, 0xe8, 0, 0, 0, 0, 0x55, 0x48, 0x8b, 0xec},
	} {
		m.Put(stubCode, entry...)
		if got, ok := m.methods().At(stubCode + 0x100); !ok || got.Table != nil {
			t.Errorf("%s: %t, table %x", name, ok, got.Table)
		}
	}
}

// Of stubs only those that are proved to be have a name: what they are made of says where their code is.
func TestStubs(t *testing.T) {
	m := madeProcess()
	m.Words[0x3100], m.Words[0x3108] = m.Words[0x3110], stubCode // the name first, as in other versions
	m.at(t, stubCode, "(stub) generic_trampoline_jit")
	m.Words[0x3100] = 0
	m.at(t, stubCode, "(stub)")
	m.Words[0x3108]++
	m.at(t, stubCode, "")
	// With a store before it, as the specific stub's argument is kept.
	m = madeProcess()
	m.Put(stubCode, 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0x4c, 0x89, 0x5c, 0x24, 0xe8, 0x41, 0x5b, 0x55, 0x48, 0x8b, 0xec)
	if got, _ := m.methods().At(stubCode); len(got.Table) == 0 {
		t.Error("no table")
	}
}

// Names are kept up to a limit.
func TestNamesAreBounded(t *testing.T) {
	var f files
	if !f.take(maxNames-1) || f.take(2) || !f.take(1) || f.take(1) {
		t.Error("more is kept than may be")
	}
	for i := range uint64(maxFiles + 1) {
		if (f.of(i+1) != nil) != (i < maxFiles) {
			t.Errorf("assembly %d", i)
		}
	}
	if f.of(1) == nil {
		t.Error("the first is not kept")
	}
}

// A process is not searched without end, and what was found stays.
func TestSearchesAreBounded(t *testing.T) {
	m := madeProcess().methods()
	if _, ok := m.At(code); !ok {
		t.Fatal("no method")
	}
	for i := range uint64(2*maxSearched/4 + maxAsked) {
		m.At(code + 0x40000 + i)
	}
	if m.chunks > maxSearched+4 || len(m.asked) > maxAsked {
		t.Errorf("%d chunks searched, %d answers kept", m.chunks, len(m.asked))
	}
	if _, ok := m.At(code + 1); ok {
		t.Error("searched further")
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(uint64(root+0x148), uint64(5), uint64(code))
	f.Add(uint64(class+0x38), uint64(outer), uint64(code+8))
	f.Fuzz(func(t *testing.T, at, value, addr uint64) {
		m := madeProcess()
		m.Words[at&^7] = value
		if got, ok := m.methods().At(addr); ok && (addr-got.Start >= got.Size || len(got.Name) > 2*maxNested*maxName) {
			t.Errorf("%+v", got)
		}
	})
}
