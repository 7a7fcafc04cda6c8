package reason

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestPoisons: who fills memory with which pattern. Off Windows its patterns are somebody else's.
func TestPoisons(t *testing.T) {
	for word, c := range map[uint64]struct {
		who     string
		windows bool
	}{
		0xdeadbeef: {"marker for invalid memory", false}, 0xdeadc0de: {"marker for invalid memory", false},
		0xfeeefeee: {"freed memory (Windows)", true}, 0xbaadf00d: {"uninitialised memory (Windows)", true},
		0xdddddddd: {"freed memory (Microsoft's debug heap)", true}, 0xcdcdcdcd: {"new memory (Microsoft's debug heap)", true},
		0xcccccccc: {"the stack (Microsoft's compiler", true}, 0xfdfdfdfd: {"around a block (Microsoft's debug heap)", true},
		0xabababab: {"after a block (Windows)", true}, 0xe5e5e5e5: {"freed memory (Mozilla's allocator)", false},
		0x5a5a5a5a: {"freed memory (jemalloc)", false}, 0xa5a5a5a5: {"new memory (jemalloc)", false},
		0x55555555: {"freed memory (macOS, MallocScribble)", false}, 0xaaaaaaaa: {"uninitialised memory (macOS", false},
		0xbebebebe: {"new memory (address sanitizer)", false}, 0xefefefef: {"one byte repeated", false},
		0: {}, 0xffffffff: {}, 0x11111111: {}, 0xdeadbef0: {},
	} {
		all := func(Allocator) bool { return true }
		in := Input{Arch: arch.AMD64, Has: all} // as for an exception: there is no signal
		for v, want := range map[uint64]string{word: c.who, word<<32 | word: c.who, 0xffffffff<<32 | word: c.who, 1<<32 | word: "", 0xfffffffe<<32 | word: ""} {
			if got := in.poison(v); !strings.Contains(got, want) || (got == "") != (want == "") {
				t.Errorf("%#x: %q, want %q", v, got, want)
			}
		}
		if got := (&Input{Arch: arch.X86, Has: all}).poison(5<<32 | word); !strings.Contains(got, c.who) || (got == "") != (c.who == "") {
			t.Errorf("%#x, 32 bits: %q, want %q", word, got, c.who)
		}
		in.Signal.Number = sigSegv
		if got := in.poison(word); c.windows && got != anyPattern && got != "a marker for invalid memory that programs use" || !c.windows && !strings.Contains(got, c.who) {
			t.Errorf("%#x, off Windows: %q", word, got)
		}
		// Nobody is named whom the process does not have.
		for _, has := range []func(Allocator) bool{nil, func(Allocator) bool { return false }} {
			in.Has = has
			if got := in.poison(word); (got == "") != (c.who == "") || strings.ContainsAny(got, "(") || strings.Contains(got, "jemalloc") {
				t.Errorf("%#x, with no such allocator: %q", word, got)
			}
			in.Signal.Number = 0 // as on Windows
			if got := in.poison(word); (got == "") != (c.who == "") || strings.Contains(got, "(") != c.windows {
				t.Errorf("%#x, without a signal and with no such allocator: %q", word, got)
			}
			in.Signal.Number = sigSegv
		}
	}
}

func TestPoisonNear(t *testing.T) {
	for _, c := range []struct {
		a          *arch.Arch
		addr, want uint64
	}{
		{arch.X86, 0xfeeefeee, 0xfeeefeee}, {arch.X86, 0xfeeefeee + 0xfff, 0xfeeefeee}, {arch.X86, 0xfeeefeee + 0x1000, 0}, {arch.X86, 0xfeeefeed, 0},
		{arch.AMD64, 0xe5e5e5e5e5e5e5e5 + 8, 0xe5e5e5e5e5e5e5e5}, {arch.AMD64, 0xe5e5e5e5 + 8, 0},
	} {
		if got, words := (&Input{Arch: c.a}).poisonNear(c.addr); got != c.want || (words == "") != (c.want == 0) {
			t.Errorf("%#x: %#x, %q; want %#x", c.addr, got, words, c.want)
		}
	}
}

