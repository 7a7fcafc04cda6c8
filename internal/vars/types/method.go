package types

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A Method is a function that a class declares.
type Method struct {
	Type    *Type  // of the function, this first
	Result  *Type  // what it returns
	Slot    uint64 // its number in the table of virtual functions
	Virtual bool   // Slot is known
	Const   bool   // this is const
	// Destroys says that it is a destructor, of which tables have two.
	Destroys bool
}

// maxMethods is how many functions of one name a class has that are looked at.
const maxMethods = 64

// Methods returns the functions of a name that a class declares, all if the name is empty.
func (t *Type) Methods(name string) (list []Method) {
	if t.Ref.DB != nil || !t.Ref.Valid() {
		return nil
	}
	var e dwarf.Entry
	var v dwarf.Value
	u := t.Ref.Unit
	c := u.Cursor(t.Ref.Off)
	c.Next(&e)
	for n := 0; n < MaxMembers && c.Level() > 0 && c.Next(&e) && (name == "" || len(list) < maxMethods); n++ {
		if e.Tag != dwarf.TagSubprogram {
			c.SkipChildren()
			continue
		}
		own := u.Value(e.Off, dwarf.AttrName)
		if name != "" && u.Text(&own) != name {
			c.SkipChildren()
			continue
		}
		m := Method{Destroys: strings.HasPrefix(u.Text(&own), "~")}
		m.Slot, m.Virtual = tableSlot(u, &c)
		var result Ref
		if v = u.Value(e.Off, dwarf.AttrType); v.Present() {
			result = RefTo(u, &v)
		}
		m.Type, m.Result = t.set.Function(dwarf.DIE{Unit: u, Off: e.Off}, result), t.set.Of(result)
		_, _, fixed := methodParams(t, &c, e.Depth)
		m.Const = fixed != ""
		list = append(list, m)
	}
	return list
}
