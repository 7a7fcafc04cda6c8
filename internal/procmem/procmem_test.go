package procmem

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A piece is bytes from an address on, in a process of an architecture that has nothing else.
type piece struct {
	a     *arch.Arch
	at    uint64
	bytes []byte
	reads *[]uint64 // up to where it was asked for
	extra int       // what is added to the number of bytes that were read: a Memory that counts wrongly
}

func (p piece) ReadMem(addr uint64, buf []byte) (int, error) {
	if p.reads != nil {
		*p.reads = append(*p.reads, addr+uint64(len(buf)))
	}
	n := 0
	if off := addr - p.at; addr >= p.at && off < uint64(len(p.bytes)) {
		n = copy(buf, p.bytes[off:])
	}
	if n < len(buf) {
		return n + p.extra, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return n + p.extra, nil
}

func (p piece) ReadWord(addr uint64) (uint64, error) {
	buf := make([]byte, p.a.WordSize)
	if _, err := p.ReadMem(addr, buf); err != nil {
		return 1, err // what must not be taken for the word
	}
	return p.a.Word(buf), nil
}

var archs = []*arch.Arch{arch.AMD64, arch.S390X, arch.X86, arch.PPC}

// TestNumbers: numbers and words of both sizes and byte orders, up to the last one that is all there.
func TestNumbers(t *testing.T) {
	data := []byte{0x81, 2, 3, 4, 5, 6, 7, 0x88}
	end := uint64(0x1000 + len(data))
	for _, a := range archs {
		r := Reader{piece{a: a, at: 0x1000, bytes: data}, a}
		w := uint64(a.WordSize)
		if v, ok := r.LookupWord(end - w); !ok || v != a.Word(data[8-w:]) || r.Word(end-w) != v {
			t.Errorf("%s: the last word is %#x, %v", a.Name, v, ok)
		}
		for _, at := range []uint64{end - w + 1, end, 0xfff, 0} {
			if v, ok := r.LookupWord(at); ok || v != 0 || r.Word(at) != 0 {
				t.Errorf("%s: the word at %#x is %#x, %v", a.Name, at, v, ok)
			}
		}
		if v, ok := r.U32(0x1001); !ok || v != a.ByteOrder.Uint32(data[1:]) {
			t.Errorf("%s: 32 bits are %#x, %v", a.Name, v, ok)
		}
		if v, ok := r.U16(0x1001); !ok || v != a.ByteOrder.Uint16(data[1:]) {
			t.Errorf("%s: 16 bits are %#x, %v", a.Name, v, ok)
		}
		if v, ok := r.U8(end - 1); !ok || v != 0x88 {
			t.Errorf("%s: 8 bits are %#x, %v", a.Name, v, ok)
		}
		if v, ok := r.Uint(0x1000, 8); !ok || v != a.ByteOrder.Uint64(data) {
			t.Errorf("%s: 64 bits are %#x, %v", a.Name, v, ok)
		}
		_, ok4 := r.U32(end - 3)
		_, ok2 := r.U16(end - 1)
		_, ok1 := r.U8(end)
		if ok4 || ok2 || ok1 {
			t.Errorf("%s: numbers that are not all there: %v, %v, %v", a.Name, ok4, ok2, ok1)
		}
		r.Memory = piece{a: a, at: 0x1000, bytes: make([]byte, 64)}
		for _, size := range []int{-1, 0, 9, 64} {
			if v, ok := r.Uint(0x1000, size); ok || v != 0 {
				t.Errorf("%s: a number of %d bytes is %#x, %v", a.Name, size, v, ok)
			}
		}
	}
}

// TestBytes: as many bytes as there are, or all or none, and never so many that a hostile length ends the program.
func TestBytes(t *testing.T) {
	r := Reader{piece{a: arch.AMD64, at: 0x1000, bytes: []byte("abcdef")}, arch.AMD64}
	for _, c := range []struct {
		at   uint64
		n    int
		some string
		all  bool
	}{
		{0x1000, 6, "abcdef", true},
		{0x1002, 4, "cdef", true},
		{0x1002, 5, "cdef", false},
		{0x1006, 1, "", false},
		{0xfff, 3, "", false},
		{0x1001, 0, "", true},
		{0x9000, 0, "", true},
		{0x1000, -1, "", false},
		{0x1000, MaxBytes + 1, "abcdef", false},
		{0x1000, math.MaxInt, "abcdef", false},
	} {
		if got := r.Some(c.at, c.n); string(got) != c.some {
			t.Errorf("some of %d at %#x: %q", c.n, c.at, got)
		}
		if got := r.Bytes(c.at, c.n); (got != nil) != c.all || c.all && string(got) != c.some {
			t.Errorf("%d at %#x: %q", c.n, c.at, got)
		}
	}
	for _, extra := range []int{-100, 100} {
		r.Memory = piece{a: arch.AMD64, at: 0x1000, bytes: []byte("abcdef"), extra: extra}
		if got := r.Some(0x1000, 4); len(got) > 4 {
			t.Errorf("%q of a memory that counts wrongly", got)
		}
	}
	// What is asked for in vain is not read first.
	var reads []uint64
	r.Memory = piece{a: arch.AMD64, reads: &reads}
	r.Bytes(0x1000, MaxBytes+1)
	r.Bytes(0x1000, -1)
	r.Words(0x1000, MaxBytes/8+1)
	r.Words(0x1000, -1)
	for _, n := range []int{math.MaxInt/4 + 2, -(math.MaxInt / 4)} { // times 8 is 8
		if got, ok := r.Words(0x1000, n); ok || got != nil {
			t.Errorf("%d words: %#x", n, got)
		}
	}
	if len(reads) != 0 {
		t.Errorf("read up to %#x", reads)
	}
}

// TestWords: arrays of words, all of them or none.
func TestWords(t *testing.T) {
	for _, a := range archs {
		w := a.WordSize
		data := make([]byte, 3*w)
		data[0], data[2*w-1], data[3*w-1] = 1, 2, 3
		r := Reader{piece{a: a, at: 0x1000, bytes: data}, a}
		want := []uint64{a.Word(data), a.Word(data[w:]), a.Word(data[2*w:])}
		if got, ok := r.Words(0x1000, 3); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %#x, %v, want %#x", a.Name, got, ok, want)
		}
		if got, ok := r.Words(0x1000+uint64(w), 3); ok || got != nil {
			t.Errorf("%s: %#x, %v, of which one is missing", a.Name, got, ok)
		}
		if got, ok := r.Words(0x1000, 0); !ok || len(got) != 0 {
			t.Errorf("%s: no words are %#x, %v", a.Name, got, ok)
		}
	}
}

