package elffile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand"
	"strings"
	"testing"
)

type tsym struct {
	name        string
	value, size uint64
	typ, bind   uint8
	shndx       uint16
}

// symImage is a file with .text at 0x1000-0x2000 (section 1), .data at
// 0x2000-0x2800 (section 2) and the given symbols.
func symImage(class int, big bool, machine uint16, syms []tsym) *image {
	m := &image{class: class, big: big, typ: ET_EXEC, machine: machine}
	names := []byte{0}
	tab := m.sym(0, 0, 0, 0, 0, 0)
	for _, s := range syms {
		off := uint32(0)
		if s.name != "" {
			off = uint32(len(names))
			names = append(append(names, s.name...), 0)
		}
		tab = append(tab, m.sym(off, s.value, s.size, s.typ, s.bind, s.shndx)...)
	}
	m.secs = []sec{
		{name: ".text", typ: SHT_PROGBITS, flags: SHF_ALLOC | SHF_EXECINSTR, addr: 0x1000, data: make([]byte, 0x1000)},
		{name: ".data", typ: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE, addr: 0x2000, data: make([]byte, 0x800)},
		{name: ".symtab", typ: SHT_SYMTAB, data: tab, link: 4, entsize: uint64(symSize(class))},
		{name: ".strtab", typ: SHT_STRTAB, data: names},
	}
	m.progs = []Prog{{Type: PT_LOAD, Off: 0, Vaddr: 0, Filesz: 0x2800, Memsz: 0x2800}}
	return m
}

