package elffile

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dynImage is a shared library whose dynamic symbols are f, at 0x1800 of 0x10
// bytes, and the undefined u before it. hash is DT_HASH, DT_GNU_HASH or 0.
func dynImage(t testing.TB, class int, big bool, base, bias uint64, hash int64) []byte {
	m := &image{class: class, big: big, typ: ET_DYN, machine: EM_X86_64, base: base, noShdrs: true}
	strs, at := strtab("libx.so.1", "liba.so", "libb.so", "f", "u")
	syms := bytes.Join([][]byte{m.sym(0, 0, 0, 0, 0, 0), m.sym(at["u"], 0, 0, fn, gl, 0), m.sym(at["f"], base+0x1800, 0x10, fn, gl, 7)}, nil)
	h := enc{m: m}
	if hash == DT_HASH {
		h.u32(1)
		h.u32(3)
	} else {
		for _, v := range []uint32{1, 2, 1, 0} {
			h.u32(v)
		}
		h.word(0)
		h.u32(2)      // the bucket begins with symbol 2
		h.u32(1 | 42) // and ends with it
	}
	d := enc{m: m}
	dyn := func(tag int64, val uint64) { d.word(uint64(tag)); d.word(val) }
	dyn(DT_NEEDED, uint64(at["liba.so"]))
	dyn(DT_NEEDED, uint64(at["libb.so"]))
	dyn(DT_SONAME, uint64(at["libx.so.1"]))
	dyn(DT_SYMTAB, base+bias+0x1000)
	dyn(DT_STRTAB, base+bias+0x1200)
	dyn(DT_STRSZ, uint64(len(strs)))
	if hash != 0 {
		dyn(hash, base+bias+0x1400)
	}
	dyn(DT_NULL, 0)
	dyn(DT_NEEDED, 0)
	m.secs = []sec{
		{typ: SHT_PROGBITS, addr: 0x1000, data: syms}, {typ: SHT_STRTAB, addr: 0x1200, data: strs},
		{typ: SHT_PROGBITS, addr: 0x1400, data: h.b}, {typ: SHT_DYNAMIC, addr: 0x1600, data: d.b},
		{typ: SHT_PROGBITS, addr: 0x1800, data: make([]byte, 0x100)},
	}
	m.progs = []Prog{
		{Type: PT_LOAD, Flags: PF_R | PF_X, Vaddr: base, Filesz: 0x1900, Memsz: 0x1900},
		{Type: PT_DYNAMIC, Off: 0x1600, Vaddr: base + 0x1600, Filesz: uint64(len(d.b)), Memsz: uint64(len(d.b))},
	}
	return m.build(t)
}

func checkDynamic(t *testing.T, what string, f *File, base uint64) {
	t.Helper()
	if got := f.SONAME(); got != "libx.so.1" {
		t.Errorf("%s: SONAME %q", what, got)
	}
	if got := f.Needed(); !slices.Equal(got, []string{"liba.so", "libb.so"}) {
		t.Errorf("%s: needed %q", what, got)
	}
	tab, err := f.DynSym()
	if err != nil || tab.Len() < 3 {
		t.Fatalf("%s: %v", what, err)
	}
	if got := lookupBoth(t, tab, base+0x1808); got != "f" {
		t.Errorf("%s: looked up %q", what, got)
	}
	if s, ok := f.SymByName("f"); !ok || s.Value != base+0x1800 {
		t.Errorf("%s: f = %+v, %v", what, s, ok)
	}
	if _, ok := f.SymByName("u"); ok {
		t.Errorf("%s: undefined u was found", what)
	}
}

func TestDynamicWithoutSections(t *testing.T) {
	for _, k := range kinds {
		for _, hash := range []int64{DT_HASH, DT_GNU_HASH, 0} {
			f := mustParse(t, dynImage(t, k.class, k.big, 0x40000, 0, hash))
			checkDynamic(t, k.name, f, 0x40000)
			if tab, _ := f.DynSym(); hash != 0 && tab.Len() != 3 {
				t.Errorf("%s, tag %#x: %d symbols", k.name, hash, tab.Len())
			}
		}
	}
}

// TestMemoryImage reads a library as it is in a process: with and without its load bias
// applied, with the second segment at its address.
func TestMemoryImage(t *testing.T) {
	for _, k := range kinds {
		for _, bias := range []uint64{0, 0x7000000} {
			data := dynImage(t, k.class, k.big, 0x40000, bias, DT_GNU_HASH)
			f, err := ParseMemory(data, 0x40000+0x7000000)
			if err != nil {
				t.Fatal(err)
			}
			checkDynamic(t, k.name, f, 0x40000)
		}
	}
}

func TestMemoryLayoutDiffersFromFile(t *testing.T) {
	m := &image{class: 64, typ: ET_DYN, noShdrs: true}
	note := m.note("GNU", NT_GNU_BUILD_ID, []byte("0123"), 4)
	m.secs = []sec{{typ: SHT_NOTE, addr: 0x3000, data: note}}
	m.progs = []Prog{
		{Type: PT_LOAD, Off: 0, Vaddr: 0, Filesz: 0x500, Memsz: 0x500},
		{Type: PT_LOAD, Off: 0x1000, Vaddr: 0x3000, Filesz: 0x100, Memsz: 0x100},
		{Type: PT_NOTE, Off: 0x1000, Vaddr: 0x3000, Filesz: uint64(len(note)), Align: 4},
	}
	f, err := ParseMemory(m.build(t), 0x7f0000000000)
	if err != nil || string(f.BuildID()) != "0123" {
		t.Errorf("build-id %q, %v", f.BuildID(), err)
	}
	if off, ok := f.VaddrToOff(0x3004); off != 0x3004 || !ok {
		t.Errorf("0x3004 is at %#x, %v", off, ok)
	}
}

// TestVDSO reads the kernel's vDSO in this process.
func TestVDSO(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip("no /proc:", err)
	}
	var lo, hi uint64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			a, b, _ := strings.Cut(strings.Fields(line)[0], "-")
			lo, _ = strconv.ParseUint(a, 16, 64)
			hi, _ = strconv.ParseUint(b, 16, 64)
		}
	}
	mem, err := os.Open("/proc/self/mem")
	if lo == 0 || err != nil {
		t.Skip("no vDSO here")
	}
	defer mem.Close()
	data := make([]byte, hi-lo)
	if _, err := mem.ReadAt(data, int64(lo)); err != nil {
		t.Skip(err)
	}
	for name, parse := range map[string]func() (*File, error){
		"file":   func() (*File, error) { return Parse(data) },
		"memory": func() (*File, error) { return ParseMemory(data, lo) },
	} {
		f, err := parse()
		if err != nil {
			t.Fatal(name, err)
		}
		found := false
		tab, err := f.DynSym()
		if err != nil {
			t.Fatal(name, err)
		}
		for s := range tab.All() {
			if s.IsFunc() && s.Defined() {
				got, ok := tab.Lookup(s.Value)
				found = true
				if !ok || got.Value != s.Value {
					t.Errorf("%s: %s at %#x found as %q", name, s.Name(), s.Value, got.Name())
				}
			}
		}
		if !found || !strings.HasPrefix(f.SONAME(), "linux-vdso") && !strings.HasPrefix(f.SONAME(), "linux-gate") {
			t.Errorf("%s: SONAME %q, functions %v", name, f.SONAME(), found)
		}
	}
}