// TestCString: text ends at a zero byte, at the limit or where the memory does, wherever it begins.
func TestCString(t *testing.T) {
	long := strings.Repeat("x", 150)
	for _, c := range []struct {
		memory string
		limit  int
		text   string
		ended  bool
	}{
		{"abc\x00def\x00", 100, "abc", true},
		{"\x00", 100, "", true},
		{"abc", 100, "abc", false},
		{"", 100, "", false},
		{"abc\x00", 4, "abc", true},
		{"abc\x00", 3, "abc", false},
		{"abc\x00", 0, "", false},
		{"abc\x00", -1, "", false},
		{long + "\x00", 151, long, true},
		{long + "\x00", 150, long, false},
		{long + "\x00", math.MaxInt, long, true},
		{long, math.MaxInt, long, false},
	} {
		for at := uint64(0x1000); at < 0x1042; at++ {
			r := Reader{piece{a: arch.AMD64, at: at, bytes: []byte(c.memory)}, arch.AMD64}
			if text, ended := r.CString(at, c.limit); string(text) != c.text || ended != c.ended {
				t.Fatalf("%q at %#x up to %d: %q, %v", c.memory, at, c.limit, text, ended)
			}
		}
	}
	// Another page is not touched without need.
	var reads []uint64
	r := Reader{piece{a: arch.AMD64, at: 0xfe0, bytes: []byte(strings.Repeat("y", 31) + "\x00"), reads: &reads}, arch.AMD64}
	if _, ended := r.CString(0xfe0, 100); !ended || len(reads) != 1 || reads[0] != 0x1000 {
		t.Errorf("%v, read up to %#x", ended, reads)
	}
}

// TestNoArch: of a process of an architecture that is not known there are bytes, text and words, which its Memory knows.
func TestNoArch(t *testing.T) {
	r := Reader{Memory: piece{a: arch.AMD64, at: 0x1000, bytes: []byte("abcdefg\x00")}}
	v, ok := r.LookupWord(0x1000)
	text, ended := r.CString(0x1000, 8)
	if !ok || v != 'g'<<48|'f'<<40|'e'<<32|'d'<<24|'c'<<16|'b'<<8|'a' || string(text) != "abcdefg" || !ended || string(r.Bytes(0x1001, 2)) != "bc" {
		t.Errorf("%#x, %v, %q, %v", v, ok, text, ended)
	}
	_, number := r.U32(0x1000)
	if _, words := r.Words(0x1000, 1); number || words {
		t.Errorf("a number: %v, an array: %v", number, words)
	}
}

