package message

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// fakeBase is the address of a fakeMemory.
const fakeBase = 0x10000

// A fakeMemory is the bytes of a process from fakeBase on.
type fakeMemory []byte

func (m fakeMemory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < fakeBase || addr-fakeBase >= uint64(len(m)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	n := copy(buf, m[addr-fakeBase:])
	if n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n, nil
}

func (m fakeMemory) ReadWord(addr arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// put writes words from an offset on.
func (m fakeMemory) put(off int, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(m[off+8*i:], w)
	}
}

// process returns an x86-64 process with the memory, all of it in one library with the symbols.
func (m fakeMemory) process(symbols map[string]arch.Address) *Process {
	lib := &libstate.Library{Path: "/lib/libfake.so.1"}
	return &Process{
		Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, Program: "fake",
		LibraryAt: func(arch.Address) *libstate.Library { return lib },
		Symbol: func(_ *libstate.Library, name string) (arch.Address, bool) {
			a, ok := symbols[name]
			return a, ok
		},
		Function: func(addr arch.Address) string {
			for name, a := range symbols {
				if a == addr {
					return name
				}
			}
			return ""
		},
	}
}

func TestClosureText(t *testing.T) {
	const code, text = fakeBase + 0x100, fakeBase + 0x200
	m := make(fakeMemory, 0x400)
	copy(m[0x200:], "concurrent map writes and more")
	p := m.process(map[string]arch.Address{"runtime.fatal.func1": code})
	for _, tc := range []struct {
		words []uint64
		want  string
	}{
		{[]uint64{1, code, text, 21}, "concurrent map writes"},
		{[]uint64{code, 0, text, 14, 9}, "concurrent map"},
		{[]uint64{text, 21, 0, 0}, ""},
		{[]uint64{code, 0, 0, 0, text, 21}, ""},
		{[]uint64{code, text, 1 << 62}, ""},
		{[]uint64{code, text}, ""},
		{[]uint64{code}, ""},
	} {
		if got, _ := p.closureText(tc.words, "runtime.fatal.func1"); got != tc.want {
			t.Errorf("%#x: %q, want %q", tc.words, got, tc.want)
		}
	}
}

func TestAndroidMessage(t *testing.T) {
	m := make(fakeMemory, 0x1000)
	m.put(0, androidMagic1, androidMagic2, 0x100)
	copy(m[24:], "Check failed: x == y\n")
	p := m.process(nil)
	p.NamedMapping = func(name string) (libstate.Mapping, bool) {
		return libstate.Mapping{Start: fakeBase, End: fakeBase + 0x1000, Path: name}, name == androidMapping
	}
	w := Read(p)
	if w.Message != "Check failed: x == y" || w.Cause != Abort || !strings.Contains(w.Source, androidMapping) {
		t.Errorf("%+v", w)
	}
	m.put(8, 0)
	if w := Read(p); w.Message != "" {
		t.Errorf("without its mark: %+v", w)
	}
}

func TestCleanText(t *testing.T) {
	m := make(fakeMemory, 0x3000)
	for i := range m {
		m[i] = 'a'
	}
	copy(m, "a\xff\xfeb\x00")
	p := m.process(nil)
	if s, ok := p.cstring(fakeBase, 100); !ok || s != "a\uFFFDb" {
		t.Errorf("%q %v", s, ok)
	}
	if s, ok := p.cstring(fakeBase+0x100, maxMessage); !ok || len(s) != maxMessage+3 || !strings.HasSuffix(s, "...") {
		t.Errorf("long text: %d bytes, %v", len(s), ok)
	}
	if _, ok := p.cstring(fakeBase+0x2f00, maxMessage); ok {
		t.Error("text that the memory ends in")
	}
	if _, ok := p.text(fakeBase, 1<<40); ok {
		t.Error("text of a length that nothing has")
	}
}

// TestBaseLoop: types that are base classes of each other.
func TestBaseLoop(t *testing.T) {
	m := make(fakeMemory, 0x400)
	const single, many = fakeBase + 0x200, fakeBase + 0x300
	p := m.process(map[string]arch.Address{singleBase: single, manyBases: many})
	copy(m[0x100:], "3Foo\x00")
	m.put(0, single+16, fakeBase+0x100, fakeBase+0x40)
	// Many bases, each of them the first class again.
	m.put(0x40, many+16, fakeBase+0x100, 0xffffffff<<32)
	for i := range 16 {
		m.put(0x58+16*i, fakeBase, 0)
	}
	if _, ok := p.baseAt(p.typeInfo(fakeBase), fakeBase, "St9exception"); ok {
		t.Error("found what is not there")
	}
}

// FuzzMemory reads exceptions, values and code from arbitrary memory: nothing panics or runs for ever, and
// every text is valid.
func FuzzMemory(f *testing.F) {
	f.Add([]byte("\x48\x8b\x47\x08\xc3"), uint64(fakeBase))
	f.Add([]byte("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x48\x83\xc0\x08\x48\x8b\x00\x5d\xc3"), uint64(fakeBase))
	f.Add([]byte("\xe8\xfb\xff\xff\xff\xc3\xeb\xfe"), uint64(fakeBase+6))
	seed := make(fakeMemory, 256)
	seed.put(0, fakeBase+0x20, 0, 0, 0, fakeBase+0x60, fakeBase+0x40)
	copy(seed[0x40:], "3Foo\x00")
	seed.put(80, classGNU)
	f.Add([]byte(seed), uint64(fakeBase+80))
	f.Fuzz(func(t *testing.T, data []byte, at uint64) {
		m := fakeMemory(data)
		p := m.process(map[string]arch.Address{"__abort_msg": at, singleBase: fakeBase, manyBases: fakeBase + 16, "runtime.types": fakeBase, "__cxa_get_globals": at})
		check := func(s string, _ bool) {
			if !utf8.ValidString(s) {
				t.Errorf("%q is no UTF-8", s)
			}
			if len(s) > 16*maxMessage {
				t.Errorf("%d bytes of text", len(s))
			}
		}
		for _, e := range p.exceptions(at) {
			check(e.Type, true)
			check(e.What, true)
		}
		check(p.what(at))
		check(p.plainValue("i", at))
		check(p.plainValue(stdString, at))
		check(p.plainValue(libcxxString, at))
		check(p.rustString(at))
		check(p.payload(at, fakeBase))
		s, name, _ := p.goValue(at, fakeBase)
		check(s, true)
		check(name, true)
		check(p.closureText([]uint64{at, fakeBase, at}, "__abort_msg"))
		if l, ok := p.location(at); ok {
			check(l.file, true)
		}
		for _, code := range []uint32{0, codeMSVC, codeGNU, codeDotNet} {
			p.Windows, p.Exception = code != 0, Exception{code, []uint64{msvcMagicFirst, at, fakeBase, at}}
			w := Read(p)
			check(w.Message, true)
			check(w.Reason, true)
		}
	})
}

// TestFollow follows what() functions as compilers generate them.
func TestFollow(t *testing.T) {
	const object, long, short = fakeBase + 0x200, fakeBase + 0x300, fakeBase + 0x209
	for _, tc := range []struct {
		what, code string
		first      uint64 // of the object's second word
		want       uint64
	}{
		{"a pointer", "\x48\x8b\x47\x08\xc3", long, long},
		{"not optimised", "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x48\x83\xc0\x08\x48\x8b\x00\x5d\xc3", long, long},
		{"a constant", "\x48\x8d\x05\xf9\x02\x00\x00\xc3", 0, fakeBase + 0x300},
		{"libc++, a long string", "\x48\x89\xf8\xf6\x47\x08\x01\x74\x05\x48\x8b\x40\x18\xc3\x48\x83\xc0\x09\xc3", 1, long},
		{"libc++, a short one", "\x48\x89\xf8\xf6\x47\x08\x01\x74\x05\x48\x8b\x40\x18\xc3\x48\x83\xc0\x09\xc3", 6, short},
		{"a decision on something else", "\x48\x85\xff\x74\x05\x48\x8b\x40\x18\xc3\x48\x83\xc0\x09\xc3", 0, 0},
		{"another condition", "\xf6\x47\x08\x01\x78\x05\x48\x8b\x47\x18\xc3\x48\x89\xf8\xc3", 0, 0},
		{"a loop", "\xeb\xfe", 0, 0},
		{"calls without end", "\xe8\xfb\xff\xff\xff\xc3", 0, 0},
	} {
		m := make(fakeMemory, 0x400)
		copy(m, tc.code)
		m.put(0x208, tc.first, 0, long)
		f := follower{Process: m.process(nil)}
		got, ok := f.run(fakeBase, object)
		if ok != (tc.want != 0) || ok && got != tc.want {
			t.Errorf("%s: %#x %v, want %#x", tc.what, got, ok, tc.want)
		}
	}
}
