package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// maxSet is the largest number of bits of a set.
const maxSet = 1 << 12

// set reads a set of Pascal or Modula-2: a bit for each number or enumerator of a type, from 0 on.
func (b *builder) set(o *Object, t *types.Type) *Value {
	if o.Size > maxSet/8 {
		return Failed(o.Type, &unknown.Corrupt{Err: unknown.ErrLimit})
	}
	raw, err := b.p.Bytes(o, 0, o.Size)
	if err != nil {
		return Failed(o.Type, err)
	}
	of := t.Target()
	at := func(i int) bool { return i < 8*len(raw) && raw[i/8]>>(i%8)&1 == 1 }
	var list []string
	for i := 0; i < 8*len(raw); i++ {
		if !at(i) {
			continue
		}
		if err := b.search(2 * len(of.Strip().Members().Enums)); err != nil {
			return Failed(o.Type, err)
		}
		from := i
		for at(i + 1) {
			i++
		}
		text := setElement(of, uint64(from))
		switch {
		case i == from+1 && of.Strip().Tag == dwarf.TagEnumerationType:
			text += ", " + setElement(of, uint64(i))
		case i > from:
			text += ".." + setElement(of, uint64(i))
		}
		if list = append(list, text); len(list) >= b.opts.MaxElements {
			list = append(list, "...")
			break
		}
	}
	return b.text(o, "["+strings.Join(list, ", ")+"]")
}

// setElement returns the text of a number in a set.
func setElement(of *types.Type, v uint64) string {
	t := of.Strip()
	for n := 0; t.Tag == dwarf.TagSubrangeType && t.Elem.Valid() && n < types.MaxChain; n++ {
		t = t.Target().Strip()
	}
	if t.Tag == dwarf.TagEnumerationType {
		return enumText(t, v, 8)
	}
	if _, ok := t.Char(); ok {
		return charText(t, v)
	}
	return fmt.Sprint(v)
}
