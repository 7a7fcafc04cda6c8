package perl

import (
	"strconv"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// memory reads objects of a process.
type memory struct {
	procmem.Reader
	layout
	p *tasks.Process
}

// field reads a pointer in the record at an address.
func (m *memory) field(at uint64, name string) uint64 {
	if at == 0 || at%8 != 0 {
		return 0
	}
	return m.Word(at + m.at(name))
}

// number reads 4 bytes in the record at an address.
func (m *memory) number(at uint64, name string) uint32 {
	if at == 0 || at%8 != 0 {
		return 0
	}
	v, _ := m.U32(at + m.at(name))
	return v
}

// Where a value (an SV) has what: the same in all versions, and needed before the version is known.
const (
	valueBody  = 0
	valueFlags = 12
	valueHere  = 16
	bodyLength = 16
)

// What flags say: the same in all versions.
const (
	typeMask = 0xff
	typeFree = 0xff // the value was given back
	flagText = 1 << 10
	flagRef  = 1 << 11
	flagUV   = 1 << 31
)

// flags reads the flags of a value; false if there is none.
func (m *memory) flags(at uint64) (uint32, bool) {
	if at == 0 || at%8 != 0 {
		return 0, false
	}
	f, ok := m.U32(at + valueFlags)
	return f, ok && f&typeMask != typeFree
}

// is reports whether a value is of a type, "av".
func (m *memory) is(at uint64, kind string) bool {
	f, ok := m.flags(at)
	return ok && uint64(f&typeMask) == m.at("type."+kind)
}

// body returns where the body of a value is; 0 if it has none.
func (m *memory) body(at uint64) uint64 {
	b := m.Word(at + valueBody)
	if b%8 != 0 {
		return 0
	}
	return b
}

// maxName limits names of subs, packages and files.
const maxName = 4096

// maxLength is more than texts and lists have, and so little that an address and a length can be added.
const maxLength = 1 << 40

// text reads at most limit bytes of the text of a value, and how long it is.
func (m *memory) text(at uint64, limit int) (s string, length uint64, ok bool) {
	f, ok := m.flags(at)
	if !ok || f&flagText == 0 || f&flagRef != 0 {
		return "", 0, false
	}
	return m.textOf(at, limit)
}

func (m *memory) textOf(at uint64, limit int) (s string, length uint64, ok bool) {
	body, from := m.body(at), m.Word(at+valueHere)
	length = m.Word(body + bodyLength)
	if body == 0 || from == 0 || length > maxLength {
		return "", 0, false
	}
	if length == 0 {
		return "", 0, true
	}
	b := m.Bytes(from, int(min(length, uint64(limit))))
	return string(b), length, b != nil
}

// key reads the text of a name (a HEK); false if there is none.
func (m *memory) key(at uint64) (string, bool) {
	if at == 0 {
		return "", false
	}
	n, ok := m.U32(at + m.at("hek.length"))
	if !ok || n > maxName {
		return "", false
	}
	b := m.Bytes(at+m.at("hek.text"), int(n))
	return string(b), n == 0 || b != nil
}

// list returns where the elements of an array are, and how many.
func (m *memory) list(at uint64) (from, length uint64, ok bool) {
	if !m.is(at, "av") {
		return 0, 0, false
	}
	body := m.body(at)
	last, known := m.LookupWord(body + m.at("body.fill"))
	if body == 0 || !known {
		return 0, 0, false
	}
	from = m.Word(at + valueHere)
	return from, last + 1, from%8 == 0 && (from != 0 || last+1 == 0)
}

// element reads an element of an array; 0 if there is none.
func (m *memory) element(at, i uint64) uint64 {
	from, n, ok := m.list(at)
	if !ok || i >= n {
		return 0
	}
	return m.Word(from + 8*i)
}

// An entry is what a hash has for a key.
type entry struct {
	key   string
	value uint64
}

// Limits of hashes: how many lists of entries are looked through, how many entries are read, and how many are in one list.
const (
	maxBuckets = 1 << 16
	maxEntries = 1 << 12
	maxChained = 1 << 10
)

// entries reads what a hash has, in the order of memory; false if not all could be read.
func (m *memory) entries(at uint64) (list []entry, whole bool) {
	if !m.is(at, "hv") {
		return nil, false
	}
	buckets := m.Word(at + valueHere)
	last, ok := m.LookupWord(m.body(at) + m.at("body.max"))
	if !ok {
		return nil, false
	}
	if buckets == 0 {
		return nil, true
	}
	whole = last < maxBuckets
	n := min(last, maxBuckets-1) + 1
	const step = 64
	for i := uint64(0); i < n; i += step {
		words, ok := m.Words(buckets+8*i, int(min(step, n-i)))
		if !ok || m.p.Spend(8) != nil {
			return list, false
		}
		for _, e := range words {
			for range maxChained {
				if e == 0 {
					break
				}
				k, ok := m.key(m.field(e, "he.hek"))
				if !ok || len(list) >= maxEntries || m.p.Spend(4) != nil {
					return list, false
				}
				list = append(list, entry{k, m.field(e, "he.value")})
				e = m.field(e, "he.next")
			}
		}
	}
	return list, whole
}

// maxRelease limits what is looked at for a version.
const (
	maxRelease  = 16
	maxVersions = 64 // lists of entries of an object of a version
)

// release reads "v5.36.0" of a value: a text, or once the program has compared it, an object with such a text.
func (m *memory) release(at uint64) (release, minor string, ok bool) {
	f, ok := m.flags(at)
	if ok && f&flagRef != 0 {
		at = m.Word(at + valueHere)
		if !m.is(at, "hv") || m.Word(m.body(at)+m.at("body.max")) >= maxVersions {
			return "", "", false
		}
		list, _ := m.entries(at)
		for _, e := range list {
			if e.key == "original" {
				at = e.value
			}
		}
	}
	s, n, ok := m.text(at, maxRelease)
	if !ok || n > maxRelease || len(s) < 2 || s[0] != 'v' {
		return "", "", false
	}
	minor, ok = minorOf(s[1:])
	return s[1:], minor, ok
}

// minorOf is the version of which a release is: "5.36" of "5.36.0".
func minorOf(release string) (string, bool) {
	dots := 0
	end := 0
	for i, c := range []byte(release) {
		switch {
		case c == '.':
			if dots++; dots == 2 {
				end = i
			}
		case c < '0' || c > '9':
			return "", false
		}
	}
	if dots != 2 || end > 5 || len(release) == end+1 || release[:2] != "5." {
		return "", false
	}
	if _, err := strconv.Atoi(release[2:end]); err != nil {
		return "", false
	}
	return release[:end], true
}
