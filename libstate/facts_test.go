package libstate

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestAuxv: both word sizes and byte orders, the end by ATNull and by the end of data,
// and the bound.
func TestAuxv(t *testing.T) {
	write := func(size int, order binary.AppendByteOrder, words ...uint64) []byte {
		var b []byte
		for _, w := range words {
			if size == 4 {
				b = order.AppendUint32(b, uint32(w))
			} else {
				b = order.AppendUint64(b, w)
			}
		}
		return b
	}
	want := Auxv{{3, 0x1040}, {9, 0x2000}, {3, 7}}
	for _, size := range []int{4, 8} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			read := order.(binary.ByteOrder)
			plain := write(size, order, 3, 0x1040, 9, 0x2000, 3, 7)
			for name, data := range map[string][]byte{
				"end": plain, "ATNull": write(size, order, 3, 0x1040, 9, 0x2000, 3, 7, 0, 0, 5, 5), "half an entry": append(slices.Clone(plain), plain[:2*size-1]...),
			} {
				if got := ParseAuxv(data, size, read); !slices.Equal(got, want) {
					t.Errorf("words of %d bytes, %s: %v", size, name, got)
				}
			}
			if got := ParseAuxv(plain[:2*size], size, read); len(got) != 1 {
				t.Errorf("one entry: %v", got)
			}
		}
	}
	if v, ok := want.Get(3); !ok || v != 0x1040 {
		t.Errorf("the first of two is %#x, %v", v, ok)
	}
	if v, ok := want.Get(4); ok || v != 0 {
		t.Errorf("what there is not is %#x, %v", v, ok)
	}
	endless := slices.Repeat([]byte{1}, 16*(maxAuxv+5))
	if got := ParseAuxv(endless, 8, binary.LittleEndian); len(got) != maxAuxv {
		t.Errorf("%d entries", len(got))
	}
}

func TestWords(t *testing.T) {
	for p, want := range map[Perm]string{0: "---", Read: "r--", Write: "-w-", Exec: "--x", Read | Exec: "r-x", Read | Write | Exec: "rwx", Unknown: "???", Unknown | Read: "???"} {
		if got := p.String(); got != want {
			t.Errorf("%d is %s, want %s", p, got, want)
		}
	}
	for k, want := range map[Kind]string{SharedLibrary: "library", Executable: "executable", Interpreter: "interpreter", VDSO: "vdso", JIT: "jit", JIT + 1: "library"} {
		if got := k.String(); got != want {
			t.Errorf("%d is %s, want %s", k, got, want)
		}
	}
	for f, want := range map[Format]string{FormatELF: "ELF", FormatPE: "PE", FormatMachO: "Mach-O", FormatMachO + 1: "ELF"} {
		if got := f.String(); got != want {
			t.Errorf("%d is %s, want %s", f, got, want)
		}
	}
}

// TestContains: the addresses of mappings, not of the holes between them.
func TestContains(t *testing.T) {
	var l Library
	l.SetMappings([]Mapping{{Start: 0x5000, End: 0x6000}, {Start: 0x1000, End: 0x2000}, {Start: 0x3000, End: 0x4000}})
	if l.Start != 0x1000 || l.End != 0x6000 {
		t.Errorf("from %#x to %#x", l.Start, l.End)
	}
	for addr, want := range map[arch.Address]bool{
		0xfff: false, 0x1000: true, 0x1fff: true, 0x2000: false, 0x2fff: false, 0x3000: true, 0x4000: false, 0x5000: true, 0x5fff: true, 0x6000: false, 0: false,
	} {
		if got := l.Contains(addr); got != want {
			t.Errorf("%#x: %v", addr, got)
		}
		if m, ok := l.MappingAt(addr); ok != want || ok && (addr < m.Start || addr >= m.End) {
			t.Errorf("%#x is in %+v, %v", addr, m, ok)
		}
	}
	// Start and End bound the mappings of a library that says so.
	l.Start, l.End = 0x3000, 0x5000
	for addr, want := range map[arch.Address]bool{0x1000: false, 0x3000: true, 0x5000: false, 0x5800: false} {
		if got := l.Contains(addr); got != want {
			t.Errorf("%#x of a part: %v", addr, got)
		}
	}
	var none Library
	none.SetMappings(nil)
	if none.Start != 0 || none.End != 0 || none.Contains(0) {
		t.Errorf("%+v", none)
	}
}