func TestSmallPattern(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		v    uint64
		want bool
	}{
		{arch.AMD64, 0xe5e5e5e5e5e5e5e5, true}, {arch.X86, 0xe5e5e5e5, true}, {arch.AMD64, 0xe5e5e5e5, false}, {arch.AMD64, 0xdeadbeefdeadbeef, false},
		{arch.AMD64, 0, false}, {arch.AMD64, ^uint64(0), false}, {arch.AMD64, 0x1111111111111111, false},
	} {
		if got := (&Input{Arch: c.a}).smallPattern(c.v); got != c.want {
			t.Errorf("%#x: %v", c.v, got)
		}
	}
}

// TestText: a pointer is text if it is long enough, printable, and mostly letters.
func TestText(t *testing.T) {
	le := func(s string) uint64 {
		return binary.LittleEndian.Uint64(append([]byte(s), make([]byte, 8)...))
	}
	be := func(s string) uint64 { return binary.BigEndian.Uint64([]byte(s)) }
	for _, c := range []struct {
		a    *arch.Arch
		v    uint64
		want string
	}{
		{arch.AMD64, le("abcdefgh"), "abcdefgh"}, {arch.S390X, be("abcdefgh"), "abcdefgh"}, {arch.PPC, 0x61626364, "abcd"},
		{arch.AMD64, le("abcde"), "abcde"}, {arch.AMD64, le("abcd"), ""}, {arch.X86, le("abcd"), "abcd"}, {arch.X86, le("abc"), ""},
		{arch.AMD64, le("abcd!!"), "abcd!!"}, {arch.AMD64, le("abc!!!"), ""}, {arch.AMD64, le("abc\x00ef"), ""},
		{arch.AMD64, le("abcde~"), "abcde~"}, {arch.AMD64, le("abcde\x7f"), ""}, {arch.AMD64, le("abcde\x80"), ""}, {arch.AMD64, le("abcde\x1f"), ""},
		{arch.X86, 0x55616161, "aaaU"}, {arch.X86, 0x56616161, ""}, {arch.X86, 0x58616161, ""}, {arch.X86, 0x59616161, "aaaY"},
		{arch.AMD64, 0x555561616161, ""}, {arch.AMD64, 0x565561616161, "aaaaUV"}, {arch.ARM, 0x56616161, "aaaV"},
	} {
		if got := (&Input{Arch: c.a}).text(c.v); got != c.want {
			t.Errorf("%s, %#x: %q, want %q", c.a.Name, c.v, got, c.want)
		}
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "
	for c := byte(' '); c <= '~'; c++ { // three letters and two others before it: one more letter is needed
		if got := (&Input{Arch: arch.AMD64}).text(le("abc!!" + string(c))); (got != "") != strings.Contains(letters, string(c)) {
			t.Errorf("%q counts as a letter: %v", c, got != "")
		}
	}
}

// TestTextInPart: characters of two bytes each, and text in the half of a pointer that an address has other bits in.
func TestTextInPart(t *testing.T) {
	for _, c := range []struct {
		a    *arch.Arch
		v    uint64
		wide string
		last string
	}{
		{arch.AMD64, 0x0064006300620061, "abcd", ""}, {arch.S390X, 0x0061006200630064, "abcd", ""}, {arch.AMD64, 0x0064006300620001, "", ""},
		{arch.AMD64, 0x0064006301620061, "", ""}, {arch.AMD64, 0x0064006300620000, "", ""}, {arch.X86, 0x00620061, "", ""},
		{arch.AMD64, 0x64636261_90003f80, "", "abcd"}, {arch.AMD64, 0x64630061_90003f80, "", ""}, {arch.AMD64, 0x2d636261_90003f80, "", ""},
		{arch.S390X, 0x64636261_90003f80, "", ""}, {arch.X86, 0x90003f80, "", ""}, {arch.AMD64, 0x90003f80_64636261, "", ""},
	} {
		in := &Input{Arch: c.a}
		if got := in.wideText(c.v); got != c.wide {
			t.Errorf("%s, %#x: %q, want %q", c.a.Name, c.v, got, c.wide)
		}
		if got := in.lastText(c.v); got != c.last {
			t.Errorf("%s, %#x: %q, want %q", c.a.Name, c.v, got, c.last)
		}
	}
	in := &Input{Arch: arch.AMD64}
	for v, want := range map[uint64]string{
		0x0064006300620061:  `rax holds text in UTF-16: "abcd" likely`,
		0x64636261_90003f80: `rax holds 0x6463626190003f80, of which the last 4 bytes in memory are text: "abcd" possible`,
	} {
		if text, confidence := in.tell(pointer{v, "rax"}); text+" "+confidence != want {
			t.Errorf("%s %s", text, confidence)
		}
	}
}

// TestBadPointers: the registers to blame are those that the bad address was computed from.
func TestBadPointers(t *testing.T) {
	const v, w = 0x5000000, 0x100
	for _, c := range []struct {
		name string
		code string
		regs regs
		r    Reason
		want string // the names of the registers
	}{
		{"base", loadRAX, regs{"rax": v}, Reason{Addr: v, AtInst: true}, "rax"},
		{"base and index", "8b0410", regs{"rax": v, "rdx": w}, Reason{Addr: v + w, AtInst: true}, "rax rdx"},
		{"index of two bytes", "8b0450", regs{"rax": v, "rdx": w}, Reason{Addr: v + 2*w, AtInst: true}, "rax"},
		{"index of four bytes", "8b0490", regs{"rax": v, "rdx": w}, Reason{Addr: v + 4*w, AtInst: true}, "rax"},
		{"stack pointer", "8b442408", nil, Reason{Addr: lowStack + 0x8008, AtInst: true}, ""},
		{"program counter", "8b0500000100", nil, Reason{Addr: text + 0x10006, AtInst: true}, ""},
		{"another address", loadRAX, regs{"rax": v}, Reason{Addr: v + 0x10, AtInst: true}, ""},
		{"another instruction", loadRAX, regs{"rax": v}, Reason{Addr: v}, ""},
		{"execution", loadRAX, regs{"rax": v}, Reason{Addr: v, AtInst: true, Access: report.AccessExecute}, ""},
		{"register not known", loadRAX, nil, Reason{Addr: v, AtInst: true}, ""},
		{"one of two not known", "8b0410", regs{"rdx": v}, Reason{Addr: v, AtInst: true}, ""},
	} {
		in := at{a: arch.AMD64, code: c.code, regs: c.regs}.input(t)
		var names []string
		got := in.badPointers(&c.r)
		for _, p := range got[:len(got)-1] {
			if p.value != c.regs[p.name] {
				t.Errorf("%s: %s is %#x", c.name, p.name, p.value)
			}
			names = append(names, p.name)
		}
		if last := got[len(got)-1]; strings.Join(names, " ") != c.want || last != (pointer{c.r.Addr, ""}) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
	r := Reason{Kind: report.CrashWildRead, Addr: 0xdeadbeef}
	if in := (at{a: arch.AMD64}).input(t); true {
		in.pointers(&r)
	}
	if len(r.Causes) > 0 {
		t.Errorf("an address that is not known: %v", r.Causes)
	}
}

// TestFreed: a protected link of glibc, page number of a writable page of the heap or of no file.
func TestFreed(t *testing.T) {
	const v = 0x12345
	page := func(perm libstate.Perm, path string) libstate.Mapping {
		return libstate.Mapping{Start: v << 12, End: v<<12 + 0x1000, Perm: perm, Path: path}
	}
	for _, c := range []struct {
		name string
		a    *arch.Arch
		v    uint64
		m    libstate.Mapping
		want bool
	}{
		{"no file", arch.AMD64, v, page(rw, ""), true},
		{"heap", arch.AMD64, v, page(rw, "[heap]"), true},
		{"file", arch.AMD64, v, page(rw, "/bin/x"), false},
		{"read only", arch.AMD64, v, page(rd, ""), false},
		{"executable", arch.AMD64, v, page(rx, ""), false},
		{"not mapped", arch.AMD64, v + 1, page(rw, ""), false},
		{"32 bits", arch.X86, v, page(rw, ""), false},
		{"smallest", arch.AMD64, 1 << 16, area(1<<28, 1<<28+0x1000, rw), true},
		{"too small", arch.AMD64, 1<<16 - 1, area(1<<28-0x1000, 1<<28, rw), false},
		{"largest", arch.AMD64, 1<<35 - 1, area(1<<47-0x1000, 1<<47, rw), true},
		{"too large", arch.AMD64, 1 << 35, area(1<<47, 1<<47+0x1000, rw), false},
	} {
		in := over(c.a, nil, c.m)
		if text, _ := in.freed("x holds", c.v); (text != "") != c.want {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// TestFreedKey: the key counts only in the second word of a block whose first word is a link
// to another block of the same memory.
func TestFreedKey(t *testing.T) {
	const (
		start, end = 0x10000000, 0x10010000
		block, key = start + 0x100, 0x123456789abcdef1
	)
	heap := area(start, end, rw)
	link := func(at, next uint64) uint64 { return at>>12 ^ next }
	for _, c := range []struct {
		name  string
		a     *arch.Arch
		m     libstate.Mapping
		v, at uint64
		words map[uint64]uint64
		want  bool
	}{
		{"last of its list", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, 0), block + 8: key}, true},
		{"another behind it", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, block+0x40), block + 8: key}, true},
		{"the first block behind it", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, start), block + 8: key}, true},
		{"the last block behind it", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, end-16), block + 8: key}, true},
		{"behind the memory", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, end), block + 8: key}, false},
		{"before the memory", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, start-16), block + 8: key}, false},
		{"not aligned", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, block+0x48), block + 8: key}, false},
		{"block not aligned", arch.AMD64, heap, key, block + 8, map[uint64]uint64{block + 8: link(block+8, 0), block + 16: key}, false},
		{"another key", arch.AMD64, heap, key + 1, block, map[uint64]uint64{block: link(block, 0), block + 8: key}, false},
		{"key not known", arch.AMD64, heap, key, block, map[uint64]uint64{block: link(block, 0)}, false},
		{"link not known", arch.AMD64, heap, key, block, map[uint64]uint64{block + 8: key}, false},
		{"read only", arch.AMD64, area(start, end, rd), key, block, map[uint64]uint64{block: link(block, 0), block + 8: key}, false},
		{"executable", arch.AMD64, area(start, end, rx), key, block, map[uint64]uint64{block: link(block, 0), block + 8: key}, false},
		{"not mapped", arch.AMD64, area(0, 1, rd), key, block, map[uint64]uint64{block: link(block, 0), block + 8: key}, false},
		{"at null", arch.AMD64, area(0, 0x1000, rw), key, 0, map[uint64]uint64{0: 0, 8: key}, false},
		{"32 bits", arch.X86, heap, 0x12345678, block, map[uint64]uint64{block: link(block, 0), block + 8: 0x12345678}, false},
		{"smallest", arch.AMD64, heap, 1 << 16, block, map[uint64]uint64{block: link(block, 0), block + 8: 1 << 16}, true},
		{"too small", arch.AMD64, heap, 1<<16 - 1, block, map[uint64]uint64{block: link(block, 0), block + 8: 1<<16 - 1}, false},
	} {
		in := over(c.a, nil, c.m)
		in.Regs.Set(arch.RBX, c.at)
		in.Word = func(addr uint64) (uint64, bool) {
			if v, ok := c.words[addr]; ok {
				return v, true
			}
			if addr%16 == 8 {
				return c.v, false // what comes with false means nothing
			}
			return link(addr, 0), false
		}
		if text, _ := in.freedKey("x holds", c.v); (text != "") != c.want {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}
