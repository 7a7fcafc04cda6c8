package image_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/fixture"
)

var strippedGo = []string{"amd64-go-stripped", "amd64-go-stripped-118", "amd64-go-stripped-pie"}

// A Go program without symbols names its functions, and knows which of them change stacks.
func TestGoTable(t *testing.T) {
	for _, name := range strippedGo {
		im := open(t, fixture.Get(t, name).Binary(t), t.TempDir())
		if im.HasSymTab() || im.DWARF() != nil || im.DebugFrame() != nil {
			t.Errorf("%s is not stripped", name)
		}
		method, ok := im.SymbolByName("main.(*book).close")
		if !ok || method.Size == 0 {
			t.Fatalf("%s: no main.(*book).close", name)
		}
		if s, ok := im.SymbolAt(method.Value + method.Size - 1); !ok || s.Name() != method.Name() || s.Value != method.Value {
			t.Errorf("%s: at its end is %q", name, s.Name())
		}
		if s, ok := im.SymbolByName("runtime.types"); !ok || s.Value == 0 {
			t.Errorf("%s: the types are not found", name)
		}
		for fn, want := range map[string]image.GoFunc{
			"runtime.sigpanic": image.GoSigpanic, "runtime.mcall": image.GoMcall, "runtime.morestack": image.GoMorestack,
			"runtime.rt0_go": image.GoEntry, "time.now": image.GoClock, "main.main": image.GoOther, "runtime.gopanic": image.GoOther,
		} {
			s, ok := im.SymbolByName(fn)
			if got := im.GoFunc(s.Value); !ok || got != want {
				t.Errorf("%s: %s, found %v: %d, want %d", name, fn, ok, got, want)
			}
			if got := im.GoFunc(s.Value + 1); got != image.GoOther {
				t.Errorf("%s: %s does not begin at its second byte: %d", name, fn, got)
			}
		}
		if n := inlinedInto(im, method.Value, method.Size); n == 0 {
			t.Errorf("%s: no inlined calls in main.(*book).close", name)
		}
	}
}

// Of an assembly function and its wrapper only the function changes stacks.
func TestGoTableWrappers(t *testing.T) {
	im := open(t, fixture.Get(t, "amd64-go-stripped").Binary(t), t.TempDir())
	start, end := im.GoTable().Text()
	count := map[bool]int{}
	for pc := start; pc < end; {
		f, ok := im.GoFuncAt(pc)
		if !ok {
			t.Fatalf("no function at %#x", pc)
		}
		if f.Name() == "runtime.systemstack" {
			got := im.GoFunc(f.Entry)
			count[f.Asm()]++
			if (got == image.GoSystemstack) != f.Asm() {
				t.Errorf("%#x, assembly %v: %d", f.Entry, f.Asm(), got)
			}
		}
		pc = f.End
	}
	if count[true] != 1 {
		t.Errorf("systemstack: %v", count)
	}
}

// inlinedInto counts the addresses of a function where an inlined call has a name and a position.
func inlinedInto(im *image.Image, start, size uint64) int {
	n := 0
	for pc := start; pc < start+size; pc++ {
		f, _ := im.GoFuncAt(pc)
		if calls := f.Calls(pc); len(calls) > 1 && calls[0].Inlined && calls[0].Name != "" && calls[0].Line > 0 {
			n++
		}
	}
	return n
}

// A goFile is a stripped program to be damaged.
type goFile struct {
	data          []byte
	table, module uint64 // offsets in the file
}

