package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Classes of libraries beside those of the languages.

// libraryPrinter returns the printer for a class of a library by its plainName; nil if there is
// none.
func libraryPrinter(name string) printer {
	switch space, class, _ := strings.Cut(name, "::"); space {
	case "boost":
		return boostClass(class)
	case "absl":
		return abslClass(class)
	}
	return qtClass(name)
}

// plainName returns the full name of a class without its template arguments, and without the
// inline namespaces that tell versions of Abseil apart.
func plainName(t *types.Type) string {
	full, _, _ := strings.Cut(t.FullName(), "<")
	rest, ok := strings.CutPrefix(full, "absl::")
	version, rest, two := strings.Cut(rest, "::")
	if ok && two && (version == "head" || strings.HasPrefix(version, "lts_") || strings.HasPrefix(version, "debian")) {
		return "absl::" + rest
	}
	return full
}

// filled prints n elements from first on, in storage with room for more.
func (b *builder) filled(o *Object, elem *types.Type, first, n, room uint64, depth int) *Value {
	if n > room || room > maxLength {
		return badLength(o.Type, max(n, room))
	}
	return b.run(b.roomy(b.text(o, fmt.Sprintf("%s of length %d, capacity %d", title(o.Type.Strip()), n, room)), n, room), elem, first, n, depth)
}

// inside prints n elements that are in storage, a part of the object.
func (b *builder) inside(o *Object, elem *types.Type, storage *Object, n uint64, depth int) *Value {
	size, err := b.sizeOf(elem)
	if err != nil || size == 0 {
		return nil
	}
	room := storage.Size / size
	if n > room {
		return badLength(o.Type, n)
	}
	return b.runIn(b.roomy(b.text(o, fmt.Sprintf("%s of length %d, capacity %d", title(o.Type.Strip()), n, room)), n, room), storage, elem, n, size, depth)
}

// optional prints a container of one element at most, which begins at the start of storage.
func (b *builder) optional(o *Object, t, elem *types.Type, engaged uint64, storage *Object, depth int) *Value {
	name := title(t) + "<" + elem.Name() + ">"
	size, err := b.sizeOf(elem)
	switch {
	case engaged == 0:
		return b.text(o, name+" [no contained value]")
	case engaged != 1 || err != nil || size > storage.Size:
		return nil
	}
	part := storage.part(elem, 0, size)
	return b.holding(o, name, &part, depth)
}

// A scan finds the elements of a hash table: it looks at the slots of an array one after the
// other.
type scan struct {
	b     *builder
	at    uint64 // address of the next slots
	left  uint64 // slots that were not read yet
	size  uint64 // of a slot, in bytes
	chunk []byte
}

// maxScan is the largest number of bytes of hash tables that are looked at for one variable.
const maxScan = 4 << 20

// next returns the next slot; false at the end of the table, or where that cannot be read.
func (s *scan) next() ([]byte, bool) {
	if s.left == 0 {
		return nil, false
	}
	if uint64(len(s.chunk)) < s.size {
		n := min(s.left, max(4096/s.size, 1))
		s.chunk = make([]byte, n*s.size)
		s.b.scanned += len(s.chunk)
		if s.b.scanned > maxScan || s.b.p.Read(s.at, s.chunk) != nil {
			s.left = 0
			return nil, false
		}
		s.at += uint64(len(s.chunk))
	}
	slot := s.chunk[:s.size]
	s.chunk = s.chunk[s.size:]
	s.left--
	return slot, true
}
