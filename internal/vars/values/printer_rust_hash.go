package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// rustHash prints HashMap and HashSet: a table of hashbrown. The elements are in front of the
// control bytes, the last first. The top bit of a control byte is set if there is no element.
func rustHash(b *builder, o *Object, t *types.Type, depth int) *Value {
	base, ok := b.member(o, "base")
	if !ok {
		return nil
	}
	if m, ok := b.member(&base, "map"); ok { // a set
		base = m
	}
	table, ok := b.member(&base, "table")
	if !ok {
		return nil
	}
	elem := table.Type.Strip().TypeArg(0)
	inner, ok := b.member(&table, "table")
	if !ok || elem == nil {
		return nil
	}
	mask, ok := b.num(&inner, "bucket_mask")
	n, ok2 := b.num(&inner, "items")
	ctrl, ok3 := b.member(&inner, "ctrl")
	if !ok || !ok2 || !ok3 {
		return nil
	}
	first, ok := b.pointer0(&ctrl)
	size, err := b.sizeOf(elem)
	if !ok || err != nil {
		return nil
	}
	if n > mask+1 || mask > maxLength {
		return badLength(o.Type, n)
	}
	name := rustName(t.BareName)
	v := b.counted(b.text(o, fmt.Sprintf("%s(size=%d)", name, n)), n)
	i := uint64(0)
	var at byteWindow
	b.sequence(v, elem, n, depth, func() (uint64, bool) {
		for ; i <= mask; i++ {
			c, err := at.get(b.p, first+i)
			if err != nil {
				return 0, false
			}
			if c&0x80 == 0 {
				i++
				return first - i*size, true
			}
		}
		return 0, false
	})
	rustPairs(v, strings.HasSuffix(name, "Map"))
	return v
}

// rustPairs splits the tuples in a table into keys and values, or takes the elements of a set out
// of them.
func rustPairs(v *Value, isMap bool) {
	for i := range v.Parts {
		el := v.Parts[i].Value
		switch {
		case el.Err != nil || !el.Compound || el.style != parens:
		case isMap && len(el.Parts) == 2:
			v.Parts[i].Key, v.Parts[i].Value = el.Parts[0].Value, el.Parts[1].Value
		case !isMap && len(el.Parts) > 0:
			v.Parts[i].Value = el.Parts[0].Value
		}
	}
}

// A byteWindow returns single bytes of the process's memory, and reads many at a time.
type byteWindow struct {
	start uint64
	data  []byte
}

func (w *byteWindow) get(p *Process, addr uint64) (byte, error) {
	if addr < w.start || addr-w.start >= uint64(len(w.data)) {
		buf := make([]byte, 256)
		n, err := p.Memory.ReadMem(addr, buf)
		if n == 0 {
			return 0, unknown.Reason(err)
		}
		w.start, w.data = addr, buf[:n]
	}
	return w.data[addr-w.start], nil
}
