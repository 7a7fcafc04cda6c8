package message

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestStoredPair reads where functions of Go keep their first argument from their code.
func TestStoredPair(t *testing.T) {
	const prologue = "\x4c\x8d\x64\x24\xd8\x4d\x3b\x66\x10\x0f\x86\x2d\x03\x00\x00\x55\x48\x89\xe5\x48\x81\xec\xa0\x00\x00\x00"
	const storeA, storeB = "\x48\x89\x84\x24\xb0\x00\x00\x00", "\x48\x89\x9c\x24\xb8\x00\x00\x00"
	for _, tc := range []struct {
		what, code string
		arch       *arch.Arch
		want       uint64 // 0 for none
	}{
		{"amd64", prologue + storeA + storeB, arch.AMD64, 0xb0},
		{"the other way round", prologue + storeB + storeA, arch.AMD64, 0xb0},
		{"only one", prologue + storeA + "\xc3", arch.AMD64, 0},
		{"not side by side", prologue + storeA + "\x48\x89\x9c\x24\xc8\x00\x00\x00\xc3", arch.AMD64, 0},
		{"the register changes before", prologue + "\x48\x89\xd0" + storeA + storeB, arch.AMD64, 0},
		{"a call before", prologue + "\xe8\x00\x00\x00\x00" + storeA + storeB, arch.AMD64, 0},
		{"stored elsewhere", prologue + "\x48\x89\x82\xb0\x00\x00\x00\x48\x89\x9a\xb8\x00\x00\x00\xc3", arch.AMD64, 0},
		{"arm64", "\x90\x0b\x40\xf9\xf1\xc3\x00\xd1\xfe\x0f\x15\xf8\xfd\x83\x1f\xf8\xfd\x23\x00\xd1\xe0\x5f\x00\xf9\xe1\x63\x00\xf9", arch.ARM64, 0xb8},
		{"arm64, a pair", "\xe0\x87\x0b\xa9", arch.ARM64, 0xb8},
		{"another architecture", "\xe0\x87\x0b\xa9", arch.RISCV64, 0},
	} {
		m := make(fakeMemory, 0x100)
		copy(m, tc.code)
		p := m.process(nil)
		p.Arch = tc.arch
		if got, ok := p.storedPair(fakeBase); got != tc.want || ok != (tc.want != 0) {
			t.Errorf("%s: %#x %v, want %#x", tc.what, got, ok, tc.want)
		}
	}
}

// TestGoPanicking reads the layouts of runtime._panic: until Go 1.25 with the address of an argument first.
func TestGoPanicking(t *testing.T) {
	const typ, code, data, stack = fakeBase + 0x100, fakeBase + 0x108, fakeBase + 0x200, fakeBase + 0x208
	m := make(fakeMemory, 0x400)
	p := m.process(nil)
	p.Mapping = func(addr arch.Address) (libstate.Mapping, bool) {
		perm := libstate.Read
		if addr >= fakeBase+0x200 {
			perm |= libstate.Write
		}
		return libstate.Mapping{Start: addr, End: addr + 1, Perm: perm}, addr >= fakeBase
	}
	for _, tc := range []struct {
		what  string
		words []uint64
		want  goPanicking
		none  bool
	}{
		{what: "a value", words: []uint64{typ, data, stack, code}, want: goPanicking{typ, data, stack}},
		{what: "a value, the first panic", words: []uint64{typ, data, 0, code}, want: goPanicking{typ, data, 0}},
		{what: "a value after an argument", words: []uint64{stack, typ, data, 0}, want: goPanicking{typ, data, 0}},
		{what: "a value after no argument", words: []uint64{0, typ, data, stack}, want: goPanicking{typ, data, stack}},
		{what: "Goexit", words: []uint64{0, 0, stack, code}, want: goPanicking{link: stack}},
		{what: "Goexit, the first one", words: []uint64{0, 0, 0, code}, want: goPanicking{}},
		{what: "Goexit after an argument", words: []uint64{stack, 0, 0, stack}, want: goPanicking{link: stack}},
		{what: "Goexit after no argument", words: []uint64{0, 0, 0, stack}, want: goPanicking{link: stack}},
		{what: "a type that may be written to", words: []uint64{0, data, data, 0}, none: true},
	} {
		m.put(0x300, tc.words...)
		if got, ok := p.panicking(fakeBase + 0x300); ok == tc.none || got != tc.want {
			t.Errorf("%s: %#x %v, want %#x", tc.what, got, ok, tc.want)
		}
	}
}

// TestGoTypeName reads the names of types that are between the bounds of the program's types.
func TestGoTypeName(t *testing.T) {
	const types, typ, end = fakeBase + 0x100, fakeBase + 0x140, fakeBase + 0x200
	m := make(fakeMemory, 0x400)
	name := func(at, off int) {
		m[at+20] = 2              // the text has a star before the name
		m.put(at+40, uint64(off)) // from the start of the types
	}
	name(0x140, 0xc0)
	name(0x240, 0xc0)
	name(0x40, 0xc0)
	copy(m[0x1c0:], "\x00\x0a*main.kind")
	p := m.process(map[string]arch.Address{"runtime.types": types, "runtime.etypes": end})
	p.Stack = []Frame{{Frame: new(unwind.Frame)}} // whose libraries have the symbols
	for at, want := range map[arch.Address]string{typ: "main.kind", typ + 0x100: "", typ - 0x100: "", end: "", 0: ""} {
		if got, ok := p.goTypeName(at); got != want || ok != (want != "") {
			t.Errorf("%#x: %q %v, want %q", at, got, ok, want)
		}
	}
	p = m.process(nil)
	p.Stack = []Frame{{Frame: new(unwind.Frame)}}
	if got, ok := p.goTypeName(typ); ok {
		t.Errorf("without the program's types: %q", got)
	}
}
