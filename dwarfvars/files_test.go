package dwarfvars

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A handFile is a program or library of x86-64 made by hand.
type handFile struct {
	progs    []elffile.Prog
	sections map[string][]byte
	symbols  map[string]uint64 // of functions
}

// image writes the file.
func (h *handFile) image(t *testing.T) *image.Image {
	t.Helper()
	le := binary.LittleEndian
	type section struct {
		name      string
		typ, link uint32
		data      []byte
		entry     uint64
	}
	list := []section{{}}
	for _, name := range slices.Sorted(maps.Keys(h.sections)) {
		list = append(list, section{name: name, typ: 1, data: h.sections[name]})
	}
	names, syms := []byte{0}, make([]byte, 24)
	for _, name := range slices.Sorted(maps.Keys(h.symbols)) {
		syms = le.AppendUint32(syms, uint32(len(names)))
		syms = append(syms, 0x12, 0, 0xf1, 0xff) // a global function of no section
		syms = le.AppendUint64(le.AppendUint64(syms, h.symbols[name]), 0x10)
		names = append(append(names, name...), 0)
	}
	list = append(list, section{name: ".symtab", typ: 2, link: uint32(len(list) + 1), data: syms, entry: 24}, section{name: ".strtab", typ: 3, data: names})
	strs := []byte{0}
	var headers []byte
	list = append(list, section{name: ".shstrtab", typ: 3})
	for _, s := range list {
		strs = append(append(strs, s.name...), 0)
	}
	list[len(list)-1].data = strs

	out := make([]byte, 64)
	copy(out, "\x7fELF\x02\x01\x01")
	for _, p := range h.progs {
		out = le.AppendUint32(le.AppendUint32(out, uint32(p.Type)), 5)
		for _, v := range []uint64{p.Off, p.Vaddr, p.Vaddr, p.Filesz, p.Memsz, p.Align} {
			out = le.AppendUint64(out, v)
		}
	}
	at := uint32(1)
	for i, s := range list {
		name := at
		if i == 0 {
			name = 0
		}
		headers = le.AppendUint32(le.AppendUint32(headers, name), s.typ)
		for _, v := range []uint64{0, 0, uint64(len(out)), uint64(len(s.data)), uint64(s.link), 1, s.entry} {
			headers = le.AppendUint64(headers, v)
		}
		out = append(out, s.data...)
		at += uint32(len(s.name)) + 1
		if i == 0 {
			at = 2
		}
	}
	le.PutUint16(out[16:], 3)
	le.PutUint16(out[18:], elffile.EM_X86_64)
	le.PutUint32(out[20:], 1)
	le.PutUint64(out[32:], 64)
	le.PutUint64(out[40:], uint64(len(out)))
	for i, v := range []int{64, 56, len(h.progs), 64, len(list), len(list) - 1} {
		le.PutUint16(out[52+2*i:], uint16(v))
	}
	im, err := image.New(append(out, headers...))
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// handLibraries is a LibraryState of a program, a C library, and others behind them. Each may be
// nil.
type handLibraries struct {
	noLibraries
	list []*libstate.Library
	fail bool // Libraries fails
}

func (h *handLibraries) LibraryAt(addr arch.Address) (*libstate.Library, bool) {
	for _, l := range h.list {
		if l != nil && addr >= l.Start && addr < l.End {
			return l, true
		}
	}
	return nil, false
}
func (h *handLibraries) Libraries(refresh bool) ([]*libstate.Library, error) {
	if refresh || h.fail {
		return h.list, errors.New("no list")
	}
	return h.list, nil
}
func (h *handLibraries) number(n int) (*libstate.Library, bool) {
	if n >= len(h.list) || h.list[n] == nil {
		return nil, false
	}
	return h.list[n], true
}
func (h *handLibraries) AOut() (*libstate.Library, bool) { return h.number(0) }
func (h *handLibraries) Libc() (*libstate.Library, bool) { return h.number(1) }

// handFiles is the files of libraries.
type handFiles map[*libstate.Library]*image.Image

func (h handFiles) Image(lib *libstate.Library) *modules.Image {
	if lib == nil {
		panic("the file of no library")
	}
	return (*modules.Image)(h[lib])
}

// spans are the attributes of a unit with code.
func spans(low, high uint64) *handDIE { return die(dwarf.TagCompileUnit, code(low, high)...) }

// text is the loaded segment of a file.
var text = elffile.Prog{Type: elffile.PT_LOAD, Flags: 5, Memsz: 0x10000, Filesz: 0x40, Align: 1}

// TestFunctionsOfFrames finds the function at an address.
func TestFunctionsOfFrames(t *testing.T) {
	fn := func(name string, low, high uint64, more ...handAttr) *handDIE {
		return named(dwarf.TagSubprogram, name, code(low, high, more...)...)
	}
	result := base("int", types.EncSigned, 4)
	sections, _ := unitSections(binary.LittleEndian, 8, 4, dwarf.LangC99,
		[]*handDIE{spans(0x1000, 0x3000), result, fn("f", 0x1000, 0x1100, handAttr{dwarf.AttrLinkageName, "_f"}), fn("g", 0x1100, 0x1200, handAttr{dwarf.AttrType, result})}, []*handDIE{spans(0x1050, 0x1060)},
		[]*handDIE{spans(0x2000, 0x2100), fn("h", 0x2000, 0x2100)})
	lib, bare := &libstate.Library{Path: "lib", LoadBias: 0x100000, Start: 0x100000, End: 0x110000}, &libstate.Library{Path: "bare", Start: 0x200000, End: 0x210000}
	p := newHand(arch.AMD64, 8)
	p.libs = &handLibraries{list: []*libstate.Library{lib, bare}}
	r := New(p, handFiles{lib: (&handFile{progs: []elffile.Prog{text}, sections: sections, symbols: map[string]uint64{"_f": 0x1000}}).image(t)})
	for addr, want := range map[uint64]string{
		0x101000: "f _f 101000 101100", 0x1010ff: "f _f 101000 101100", 0x101055: "f _f 101000 101100", 0x101100: "g  101100 101200", 0x102000: "h  102000 102100",
		0x102100: "lib, 0x102100: no debugging information for the frame's function", 0x103000: "lib, 0x103000: no debugging information for the frame's function",
		0x200000: "bare, 0x200000: no debugging information for the frame's function", 0x300000: "0x300000 is in no library: no debugging information for the frame's function",
	} {
		f, err := r.functionAt(addr)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%s %s %x %x", f.Name, f.LinkageName, f.Low, f.High)
			if again, _ := r.functionAt(addr); again != f || f.Library != lib {
				t.Errorf("%#x: another one the second time", addr)
			}
		}
		if got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
	if _, err := r.FunctionForFrame(nil); !errors.Is(err, ErrParam) {
		t.Error(err)
	}
	if got := len((*libraries)(r).All()); got != 2 {
		t.Errorf("%d libraries", got)
	}
	if got := (*libraries)(New(&handProcess{arch: arch.AMD64, libs: &handLibraries{list: []*libstate.Library{lib}, fail: true}}, nil)).All(); got != nil {
		t.Errorf("%d libraries of a list that cannot be read", len(got))
	}
	for addr, want := range map[uint64]string{0x101000: "_f 0 true", 0x10100f: "_f 15 true", 0x102000: " 0 false", 0x200000: " 0 false", 0x300000: " 0 false"} {
		s, ok := (*libraries)(r).SymbolAt(addr)
		if got := fmt.Sprint(s.Linkage, " ", s.Off, " ", ok); got != want {
			t.Errorf("%#x: symbol %s, want %s", addr, got, want)
		}
	}
	for _, addr := range []uint64{0x101000, 0x200000, 0x300000} { // no call frame information, no file, no library
		if low, high, ok := where.ProcessOf(r).Bounds(addr); low != 0 || high != 0 || ok {
			t.Errorf("%#x to %#x", low, high)
		}
	}
	for addr, want := range map[uint64]bool{0x101000: true, 0x101100: false, 0x102100: false} {
		if got := where.ProcessOf(r).ReturnsNothing(addr); got != want {
			t.Errorf("%#x returns nothing: %v", addr, got)
		}
	}
	for _, frames := range [][]*unwind.Frame{nil, {nil}} {
		if _, err := r.At(frames, 0); !errors.Is(err, ErrParam) {
			t.Error(err)
		}
	}
	if n, code, err := r.GetLocalVariableValue(&LocalVar{}, p.walk(t), 0, nil); n != 0 || code != GlvvEParam || !errors.Is(err, ErrParam) {
		t.Errorf("a variable of nothing: %d, %v, %v", n, code, err)
	}
	p.libs = nil
	if _, err := r.functionAt(0x101000); !errors.Is(err, ErrNoFunction) {
		t.Error(err)
	}
	if got := (*libraries)(r).All(); got != nil {
		t.Errorf("%d libraries of none", len(got))
	}
	if low, high, ok := where.ProcessOf(r).Bounds(0x101000); low != 0 || high != 0 || ok {
		t.Errorf("%#x to %#x without libraries", low, high)
	}
	if s, ok := (*libraries)(r).SymbolAt(0x101000); ok {
		t.Errorf("%v without libraries", s)
	}
}