func readGo(t *testing.T) goFile {
	t.Helper()
	data, err := os.ReadFile(fixture.Get(t, "amd64-go-stripped").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return goFile{data, f.Section(".gopclntab").Offset, f.Section(".go.module").Offset}
}

// Without runtime.moduledata, or with one of another table, the entry point proves whose the table is. The
// inlined calls cannot be found then, nor the types.
func TestGoTableByEntry(t *testing.T) {
	for name, word := range map[string]uint64{"the table's address": 0, "the number of functions": 17, "the end of the code": 21} {
		g := readGo(t)
		g.data[g.module+8*word]++
		im, err := image.New(g.data)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := im.SymbolByName("main.(*book).close")
		if !ok || inlinedInto(im, s.Value, s.Size) != 0 {
			t.Errorf("%s: found %v, with inlined calls %d", name, ok, inlinedInto(im, s.Value, s.Size))
		}
		if _, ok := im.SymbolByName("runtime.types"); ok {
			t.Errorf("%s: types out of nothing", name)
		}
	}
}

// A table that is not proved to be the program's names nothing.
func TestForeignGoTable(t *testing.T) {
	for name, damage := range map[string]func(g *goFile){
		"the entry point is another function": func(g *goFile) {
			entry := binary.LittleEndian.Uint64(g.data[24:])
			binary.LittleEndian.PutUint64(g.data[24:], entry+0x20)
		},
		"the entry point is no function": func(g *goFile) { g.data[24]++ },
		"the code ends before the last function": func(g *goFile) {
			for i := range 16 { // program headers of executable segments
				if h := g.data[64+56*i:]; h[0] == 1 && h[4]&1 != 0 {
					binary.LittleEndian.PutUint64(h[40:], 0x1000)
				}
			}
		},
		"the header is damaged":  func(g *goFile) { g.data[g.table]++ },
		"pointers of four bytes": func(g *goFile) { g.data[g.table+7] = 4 },
	} {
		g := readGo(t)
		g.data[g.module]++ // no runtime.moduledata
		damage(&g)
		im, err := image.New(g.data)
		if err != nil {
			t.Fatal(err)
		}
		if im.GoTable() != nil {
			t.Errorf("%s: the table is believed", name)
		}
		if s, ok := im.SymbolByName("main.main"); ok {
			t.Errorf("%s: main.main at %#x", name, s.Value)
		}
	}
}

// Without section headers the table is found by its header.
func TestGoTableWithoutSections(t *testing.T) {
	for _, name := range strippedGo[:2] {
		data, err := os.ReadFile(fixture.Get(t, name).Binary(t))
		if err != nil {
			t.Fatal(err)
		}
		data = slices.Clone(data)
		clear(data[0x28:0x30]) // e_shoff
		clear(data[0x3c:0x40]) // e_shnum, e_shstrndx
		im, err := image.New(data)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := im.SymbolByName("main.main"); !ok || len(im.ELF().Sections()) != 0 {
			t.Errorf("%s: %d sections, main.main at %#x", name, len(im.ELF().Sections()), s.Value)
		}
	}
	im := open(t, fixture.Get(t, "amd64-pie").Binary(t), t.TempDir())
	if im.GoTable() != nil {
		t.Error("a program of C has a table")
	}
}

func BenchmarkGoTable(b *testing.B) {
	for _, name := range strippedGo[1:] {
		data, err := os.ReadFile(fixture.Get(b, name).Binary(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				im, err := image.New(data)
				if err != nil {
					b.Fatal(err)
				}
				if im.GoTable() == nil {
					b.Fatal("no table")
				}
			}
		})
	}
}

// asPE lays the segments of a program out as sections of a PE image, whose tables have no section of their own.
func asPE(t *testing.T, data []byte) []byte {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const base, headers = 0x3f0000, 0x400 // below the segments
	le := binary.LittleEndian
	out := make([]byte, headers)
	copy(out, "MZ")
	le.PutUint32(out[0x3c:], 0x40)
	head := append([]byte("PE\x00\x00"), 0x64, 0x86) // AMD64
	var sections []byte
	count := uint16(0)
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		flags := uint32(0x40000040) // readable data
		if p.Flags&elf.PF_X != 0 {
			flags = 0x60000020
		} else if p.Flags&elf.PF_W != 0 {
			flags |= 0x80000000
		}
		name := append([]byte{'.', 's', byte('0' + count)}, make([]byte, 5)...)
		sections = append(sections, name...)
		for _, v := range []uint32{uint32(p.Memsz), uint32(p.Vaddr - base), uint32(p.Filesz), uint32(len(out)), 0, 0, 0, flags} {
			sections = le.AppendUint32(sections, v)
		}
		out = append(out, data[p.Off:p.Off+p.Filesz]...)
		for len(out)%0x200 != 0 {
			out = append(out, 0)
		}
		count++
	}
	head = le.AppendUint16(head, count)
	head = append(head, make([]byte, 12)...)
	head = le.AppendUint16(le.AppendUint16(head, 0xf0), 0x22)
	optional := make([]byte, 0xf0)
	le.PutUint16(optional, 0x20b)
	le.PutUint32(optional[16:], uint32(f.Entry-base))
	le.PutUint64(optional[24:], base)
	le.PutUint32(optional[32:], 0x1000)
	le.PutUint32(optional[36:], 0x200)
	le.PutUint32(optional[56:], 0x400000)
	le.PutUint32(optional[60:], headers)
	le.PutUint32(optional[108:], 16)
	copy(out[0x40:], append(append(head, optional...), sections...))
	return out
}

// In a PE image a table is looked for only where Go's mark says that there may be one.
func TestGoTableOfPE(t *testing.T) {
	g := readGo(t)
	pe := asPE(t, g.data)
	im, err := image.New(slices.Clone(pe))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := im.SymbolByName("main.(*book).close")
	if im.PE() == nil || !ok || inlinedInto(im, s.Value, s.Size) == 0 {
		t.Errorf("PE %v, found %v", im.PE() != nil, ok)
	}
	mark := []byte("\xff Go buildinf:")
	if !bytes.Contains(pe, mark) {
		t.Fatal("no mark")
	}
	for i := bytes.Index(pe, mark); i >= 0; i = bytes.Index(pe, mark) {
		pe[i] = 0
	}
	if im, err = image.New(pe); err != nil {
		t.Fatal(err)
	}
	if im.GoTable() != nil {
		t.Error("an image without the mark is searched")
	}
}