// TestBuildIDs: the beginning of a build-id is enough where a dump has no more of it, and
// nowhere else.
func TestBuildIDs(t *testing.T) {
	long := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	part, short := long[:16], append(slices.Clone(long[:8]), make([]byte, 8)...)
	zeros := make([]byte, 16)
	for name, c := range map[string]struct {
		have    []byte
		partial bool
		file    []byte
		want    bool
	}{
		"the same":              {long, false, long, true},
		"another":               {long, false, append(slices.Clone(long[:19]), 21), false},
		"beginning, not said":   {part, false, long, false},
		"beginning":             {part, true, long, true},
		"beginning of another":  {part, true, append([]byte{9}, long[1:]...), false},
		"shorter, filled up":    {short, true, long[:8], true},
		"shorter, not said":     {short, false, long[:8], false},
		"whole though partial":  {long, true, long, true},
		"not of 16 bytes":       {long[:8], true, long, false},
		"none of the file":      {zeros, true, nil, false},
		"nothing but zeros":     {zeros, true, []byte{0}, true},
		"none of either is one": {nil, false, nil, true},
	} {
		l := Library{BuildID: c.have, Module: &ModuleID{PartialBuildID: c.partial}}
		if got := l.SameBuildID(c.file); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got, want := l.PartialBuildID(), c.partial && len(c.have) == 16; got != want {
			t.Errorf("%s: partial %v", name, got)
		}
	}
	if l := (&Library{BuildID: part}); l.PartialBuildID() || l.SameBuildID(long) {
		t.Error("partial without a list of modules")
	}
}

// TestOverlaps: where mappings overlap, or are empty or backwards, each address has one
// library.
func TestOverlaps(t *testing.T) {
	lib := func(path string, maps ...Mapping) *Library {
		l := &Library{Path: path}
		l.SetMappings(maps)
		return l
	}
	a := lib("a", Mapping{Start: 0x1000, End: 0x3000})
	b := lib("b", Mapping{Start: 0x2000, End: 0x5000})
	c := lib("c", Mapping{Start: 0x2800, End: 0x2900}, Mapping{Start: 0x4800, End: 0x6000})
	d := lib("d", Mapping{Start: 0x7000, End: 0x7000}, Mapping{Start: 0x9000, End: 0x8000})
	e, f := lib("e", Mapping{Start: 0xa000, End: 0xb000}), lib("f", Mapping{Start: 0xa000, End: 0xc000}) // the first one of two keeps the bytes
	table := NewTable([]*Library{c, d, b, a, e, f}, 0)
	for addr, want := range map[arch.Address]string{
		0xfff: "", 0x1000: "a", 0x2000: "a", 0x2850: "a", 0x2fff: "a", 0x3000: "b", 0x4900: "b", 0x4fff: "b", 0x5000: "c", 0x5fff: "c", 0x6000: "", 0x7000: "", 0x8800: "", 0xa000: "e", 0xafff: "e", 0xb000: "f", 0xbfff: "f", 0xc000: "",
	} {
		got := ""
		if l, ok := table.LibraryAt(addr); ok {
			got = l.Path
		}
		if got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
	libs, err := table.Libraries(false)
	if err != nil || !slices.IsSortedFunc(libs, func(a, b *Library) int { return int(a.Start) - int(b.Start) }) || len(libs) != 6 {
		t.Errorf("%v, %v", libs, err)
	}
}

// TestRoles: the first program and the first C library are the ones; alone and without a
// dynamic linker a program is its own C library.
func TestRoles(t *testing.T) {
	at := func(path string, kind Kind, start arch.Address) *Library {
		return &Library{Path: path, Kind: kind, Start: start, End: start + 0x1000}
	}
	table := NewTable([]*Library{at("/lib/libc.so.6", SharedLibrary, 0x9000), at("/lib/libc-2.31.so", SharedLibrary, 0x8000),
		at("/bin/two", Executable, 0x5000), at("/bin/one", Executable, 0x4000)}, 0)
	if exe, ok := table.AOut(); !ok || exe.Path != "/bin/one" {
		t.Errorf("the program is %v", exe)
	}
	if libc, ok := table.Libc(); !ok || libc.Path != "/lib/libc-2.31.so" {
		t.Errorf("the C library is %v", libc)
	}
	threads := NewTable([]*Library{at("/lib/libpthread.so.0", SharedLibrary, 0x2000), at("/lib/libpthread-2.31.so", SharedLibrary, 0x1000)}, 0)
	if l, ok := threads.Libthread(); !ok || l.Path != "/lib/libpthread-2.31.so" {
		t.Errorf("the thread library is %v", l)
	}
	if l, ok := table.Libthread(); ok {
		t.Errorf("the thread library is %v", l)
	}
	// A shared library is no program.
	if exe, ok := NewTable([]*Library{at("/lib/x.so", SharedLibrary, 0x1000), at("/bin/one", Executable, 0x4000)}, 0).AOut(); !ok || exe.Path != "/bin/one" {
		t.Errorf("the program is %v", exe)
	}
	if exe, ok := NewTable([]*Library{at("/lib/x.so", SharedLibrary, 0x1000)}, 0).AOut(); ok {
		t.Errorf("the program is %v", exe)
	}
	alone := NewTable([]*Library{at("/bin/static", Executable, 0x4000), at(VDSOName, VDSO, 0x9000), at("jit", JIT, 0xa000)}, 0)
	if l, ok := alone.Libc(); !ok || l.Path != "/bin/static" {
		t.Errorf("the C library is %v", l)
	}
	alone.SetDynamic()
	if l, ok := alone.Libc(); ok {
		t.Errorf("the C library is %v", l)
	}
	two := NewTable([]*Library{at("/bin/one", Executable, 0x4000), at("/lib/x.so", SharedLibrary, 0x8000)}, 0)
	if l, ok := two.Libc(); ok {
		t.Errorf("the C library is %v", l)
	}
}

// TestUnchanged: a library that differs in anything that matters is another one.
func TestUnchanged(t *testing.T) {
	plain := func() *Library {
		return &Library{Path: "/lib/x.so", Kind: SharedLibrary, HeaderAddr: 0x1000, BuildID: []byte{1}, Mappings: []Mapping{{Start: 0x1000, End: 0x2000}}}
	}
	if !unchanged(plain(), plain()) {
		t.Error("the same library changed")
	}
	for name, change := range map[string]func(*Library){
		"kind": func(l *Library) { l.Kind = Executable }, "deleted": func(l *Library) { l.Deleted = true }, "headers": func(l *Library) { l.HeaderAddr++ },
		"guessed": func(l *Library) { l.BiasGuessed = true }, "build-id": func(l *Library) { l.BuildID = []byte{2} }, "mappings": func(l *Library) { l.Mappings[0].End++ },
	} {
		l := plain()
		if change(l); unchanged(plain(), l) {
			t.Errorf("%s makes no difference", name)
		}
	}
}

// TestSubscribersInOrder: news come in the order in which subscribers did.
func TestSubscribersInOrder(t *testing.T) {
	table := NewTable(nil, 0)
	var got []int
	for i := range 20 {
		table.Subscribe(func(*Library, Change) { got = append(got, i) })
	}
	table.Replace([]*Library{{Path: "/lib/x.so", Start: 0x1000, End: 0x2000}}, 0)
	if len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("%v", got)
	}
}

