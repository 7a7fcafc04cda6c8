package values

import "github.com/corewalk/corewalk/internal/vars/types"

// pascalShort prints a string of Pascal with its length in the first byte, which DWARF 2 describes as a record of length and st.
func pascalShort(b *builder, o *Object, t *types.Type, _ int) *Value {
	var chars *types.Type
	for i := range t.Members().Fields {
		if f := &t.Members().Fields[i]; f.Name == "st" && f.Off == 1 {
			chars = b.p.Types.OfField(f).Strip()
		}
	}
	n, ok := b.num(o, "length")
	if !ok || chars == nil || o.Size < 2 || n >= o.Size {
		return nil
	}
	elem := chars.Target()
	if size, char := elem.Char(); !char || size != 1 {
		return nil
	}
	raw, err := b.p.Bytes(o, 1, n)
	if err != nil {
		return Failed(o.Type, err)
	}
	limit := min(n, uint64(b.opts.MaxString))
	v := b.stringValue(o, elem, raw[:limit], limit < n)
	if o.Mem {
		v = b.placed(v, o.Addr+1, n)
	}
	return v
}