// TestWrapAround: an address that is too large for the process is cut to the size of its words, and a read ends where
// the addresses do.
func TestWrapAround(t *testing.T) {
	low := Reader{piece{a: arch.X86, at: 0x10, bytes: []byte("abcdefg\x00")}, arch.X86}
	const at = 1<<32 + 0x10
	_, word := low.LookupWord(at)
	_, number := low.U16(at)
	_, words := low.Words(at, 2)
	text, ended := low.CString(at, 100)
	if !word || !number || !words || !ended || string(text) != "abcdefg" || string(low.Bytes(at, 3)) != "abc" {
		t.Errorf("above 32 bits: %v, %v, %v, %q, %v", word, number, words, text, ended)
	}
	for _, a := range []*arch.Arch{arch.X86, arch.AMD64} {
		var reads []uint64
		top := a.Truncate(^uint64(1))
		r := Reader{piece{a: a, at: top, bytes: []byte("zz"), reads: &reads}, a}
		if text, ended := r.CString(top, 100); string(text) != "zz" || ended || len(reads) != 1 {
			t.Errorf("%s: at the top %q, %v, read up to %#x", a.Name, text, ended, reads)
		}
		if got := r.Some(top, 4); string(got) != "zz" {
			t.Errorf("%s: at the top %q", a.Name, got)
		}
		if v, ok := r.LookupWord(top); ok {
			t.Errorf("%s: the word at the top is %#x", a.Name, v)
		}
	}
	for a, null := range map[*arch.Arch]uint64{arch.AMD64: 0, arch.X86: 1 << 32} {
		r := Reader{piece{a: a, bytes: []byte("a\x00")}, a}
		if text, ended := r.CString(null, 10); ended || text != nil {
			t.Errorf("%s: at 0 is %q, %v", a.Name, text, ended)
		}
	}
}

// lender has some of its bytes at hand.
type lender struct {
	piece
	lent int
}

func (l lender) ViewMem(addr uint64, n int) []byte {
	if addr-l.at >= uint64(l.lent) {
		return nil
	}
	return l.bytes[addr-l.at : l.lent][:min(n, l.lent-int(addr-l.at))]
}

// TestView: bytes at hand are not copied, others and those beyond them are read.
func TestView(t *testing.T) {
	m := lender{piece{a: arch.X86, at: 0x10, bytes: []byte("abcdefgh")}, 4}
	r := Reader{m, arch.X86}
	for _, c := range []struct {
		at   uint64
		n    int
		want string
		lent bool
	}{
		{0x10, 4, "abcd", true},
		{0x12, 2, "cd", true},
		{1<<32 + 0x12, 1, "c", true},
		{0x12, 3, "cde", false},
		{0x16, 4, "gh", false},
		{0x20, 4, "", false},
		{0x10, 0, "", false},
	} {
		buf := make([]byte, c.n)
		got := r.View(c.at, buf)
		lent := len(got) > 0 && &got[0] == &m.bytes[(c.at-0x10)&0xffff]
		if string(got) != c.want || lent != c.lent {
			t.Errorf("%d bytes at %#x: %q, lent: %v", c.n, c.at, got, lent)
		}
	}
	if got := (Reader{m.piece, arch.X86}).View(0x11, make([]byte, 3)); string(got) != "bcd" {
		t.Errorf("of what lends nothing: %q", got)
	}
}

// Of a range that is as large as a sanitizer's shadow, and not there, not each page is asked for; one that ends in memory is.
func TestAbsentTo(t *testing.T) {
	const start, end = 0x7fff8000, 0x10007fff8000
	none := Reader{Memory: piece{at: 0x1000, bytes: make([]byte, 16)}, Arch: arch.AMD64}
	if got := none.AbsentTo(start+8, end); got != end {
		t.Errorf("%#x", got)
	}
	if got := none.AbsentTo(start+8, start+0x5000); got != start+0x1000 {
		t.Errorf("%#x", got)
	}
	if got := none.AbsentTo(start+8, start+0x500); got != start+0x500 {
		t.Errorf("%#x", got)
	}
	some := Reader{Memory: piece{at: end - 16, bytes: make([]byte, 16)}, Arch: arch.AMD64}
	if got := some.AbsentTo(start+8, end); got != start+0x1000 {
		t.Errorf("%#x", got)
	}
}
