package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Certain reports whether the value of an object of type t in memory is known if its bytes can be read, and not
// known if they cannot; size is their number, at most 16. That is so for numbers, enumerations and pointers, and
// for references to them: what they refer to may be missing.
func Certain(t *types.Type) (size uint64, ok bool) {
	s := t.Strip()
	switch s.Tag {
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		if to := s.Target().Strip(); to.Tag == s.Tag || !plain(to) {
			return 0, false
		}
	default:
		if !plain(s) {
			return 0, false
		}
	}
	return s.ByteSize, s.ByteSize > 0 && s.ByteSize <= 16
}

func plain(s *types.Type) bool {
	if s.Language == dwarf.LangGo || s.Language == dwarf.LangRust {
		return false // some of their pointers are shown as what they point to
	}
	switch s.Tag {
	case dwarf.TagBaseType, dwarf.TagEnumerationType:
		return true
	case dwarf.TagPointerType:
		return !strings.HasPrefix(s.Target().Strip().BareName, "_G") // may be a container of GLib
	}
	return false
}
