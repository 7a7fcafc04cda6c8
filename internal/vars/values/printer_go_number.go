package values

import (
	"io/fs"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// goNumber returns the text of a number of a named type of Go: a duration, the mode of a file, or the constants of the type that
// it is, beside the number, as others may have been meant; "" for other numbers.
func (b *builder) goNumber(t *types.Type, v uint64) string {
	if t.Language != dwarf.LangGo || !strings.Contains(t.BareName, ".") {
		return ""
	}
	switch {
	case t.BareName == "time.Duration" && t.ByteSize == 8:
		return time.Duration(v).String()
	case t.BareName == "io/fs.FileMode" && t.ByteSize == 4:
		return fs.FileMode(v).String()
	}
	name := constantText(b.p.Types.GoConstants(t), v, t.ByteSize)
	if name == "" {
		return ""
	}
	return name + " (" + scalarText(t, v) + ")"
}

// constantText returns the first constant with a value or, if the constants are flags, those of all its bits; "" if there are none.
func constantText(list []types.Enumerator, v, size uint64) string {
	first := map[uint64]string{}
	for _, c := range list {
		val := types.Resize(c.Val, int(size), false)
		if _, ok := first[val]; !ok {
			first[val] = lastElement(c.Name)
		}
	}
	v = types.Resize(v, int(size), false)
	if name, ok := first[v]; ok {
		return name
	}
	if first[1] != "" && first[2] != "" && first[3] != "" {
		return "" // they count
	}
	var names []string
	for rest := v; rest != 0; rest &= rest - 1 {
		name, ok := first[rest&-rest]
		if !ok {
			return ""
		}
		names = append(names, name)
	}
	if v < 5 {
		return "" // of 1 and 2 nothing says that they are flags
	}
	return strings.Join(names, " | ")
}

// lastElement returns a name without the path of its package but the last element.
func lastElement(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
