package values

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// isAda reports whether a language is Ada.
func isAda(l dwarf.Language) bool { return types.Ada(l) }

// adaAddress is the type System.Address of Ada. GNAT describes it as a number.
const adaAddress = "system.address"

// adaLiteral returns the name of an enumerator as Ada writes it, without the packages that it is in.
func adaLiteral(name string) string {
	if i := strings.LastIndex(name, "__Q"); i >= 0 || strings.HasPrefix(name, "Q") { // 'x'
		last := strings.TrimPrefix(name[max(i, 0):], "__")[1:]
		if len(last) == 1 && (last[0] >= 'a' && last[0] <= 'z' || last[0] >= '0' && last[0] <= '9') {
			return "'" + last + "'"
		}
		if v, err := strconv.ParseUint(strings.TrimLeft(last, "UW"), 16, 21); err == nil && last != "" && (last[0] == 'U' || last[0] == 'W') {
			return "'" + string(rune(v)) + "'"
		}
	}
	full := demangle.Ada(name)
	return full[strings.LastIndexByte(full, '.')+1:]
}

// adaUnconstrained prints an array whose bounds are not part of its type, such as a parameter of type String. GNAT has a
// record for it: a pointer to the elements, and one to a record of bounds, LB0 and UB0 for the first dimension.
func adaUnconstrained(b *builder, o *Object, _ *types.Type, depth int) *Value {
	array, shape, err := b.adaArray(o)
	switch {
	case err != nil:
		return Failed(o.Type, err)
	case array == nil:
		return nil
	case array.Addr == 0:
		return b.text(o, "null")
	}
	v := b.dimension(array, array.Type.Strip(), shape, depth)
	v.typ = o.Type
	return v
}

// adaArray returns the array that such a record o stands for, at address 0 if it is null. It
// returns nil for other records, and where a register that has a pointer is not known: the members say that.
func (b *builder) adaArray(o *Object) (*Object, []types.Extent, error) {
	elements, bounds := b.pointee(o, "P_ARRAY"), b.pointee(o, "P_BOUNDS")
	if elements == nil || elements.Strip().Tag != dwarf.TagArrayType || bounds == nil || !bounds.Strip().Aggregate() {
		return nil, nil, nil
	}
	addr, ok := b.num(o, "P_ARRAY")
	at, alsoOK := b.num(o, "P_BOUNDS")
	if !ok || !alsoOK {
		return nil, nil, nil
	}
	array := &Object{Type: elements, Mem: true, Addr: addr}
	if addr == 0 {
		return array, nil, nil
	}
	dims := elements.Strip().Dims()
	if len(dims) == 0 {
		return nil, nil, nil
	}
	counts, err := b.adaCounts(bounds, at, len(dims))
	if err != nil {
		return nil, nil, err
	}
	shape, err := elements.Strip().ShapeOf(b.in(o), counts)
	return array, shape, err
}

// pointee returns the type that a member of o points to; nil if it is no pointer.
func (b *builder) pointee(o *Object, member string) *types.Type {
	p, ok := b.member(o, member)
	if !ok || !p.Type.Strip().Pointer() {
		return nil
	}
	return p.Type.Strip().Target()
}

// adaCounts returns how many elements an array has in each dimension, by the record of its bounds.
func (b *builder) adaCounts(bounds *types.Type, at uint64, dimensions int) ([]uint64, error) {
	record, err := b.inMemory(bounds, at)
	if err != nil {
		return nil, err
	}
	counts := make([]uint64, dimensions)
	for i := range counts {
		var bound [2]int64
		for k, name := range [...]string{"LB", "UB"} {
			part, ok := b.path(&record, fmt.Sprint(name, i))
			if !ok {
				return nil, unknown.ErrLength
			}
			n, err := b.uint(&part, part.Type.Base().Encoding.Signed())
			if err != nil {
				return nil, &unknown.Bound{Err: unknown.Reason(err)}
			}
			bound[k] = int64(n)
		}
		if bound[1] >= bound[0] {
			counts[i] = uint64(bound[1]-bound[0]) + 1
		}
	}
	return counts, nil
}