func symTab(t testing.TB, m *image) *SymTab {
	t.Helper()
	tab, err := mustParse(t, m.build(t)).SymTab()
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// lookupBoth looks up an address by scan and by index, and requires the same result.
func lookupBoth(t testing.TB, tab *SymTab, addr uint64) string {
	t.Helper()
	a, okA := tab.scan(addr)
	tab.lookups.Store(indexAfter)
	b, okB := tab.Lookup(addr)
	if a != b || okA != okB {
		t.Errorf("%#x: scan says %+v %q %v, index %+v %q %v", addr, a, a.Name(), okA, b, b.Name(), okB)
	}
	return a.Name()
}

// nameBoth looks up a name by scan and by index, and requires the same result.
func nameBoth(t testing.TB, tab *SymTab, name string) {
	t.Helper()
	if name == "" {
		return
	}
	a, okA := tab.scanNames(name)
	tab.nameLookups.Store(namesAfter)
	b, okB := tab.ByName(name)
	if a != b || okA != okB {
		t.Errorf("%q: scan says %+v %v, index %+v %v", name, a, okA, b, okB)
	}
}

const (
	fn, no, ob = STT_FUNC, STT_NOTYPE, STT_OBJECT
	lo, gl, we = STB_LOCAL, STB_GLOBAL, STB_WEAK
)

func TestLookupRules(t *testing.T) {
	for _, c := range []struct {
		name string
		syms []tsym
		want map[uint64]string
	}{
		{"plain", []tsym{{"b", 0x1200, 0x10, fn, gl, 1}, {"a", 0x1100, 0x10, fn, lo, 1}},
			map[uint64]string{0x10ff: "", 0x1100: "a", 0x110f: "a", 0x1110: "", 0x1200: "b", 0x120f: "b", 0x1210: ""}},
		{"binding", []tsym{{"__GI_raise", 0x1100, 0x10, fn, lo, 1}, {"gsignal", 0x1100, 0x10, fn, we, 1}, {"raise", 0x1100, 0x10, fn, gl, 1}},
			map[uint64]string{0x1104: "raise"}},
		{"underscores", []tsym{{"__write", 0x1100, 0x10, fn, we, 1}, {"write", 0x1100, 0x10, fn, we, 1}, {"x", 0x1100, 0x10, fn, we, 1}},
			map[uint64]string{0x1104: "write"}},
		{"glibc internal alias", []tsym{{"__GI___strtof", 0x1100, 0x10, fn, lo, 1}, {"____strtof", 0x1100, 0x10, fn, lo, 1}},
			map[uint64]string{0x1104: "____strtof"}},
		{"function before object before nothing", []tsym{{"obj", 0x1100, 0x10, ob, gl, 1}, {"func", 0x1100, 0x10, fn, lo, 1}, {"none", 0x1100, 0x10, no, gl, 1}},
			map[uint64]string{0x1104: "func"}},
		{"nested", []tsym{{"outer", 0x1100, 0x100, fn, gl, 1}, {"inner", 0x1140, 0x10, fn, lo, 1}, {"label", 0x1180, 0, no, gl, 1}},
			map[uint64]string{0x113f: "outer", 0x1140: "inner", 0x114f: "inner", 0x1150: "outer", 0x1184: "outer", 0x1200: ""}},
		{"sizeless", []tsym{{"_start", 0x1100, 0, no, gl, 1}, {"main", 0x1180, 0x10, fn, gl, 1}, {"asm", 0x11f0, 0, fn, lo, 1}, {"data", 0x2000, 4, ob, gl, 2}},
			map[uint64]string{0x1100: "_start", 0x117f: "_start", 0x1180: "main", 0x1190: "", 0x11ef: "", 0x11f0: "asm", 0x1fff: "asm", 0x2000: "data", 0x2004: ""}},
		{"label inside a function says nothing beyond it", []tsym{{"f", 0x1100, 0x20, fn, gl, 1}, {"in", 0x1110, 0, no, lo, 1}},
			map[uint64]string{0x1118: "f", 0x1120: "", 0x1130: ""}},
		{"mapping symbols and labels", []tsym{{"f", 0x1100, 0, no, gl, 1}, {"$x", 0x1104, 0, no, lo, 1}, {"$d.12", 0x1108, 0, no, lo, 1}, {".L4", 0x110c, 0, no, lo, 1}, {"L0\x01", 0x110e, 0, no, lo, 1}},
			map[uint64]string{0x1120: "f"}},
		{"kinds that name no address", []tsym{{"undef", 0x1100, 0x10, fn, gl, 0}, {"file", 0x1100, 0, STT_FILE, lo, rawABS}, {"abs", 0x1100, 0, no, gl, rawABS}, {"tls", 0x1100, 8, STT_TLS, gl, 1}, {"sec", 0x1100, 0, STT_SECTION, lo, 1}, {"", 0x1100, 0x10, fn, gl, 1}},
			map[uint64]string{0x1100: ""}},
		{"absolute function", []tsym{{"abs", 0x1100, 0x10, fn, gl, rawABS}}, map[uint64]string{0x1104: "abs"}},
		{"section bounds", []tsym{{"long", 0x1f00, 0x180, fn, gl, 1}, {"wrong", 0x1100, 0x10, fn, gl, 2}, {"data", 0x2100, 0, ob, gl, 2}},
			map[uint64]string{0x1fff: "long", 0x2000: "", 0x1104: "", 0x27ff: "data", 0x2800: ""}},
		{"wrapping size", []tsym{{"huge", 0x1100, 1<<64 - 1, fn, gl, 1}}, map[uint64]string{0x10ff: "", 0x1100: "huge", 0x1fff: "huge", 0x2000: ""}},
		{"versions", []tsym{{"memcpy@@GLIBC_2.14", 0x1100, 0x10, fn, gl, 1}, {"@odd", 0x1200, 0x10, fn, gl, 1}},
			map[uint64]string{0x1100: "memcpy", 0x1200: "@odd"}},
	} {
		tab := symTab(t, symImage(64, false, EM_AARCH64, c.syms))
		for addr, want := range c.want {
			if got := lookupBoth(t, tab, addr); got != want {
				t.Errorf("%s: %#x is %q, want %q", c.name, addr, got, want)
			}
		}
	}
}

const rawABS = 0xfff1

func TestSymbolsAllLayouts(t *testing.T) {
	syms := []tsym{{"f", 0x1100, 0x10, fn, gl, 1}, {"g@V1", 0x1200, 0x10, fn, gl, 1}, {"g@@V2", 0x1300, 0x10, fn, gl, 1}, {"h", 0x1400, 4, fn, lo, 1}, {"h", 0x1500, 4, fn, gl, 1}, {"ff", 0x1600, 4, fn, gl, 0}}
	for _, k := range kinds {
		tab := symTab(t, symImage(k.class, k.big, EM_386, syms))
		if got := lookupBoth(t, tab, 0x1104); got != "f" {
			t.Errorf("%s: 0x1104 is %q", k.name, got)
		}
		for name, want := range map[string]uint64{"f": 0x1100, "g": 0x1300, "h": 0x1500} {
			if s, ok := tab.ByName(name); s.Value != want || !ok || s.Name() != name {
				t.Errorf("%s: %s = %#x %v, want %#x", k.name, name, s.Value, ok, want)
			}
		}
		for _, name := range []string{"ff", "", "g@V1", "fg", "nothing"} {
			if s, ok := tab.ByName(name); ok && name != "g@V1" {
				t.Errorf("%s: found %q: %+v", k.name, name, s)
			}
		}
		n := 0
		for s := range tab.All() {
			n += s.Index
		}
		if n != 1+2+3+4+5+6 || tab.Len() != 7 {
			t.Errorf("%s: All gave indexes of sum %d", k.name, n)
		}
		if _, ok := tab.Sym(7); ok {
			t.Error("symbol past the end")
		}
	}
}

func TestThumbBit(t *testing.T) {
	tab := symTab(t, symImage(32, false, EM_ARM, []tsym{{"thumb", 0x1101, 0x10, fn, gl, 1}, {"$t", 0x1100, 0, no, lo, 1}}))
	if s, ok := tab.Lookup(0x1100); !ok || s.Value != 0x1100 || s.Name() != "thumb" {
		t.Errorf("%+v %v", s, ok)
	}
	lookupBoth(t, tab, 0x1100)
}

func TestPPC64Descriptors(t *testing.T) {
	m := symImage(64, true, EM_PPC64, []tsym{{"f", 0x2010, 0x20, fn, gl, 2}, {"d", 0x2100, 8, ob, gl, 2}})
	m.secs[1].name = ".opd"
	binary.BigEndian.PutUint64(m.secs[1].data[0x10:], 0x1200)
	tab := symTab(t, m)
	for addr, want := range map[uint64]string{0x1200: "f", 0x121f: "f", 0x1220: "", 0x2010: "", 0x2100: "d"} {
		if got := lookupBoth(t, tab, addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
}

// The descriptors of a file whose symbols were split off are in the file itself.
func TestPPC64DescriptorsSplit(t *testing.T) {
	syms := []tsym{{"f", 0x2010, 0x20, fn, gl, 2}}
	whole, split := symImage(64, true, EM_PPC64, syms), symImage(64, true, EM_PPC64, syms)
	whole.secs[1].name, split.secs[1].name = ".opd", ".opd"
	binary.BigEndian.PutUint64(whole.secs[1].data[0x10:], 0x1200)
	split.secs[1].typ, split.secs[1].size = SHT_NOBITS, 0x800
	tab := symTab(t, split)
	tab.FollowDescriptors(symTab(t, whole).file)
	if got := lookupBoth(t, tab, 0x1204); got != "f" {
		t.Errorf("0x1204 is %q", got)
	}
	moved := symImage(64, true, EM_PPC64, syms)
	moved.secs[1].name, moved.secs[1].addr = ".opd", 0x3000
	tab = symTab(t, split)
	tab.FollowDescriptors(symTab(t, moved).file)
	if got := lookupBoth(t, tab, 0x1204); got != "" {
		t.Errorf("by the descriptors of another file 0x1204 is %q", got)
	}
}

// TestScanAndIndexAgree tests both with all kinds of overlapping symbols.
func TestScanAndIndexAgree(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for round := range 60 {
		var syms []tsym
		for i := range 1 + rng.Intn(400) {
			s := tsym{fmt.Sprintf("%.*ss%d", rng.Intn(3), "__", i), 0xff0 + uint64(rng.Intn(0x300)), uint64(rng.Intn(40)), uint8(rng.Intn(4)), uint8(rng.Intn(3)), uint16(rng.Intn(3))}
			if rng.Intn(3) == 0 {
				s.size = 0
			}
			if rng.Intn(20) == 0 {
				s.value, s.size = rng.Uint64(), rng.Uint64()
			}
			if rng.Intn(20) == 0 {
				s.shndx = rawABS
			}
			syms = append(syms, s)
		}
		tab := symTab(t, symImage(64, round%2 == 1, EM_X86_64, syms))
		for addr := uint64(0xfe0); addr < 0x1320; addr++ {
			lookupBoth(t, tab, addr)
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func TestExtendedSymbolSection(t *testing.T) {
	m := symImage(64, false, EM_X86_64, []tsym{{"f", 0x1100, 0x10, fn, gl, rawXIndex}})
	x := enc{m: m}
	x.u32(0)
	x.u32(1)
	m.secs = append(m.secs, sec{name: ".symtab_shndx", typ: SHT_SYMTAB_SHNDX, data: x.b, link: 3})
	if got := lookupBoth(t, symTab(t, m), 0x1104); got != "f" {
		t.Errorf("0x1104 is %q", got)
	}
}

func TestNameIndexAgreesWithScan(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	bases := []string{"f", "g", "memcpy", "_", "@", strings.Repeat("long", 70), strings.Repeat("long", 70) + "er"}
	versions := []string{"", "@V1", "@@V2", "@", "@@"}
	for round := range 200 {
		var syms []tsym
		for range rng.Intn(40) {
			s := tsym{bases[rng.Intn(len(bases))] + versions[rng.Intn(len(versions))], 0x1000 + uint64(rng.Intn(0x100)), 4, fn, uint8(rng.Intn(3)), uint16(rng.Intn(2))}
			if rng.Intn(10) == 0 {
				s.typ = STT_FILE
			}
			syms = append(syms, s)
		}
		tab := symTab(t, symImage(32+round%2*32, round%3 == 1, EM_X86_64, syms))
		for _, base := range bases {
			for _, v := range versions {
				nameBoth(t, tab, base+v)
			}
		}
		if t.Failed() {
			t.Fatalf("round %d: %+v", round, syms)
		}
	}
}

// Lookups read the whole table only a few times, however many there are.
func TestLookupSteps(t *testing.T) {
	const n = 5000
	var syms []tsym
	for i := range n { // pairs of names for one place, and a symbol that spans some others
		syms = append(syms, tsym{fmt.Sprint("f", i), 0x1000 + uint64(i%0x800&^1), 2, fn, gl, 1})
	}
	tab := symTab(t, symImage(32, false, EM_386, append(syms, tsym{"whole", 0x1000, 0x100, ob, gl, 1})))
	words := &countingOrder{ByteOrder: tab.file.Order}
	tab.file.Order = words
	for i := range indexAfter + 1 {
		tab.Lookup(0x1000 + uint64(i))
	}
	for i := range namesAfter + 1 {
		tab.ByName(fmt.Sprint("f", i))
	}
	words.n = 0
	for i := range n {
		name := fmt.Sprint("f", i)
		if s, ok := tab.ByName(name); !ok || s.Name() != name {
			t.Fatalf("%s is %q, %v", name, s.Name(), ok)
		}
		if s, ok := tab.Lookup(0x1000 + uint64(i%0x800)); !ok || s.Value != 0x1000+uint64(i%0x800&^1) {
			t.Fatalf("%#x is in %q at %#x, %v", 0x1000+i%0x800, s.Name(), s.Value, ok)
		}
	}
	if words.n < n || words.n > 50*n {
		t.Errorf("%d words read by %d lookups of addresses and as many of names", words.n, n)
	}
}

// After a pass over a large table, the file is told that it is not needed as a whole.
func TestPassesRelease(t *testing.T) {
	for _, n := range []int{100, 40_000} {
		var syms []tsym
		for i := range n {
			syms = append(syms, tsym{fmt.Sprintf("function_%d", i), 0x1000, 2, fn, gl, 1})
		}
		tab := symTab(t, symImage(64, false, EM_X86_64, syms))
		f := tab.file
		var data, names int
		f.Release = func(off, size uint64) {
			switch s := f.Section(".strtab"); {
			case off == s.Off && size == s.Size:
				names++
			case off == f.Section(".symtab").Off && size == uint64(len(tab.data)):
				data++
			default:
				t.Errorf("%d bytes from %d on", size, off)
			}
		}
		tab.Lookup(0x1000)
		tab.ByName("function_7")
		tab.buildIndex()
		tab.indexNames()
		if want := [2]int{4, 3}; n > 1000 && [2]int{data, names} != want || n < 1000 && data+names > 0 {
			t.Errorf("of %d symbols: entries %d times, names %d times; want %d", n, data, names, want)
		}
	}
}

func TestConcurrentLookups(t *testing.T) {
	tab := symTab(t, symImage(64, false, EM_X86_64, []tsym{{"f", 0x1100, 0x10, fn, gl, 1}}))
	done := make(chan bool)
	for range 4 {
		go func() {
			good := true
			for range indexAfter {
				s, ok := tab.Lookup(0x1104)
				good = good && ok && s.Name() == "f"
			}
			done <- good
		}()
	}
	for range 4 {
		if !<-done {
			t.Error("wrong answer")
		}
	}
}

// The checksum of a file in several parts is that of the whole.
func TestDebugLinkCRC(t *testing.T) {
	data := make([]byte, 3<<20+77)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	f := &File{Data: data}
	released := uint64(0)
	f.Release = func(off, size uint64) { released += size }
	if got, want := f.DebugLinkCRC(), crc32.ChecksumIEEE(data); got != want || released < 3<<20 {
		t.Errorf("%#x, want %#x; %d bytes released", got, want, released)
	}
}

// Scans that compare thousands of symbols for one address are soon no longer made.
func TestManyCoveringSymbols(t *testing.T) {
	var syms []tsym
	for range 50 * closePerLookup {
		syms = append(syms, tsym{"f", 0x1100, 0x10, fn, gl, 1})
	}
	tab := symTab(t, symImage(64, false, EM_X86_64, syms))
	for range 2 {
		if s, ok := tab.Lookup(0x1104); !ok || s.Name() != "f" || s.Value != 0x1100 {
			t.Fatalf("%v, %t", s, ok)
		}
	}
	if tab.lookups.Load() < indexAfter {
		t.Error("the third look-up would scan")
	}
}

// A text is found wherever it is, also where what is read in one go ends.
func TestMentions(t *testing.T) {
	names := make([]byte, 3*mentionsStep)
	for _, at := range []int{0, mentionsStep - 5, mentionsStep - 1, mentionsStep, 2*mentionsStep - 3, len(names) - 6} {
		copy(names[at:], "needle")
		table := &SymTab{strs: names}
		if !table.Mentions("needle") {
			t.Errorf("not found at %#x", at)
		}
		clear(names)
		if table.Mentions("needle") || !table.Mentions("") {
			t.Errorf("%#x: found where it is not, or the empty text is not", at)
		}
	}
}
