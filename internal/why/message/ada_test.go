package message

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// adaMemory has an exception of GNAT's at fakeBase.
func adaMemory(text string) fakeMemory {
	const data, name = 0x400, 0x480
	m := make(fakeMemory, 0x600)
	m.put(0, classAda)
	m.put(64, fakeBase+data, fakeBase, uint64(len(text)))
	copy(m[64+20:], text)
	m[data+1] = 'A'
	binary.LittleEndian.PutUint32(m[data+4:], 13)
	m.put(data+8, fakeBase+name)
	copy(m[name:], "PARSER.ERROR\x00")
	return m
}

// TestAdaObject: an exception is what fits in all its parts.
func TestAdaObject(t *testing.T) {
	for _, tc := range []struct {
		what, text string
		change     func(m fakeMemory)
		want       string // "" for no exception
	}{
		{"a message", "p.adb:12 range check failed", nil, "PARSER.ERROR : p.adb:12 range check failed"},
		{"no message", "", nil, "PARSER.ERROR"},
		{"Latin-1", "caf\xe9", nil, "PARSER.ERROR : café"},
		{"UTF-8", "café", nil, "PARSER.ERROR : café"},
		{"another class", "x", func(m fakeMemory) { m.put(0, classGNU) }, ""},
		{"freed", "x", func(m fakeMemory) { m.put(0, fakeBase+0x100, 0x1234) }, ""},
		{"another's occurrence", "x", func(m fakeMemory) { m.put(72, fakeBase+16) }, ""},
		{"a message longer than there is room for", "x", func(m fakeMemory) { m.put(80, 201) }, ""},
		{"an exception of C++", "x", func(m fakeMemory) { m[0x401] = 'B' }, ""},
		{"no boolean", "x", func(m fakeMemory) { m[0x400] = 2 }, ""},
		{"a name of no length", "x", func(m fakeMemory) { m[0x404] = 0 }, ""},
		{"a name that ends late", "x", func(m fakeMemory) { m[0x404] = 12 }, ""},
		{"a name that ends early", "x", func(m fakeMemory) { m[0x404] = 14; m[0x480+13] = 'X' }, ""},
		{"a name that cannot be printed", "x", func(m fakeMemory) { m[0x482] = 1 }, ""},
		{"no data", "x", func(m fakeMemory) { m.put(64, 0) }, ""},
		{"data in no memory", "x", func(m fakeMemory) { m.put(64, 0x7000_0000) }, ""},
	} {
		m := adaMemory(tc.text)
		if tc.change != nil {
			tc.change(m)
		}
		p := m.process(nil)
		for _, at := range []arch.Address{fakeBase, fakeBase + 64} {
			e, ok := p.adaObject(at)
			if ok != (tc.want != "") || ok && (e.said() != tc.want || e.Object != fakeBase+64 || e.header != fakeBase) {
				t.Errorf("%s, at %#x: %+v %v, want %q", tc.what, at, e, ok, tc.want)
			}
		}
	}
}

// TestAdaHandler: the unwinder's words in the header say where the handler is.
func TestAdaHandler(t *testing.T) {
	for _, tc := range []struct{ stop, sp, want uint64 }{{0, 0, 0}, {0, 0x7000, 0x7000}, {fakeBase, 0x7000, 0}} {
		m := adaMemory("x")
		m.put(16, tc.stop, tc.sp)
		if e, ok := m.process(nil).adaObject(fakeBase); !ok || e.handler != tc.want {
			t.Errorf("%#x: handler %#x %v, want %#x", tc, e.handler, ok, tc.want)
		}
	}
}

// TestAda32 reads an exception of a 32-bit program, whose header is padded.
func TestAda32(t *testing.T) {
	m := make(fakeMemory, 0x200)
	put := func(off int, words ...uint32) {
		for i, w := range words {
			binary.LittleEndian.PutUint32(m[off+4*i:], w)
		}
	}
	m.put(0, classAda)
	put(48, fakeBase+0x100, fakeBase, 4)
	copy(m[60:], "text")
	put(0x100, 'A'<<8, 4, fakeBase+0x120)
	copy(m[0x120:], "OWN\x00")
	p := m.process(nil)
	p.Arch, p.Memory = arch.X86, memory32{m}
	if e, ok := p.adaObject(fakeBase); !ok || e.said() != "OWN : text" {
		t.Errorf("%+v %v", e, ok)
	}
}

// memory32 reads words of four bytes.
type memory32 struct{ fakeMemory }

func (m memory32) ReadWord(addr arch.Address) (uint64, error) {
	var b [4]byte
	_, err := m.ReadMem(addr, b[:])
	return uint64(binary.LittleEndian.Uint32(b[:])), err
}

func TestRaisedAgain(t *testing.T) {
	const handler = 0x7000
	none, header, occurrence := &adaException{handler: handler}, &adaException{handler: handler, inRaise: ofHeader}, &adaException{handler: handler, inRaise: ofOccurrence}
	for i, tc := range []struct {
		all  []*adaException
		want *adaException
	}{
		{nil, nil},
		{[]*adaException{none}, nil},
		{[]*adaException{none, header}, header},
		{[]*adaException{header, occurrence}, occurrence},
		{[]*adaException{occurrence, header}, occurrence},
		{[]*adaException{header, {handler: handler, inRaise: ofHeader}}, nil},
		{[]*adaException{header, {inRaise: ofOccurrence}}, nil},
		{[]*adaException{occurrence, {inRaise: ofOccurrence}}, occurrence},
	} {
		if got := raisedAgain(tc.all); got != tc.want {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

func TestAdaPlace(t *testing.T) {
	for _, tc := range []struct {
		text, file string
		line       int
		what       string
	}{
		{"p.adb:12 range check failed", "p.adb", 12, "range check failed"},
		{"stack overflow or erroneous memory access", "", 0, "stack overflow or erroneous memory access"},
		{"port:80 is taken", "", 0, "port:80 is taken"},
		{"p.adb:0 is no line", "", 0, "p.adb:0 is no line"},
		{"a.txt:x no number", "", 0, "a.txt:x no number"},
		{"", "", 0, ""},
	} {
		if file, line, what := AdaPlace(tc.text); file != tc.file || line != tc.line || what != tc.what {
			t.Errorf("%q: %q %d %q", tc.text, file, line, what)
		}
	}
}

// TestMayBeAda: only a stack that may have Ada's functions is searched for its exceptions.
func TestMayBeAda(t *testing.T) {
	for name, want := range map[string]bool{
		"_ada_main": true, "parser__read": true, "__gnat_raise": true, "main": false, "std::__throw_out_of_range": false, "__libc_start_main": false,
		"f<g__h>": false, "memcpy__.part.0": false, "Foo__bar": false,
	} {
		p := &Process{Stack: []Frame{{Names: []string{"abort"}}, {Names: []string{name}}}}
		if got := p.mayBeAda(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