func TestMoreNames(t *testing.T) {
	for path, want := range map[string]bool{
		"/lib/libc.so": true, "/lib/libc-2.31.so": true, "/lib/libc-2.31.so.1": true, "/lib/libc.musl-x86_64.so.1": true, "libc.so.6": true, "/lib/ld-musl-x86_64.so.1": true,
		"/lib/libc-.so": false, "/lib/libcrypt.so.1": false, "/lib/libc.sox": false, "/lib/libc-client.so": false, "/lib/mylibc.so": false, "/lib/libc": false, "/lib/libc-": false, "/lib/libc-2": false,
		"/lib/.so": false, "/lib/.so.6": false, "/lib/.musl-x": false, "/lib/libc2.31.so": false, "/lib/libc-2.so": true, "/lib/libc-23x": false,
		"/libc.so/other": false, "/lib/libc_x.so": false, "/lib/libcc.so": false,
	} {
		if got := isLibc(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestInside: what lies inside a mapping hides nothing of it.
func TestInside(t *testing.T) {
	whole := &Library{Path: "whole"}
	whole.SetMappings([]Mapping{{Start: 0x1000, End: 0x8000}})
	libs := []*Library{whole}
	for at := arch.Address(0x2000); at < 0x3000; at += 0x200 {
		l := &Library{Path: "inside"}
		l.SetMappings([]Mapping{{Start: at, End: at + 0x100}})
		libs = append(libs, l)
	}
	table := NewTable(libs, 0)
	for at := arch.Address(0x1000); at < 0x8000; at += 0x80 {
		if l, ok := table.LibraryAt(at); !ok || l != whole {
			t.Errorf("%#x: %v, %v", at, l, ok)
		}
	}
}

// TestViewOverlaps: mappings that only touch have no address in common.
func TestViewOverlaps(t *testing.T) {
	l := &Library{}
	l.SetMappings([]Mapping{{Start: 0x1000, End: 0x2000}, {Start: 0x4000, End: 0x5000}})
	v := newView([]*Library{l}, 0, false)
	for m, want := range map[Mapping]bool{
		{Start: 0x800, End: 0x1000}: false, {Start: 0x800, End: 0x1001}: true, {Start: 0x2000, End: 0x3000}: false, {Start: 0x1fff, End: 0x3000}: true,
		{Start: 0x2000, End: 0x4000}: false, {Start: 0x2000, End: 0x4001}: true, {Start: 0x5000, End: 0x9000}: false, {Start: 0, End: 0x9000}: true,
	} {
		if got := v.overlaps(m); got != want {
			t.Errorf("%#x to %#x: %v", m.Start, m.End, got)
		}
	}
}
