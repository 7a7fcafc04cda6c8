package values

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// PointedMember returns the data member of an object of a class that a pointer to a member means (Itanium C++ ABI, 2.3).
func (x Explorer) PointedMember(o, member *Object) (Object, error) {
	t := member.Type.Strip()
	switch {
	case t.Tag != dwarf.TagPtrToMemberType:
		return Object{}, wrong("%s is no pointer to a member", describe(member.Type))
	case t.Target().Strip().Tag == dwarf.TagSubroutineType:
		return Object{}, wrong("%s is one to a function: functions of the process are not called", describe(member.Type))
	case t.Ref.DB != nil:
		return Object{}, wrong("members through pointers to members of Microsoft's object model are not read")
	}
	at := *o
	if class := x.P.Types.Of(t.Class).Strip(); t.Class.Valid() && class.Aggregate() {
		base, ok := x.Base(o, class)
		if !ok {
			return Object{}, wrong("%s is no %s", describe(o.Type), class.Name())
		}
		at = base
	}
	size, err := x.builder(Options{}).sizeOf(member.Type)
	if err != nil {
		return Object{}, err
	}
	raw, err := x.P.Bytes(member, 0, size)
	if err != nil {
		return Object{}, err
	}
	off := types.Resize(types.Uint(raw, x.P.Arch.Big()), int(size), true)
	to := t.Target()
	part, err := x.builder(Options{}).sizeOf(to)
	if err != nil {
		return Object{}, err
	}
	if off > at.Size || part > at.Size-off {
		return Object{}, wrong("the pointer to a member is null, or not one of %s", describe(at.Type))
	}
	return at.part(to, off, part), nil
}
