package types

import "github.com/corewalk/corewalk/internal/format/dwarf"

// Align returns how many bytes the address of an object of the type is a multiple of; 0 if that is not known. What a
// declaration asks for, as with alignas, comes first; else a number or a vector has that of its size, and a class that of its
// members. That a class is packed is not written down: it shows where the offset of
// a member is no multiple of what that asks for, or the size.
func (t *Type) Align() uint64 {
	left := maxLooked
	return t.align(0, &left)
}

// maxLooked is how many types inside a type are looked at, which may be the same one again where the debugging information
// makes no sense.
const maxLooked = 1 << 14

func (t *Type) align(depth int, left *int) uint64 {
	if *left--; *left < 0 || depth > MaxChain {
		return 0
	}
	if t.Ref.Valid() {
		if v := t.Ref.Unit.Value(t.Ref.Off, dwarf.AttrAlignment); v.U > 0 {
			return v.U
		}
	}
	s := t.Strip()
	if s != t {
		return s.align(depth+1, left)
	}
	switch {
	case s.Declared:
		full, _ := s.set.Complete(s) // void if there is none
		return full.align(depth+1, left)
	case s.Tag == dwarf.TagArrayType && !s.Vector:
		return s.Target().align(depth+1, left)
	case s.Aggregate():
		most := uint64(1)
		for i := range s.Members().Fields {
			f := &s.Members().Fields[i]
			if f.Static {
				continue
			}
			n := s.set.OfField(f).align(depth+1, left)
			if n == 0 || f.Bits == 0 && !f.Virtual && f.Off%n != 0 {
				return 0
			}
			most = max(most, n)
		}
		if s.Size()%most != 0 {
			return 0
		}
		return most
	}
	size := s.Whole()
	switch {
	case s.Tag == dwarf.TagPtrToMemberType:
		size = uint64(s.set.arch.WordSize)
	case s.Encoding == EncComplexFloat:
		size /= 2
	}
	if size&(size-1) != 0 {
		return 0
	}
	switch {
	case s.Tag == dwarf.TagArrayType:
		return size
	case s.set.arch.Name == "i386": // where a double is aligned to 4
		size = min(size, 4)
	case s.set.arch.Name == "m68k":
		size = min(size, 2)
	}
	return min(size, 16)
}
