package message

import (
	"math"
	"strconv"

	"github.com/corewalk/corewalk/unwind/arch"
)

// An integerType is a fundamental integer type of C++, by the letter of its mangled name: its size in bytes, 0
// for a word, and whether it is signed.
type integerType struct {
	size   int
	signed bool
}

func integer(letter byte) (integerType, bool) {
	switch letter {
	case 'b', 'h':
		return integerType{1, false}, true
	case 'c', 'a':
		return integerType{1, true}, true
	case 's':
		return integerType{2, true}, true
	case 't':
		return integerType{2, false}, true
	case 'i':
		return integerType{4, true}, true
	case 'j':
		return integerType{4, false}, true
	case 'l':
		return integerType{0, true}, true
	case 'm':
		return integerType{0, false}, true
	case 'x':
		return integerType{8, true}, true
	case 'y':
		return integerType{8, false}, true
	}
	return integerType{}, false
}

// plainValue formats a thrown number or string.
func (p *Process) plainValue(name string, object arch.Address) (string, bool) {
	switch name {
	case "PKc", "Pc":
		at, ok := p.LookupWord(object)
		if !ok {
			return "", false
		}
		return p.cstring(at, maxMessage)
	case stdString:
		return p.stringAt(object)
	case libcxxString:
		return p.libcxxStringAt(object)
	case "d":
		v, ok := p.Uint(object, 8)
		return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64), ok
	case "f":
		v, ok := p.Uint(object, 4)
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32), ok
	}
	if len(name) != 1 {
		return "", false
	}
	t, ok := integer(name[0])
	if !ok {
		return "", false
	}
	if t.size == 0 {
		if t.size = p.Arch.WordSize; p.Windows {
			t.size = 4
		}
	}
	v, ok := p.Uint(object, t.size)
	if !ok {
		return "", false
	}
	if t.signed {
		shift := 64 - 8*t.size
		return strconv.FormatInt(int64(v)<<shift>>shift, 10), true
	}
	return strconv.FormatUint(v, 10), true
}

// stringAt reads a std::string of libstdc++: the text's address and its length.
func (p *Process) stringAt(object arch.Address) (string, bool) {
	two, ok := p.Words(object, 2)
	if !ok {
		return "", false
	}
	return p.text(two[0], two[1])
}

// libcxxStringAt reads a std::string of libc++ in its default layout. A bit of the first word marks a long
// string: capacity, length, address of the text. A short string has its length in the first byte, then its
// text.
func (p *Process) libcxxStringAt(object arch.Address) (string, bool) {
	if p.Arch.Big() {
		return "", false
	}
	three, ok := p.Words(object, 3)
	if !ok {
		return "", false
	}
	if three[0]&1 != 0 {
		return p.text(three[2], three[1])
	}
	n := three[0] & 0xff >> 1
	if n > uint64(3*p.Arch.WordSize-2) {
		return "", false
	}
	return p.text(object+1, n)
}
