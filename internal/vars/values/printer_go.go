package values

import (
	"fmt"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Values of Go.

// goPrinter returns the printer for a struct that stands for a string, a slice or an interface.
func goPrinter(t *types.Type) printer {
	switch {
	case t.GoKind == types.GoString || t.BareName == "string":
		return goStringValue
	case t.GoKind == types.GoSlice:
		return goSliceValue
	case t.BareName == "runtime.iface" || t.BareName == "runtime.eface":
		return goInterfaceValue
	case t.BareName == "time.Time":
		return goTimeValue
	}
	return nil
}

// Bits of time.Time.wall and epochs of package time, in seconds.
const (
	goMonotonic = 1 << 63            // wall has the seconds since 1885, in 33 bits
	goNanos     = 1<<30 - 1          // of wall: the nanoseconds
	goFrom1885  = 59453308800        // from the year 1 to 1885
	goToUnix    = 62135596800        // from the year 1 to 1970
	goLastYear  = 9999*31556952 + 1  // from the year 1 on, about: more is no date
	goSecond    = 1000 * 1000 * 1000 // nanoseconds
)

// goTimeValue prints a time.Time as a date, in UTC whatever its location.
func goTimeValue(b *builder, o *Object, t *types.Type, depth int) *Value {
	wall, ok := b.num(o, "wall")
	ext, ok2 := b.num(o, "ext")
	nanos := wall & goNanos
	if !ok || !ok2 || nanos >= goSecond {
		return nil
	}
	sec := int64(ext)
	if wall&goMonotonic != 0 {
		sec = goFrom1885 + int64(wall<<1>>31)
	}
	if sec < 0 || sec > goLastYear {
		return nil
	}
	return b.text(o, time.Unix(sec-goToUnix, int64(nanos)).UTC().Format("2006-01-02 15:04:05.999999999 UTC"))
}

func goStringValue(b *builder, o *Object, t *types.Type, depth int) *Value {
	addr, ok := b.num(o, "str")
	n, ok2 := b.num(o, "len")
	if !ok || !ok2 {
		return nil
	}
	return b.utf8(o, addr, n)
}

func goSliceValue(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "array")
	addr, ok1 := b.num(o, "array")
	n, ok2 := b.num(o, "len")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	room, hasRoom := b.num(o, "cap")
	if most := max(n, room); most > maxLength || hasRoom && n > room {
		return badLength(o.Type, most)
	}
	if addr == 0 && n == 0 {
		return b.roomy(b.text(o, "nil"), 0, 0)
	}
	text := fmt.Sprintf("%s (len %d, cap %d)", t.BareName, n, room)
	if !hasRoom {
		text = fmt.Sprintf("%s (len %d)", t.BareName, n)
		if o.lacks(unknown.ErrCapacity) {
			text = fmt.Sprintf("%s (len or cap %d)", t.BareName, n)
		}
	}
	v := b.text(o, text)
	switch {
	case hasRoom:
		b.roomy(v, n, room)
	case !o.lacks(unknown.ErrCapacity):
		b.counted(v, n)
	}
	return b.run(v, elem, addr, n, depth)
}

// goPointerValue prints a map or a channel, which DWARF describes as pointers. It returns nil for
// other pointers.
func (b *builder) goPointerValue(o *Object, t *types.Type, depth int) *Value {
	named := goNamed(o.Type)
	if !goHeadered(named) {
		return nil
	}
	addr, err := b.uint(o, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	if addr == 0 {
		return b.roomy(b.text(o, "nil"), 0, 0)
	}
	to, err := b.inMemory(t.Target(), addr)
	if err != nil {
		return nil
	}
	if named.GoKind == types.GoChan {
		return b.goChannel(o, named, &to, depth)
	}
	if _, ok := fieldNamed(to.Type.Strip(), "buckets"); ok {
		return b.goBucketMap(o, named, &to, depth)
	}
	return b.goMapValue(o, named, &to, depth)
}

// Limits on what is shown of what one variable points to: parts in all, how deep they are nested, and bytes of one object.
const (
	maxFollowed   = 32
	maxFollowedAt = 4096
	followedDepth = 5
)

// goFollowed prints a pointer and what it points to, which of an error, a context or a large number is what they are: nil if that
// cannot be read, says nothing more, or is the runtime's own. Pointers in it are not followed, but those that interfaces have are.
func (b *builder) goFollowed(o *Object, t *types.Type, addr uint64, depth int) *Value {
	elem := t.Target()
	switch s := elem.Strip(); {
	case goShape(o.Type), addr == 0 || !t.Pointer() || depth >= b.opts.MaxDepth || b.opts.Raw || goHeadered(goNamed(o.Type)),
		s.Tag == 0 || s.Pointer() || s.Tag == dwarf.TagSubroutineType,
		strings.HasPrefix(s.BareName, "runtime.") || strings.HasPrefix(s.BareName, "internal/"):
		return nil
	}
	to, err := b.inMemory(elem, addr)
	if err != nil || to.Size == 0 || to.Size > maxFollowedAt || !b.take() {
		return nil
	}
	var end [1]byte
	if b.p.Read(addr, end[:]) != nil || b.p.Read(addr+to.Size-1, end[:]) != nil {
		return nil
	}
	if !b.followed { // all that is followed from one variable has a budget of its own
		b.followed = true
		before := b.left
		b.left = min(before, maxFollowed)
		given := b.left
		defer func() { b.followed, b.left = false, before-(given-max(b.left, 0)) }()
	}
	v := b.value(&to, max(depth+1, b.opts.MaxDepth-followedDepth))
	if v.Err != nil {
		return nil
	}
	mark := b.p.addressText(addr) + ":"
	if v.Text != "" {
		mark += " " + v.Text
	}
	v.Text, v.typ, v.Addr, v.printed = mark, o.Type, 0, false
	return v
}

// goShape reports whether a type stands for all pointers in a generic function: what they point to is not what it says.
func goShape(t *types.Type) bool {
	for range types.MaxChain {
		if strings.HasPrefix(t.BareName, "go.shape.*") {
			return true
		}
		if !t.Transparent() {
			break
		}
		t = t.Target()
	}
	return false
}

// goNamed returns the type that says whether t is a map or a channel.
func goNamed(t *types.Type) *types.Type {
	for range types.MaxChain {
		if goHeadered(t) || !t.Transparent() {
			break
		}
		t = t.Target()
	}
	return t
}

// goHeadered reports whether DWARF describes values of a type as pointers to what the runtime has of them.
func goHeadered(t *types.Type) bool { return t.GoKind == types.GoMap || t.GoKind == types.GoChan }

// goFuncValue prints a variable of a function type. It has the address of a closure, which begins
// with the address of the code.
func (b *builder) goFuncValue(o *Object) *Value {
	p := o.part(o.Type, 0, uint64(b.p.Arch.WordSize))
	closure, err := b.uint(&p, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	if closure == 0 {
		return b.text(o, "nil")
	}
	code, err := b.p.Memory.ReadWord(closure)
	if err != nil {
		return b.text(o, fmt.Sprintf("%#x <%v>", closure, unknown.Reason(err)))
	}
	return b.text(o, b.p.addressText(code))
}

func (b *builder) goChannel(o *Object, named *types.Type, to *Object, depth int) *Value {
	n, ok := b.num(to, "qcount")
	room, ok2 := b.num(to, "dataqsiz")
	closed, ok3 := b.num(to, "closed")
	first, ok4 := b.num(to, "recvx")
	buf, ok5 := b.num(to, "buf")
	size, ok6 := b.num(to, "elemsize")
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || n > room {
		return nil
	}
	text := fmt.Sprintf("%s (len %d, cap %d)", named.BareName, n, room)
	if closed != 0 {
		text = fmt.Sprintf("%s (len %d, cap %d, closed)", named.BareName, n, room)
	}
	v := b.roomy(b.text(o, text), n, room)
	elem := b.goElem(named)
	if elem == nil || n == 0 {
		return v
	}
	i := uint64(0)
	return b.sequence(v, elem, n, depth, func() (uint64, bool) {
		at := buf + (first+i)%room*size
		i++
		return at, true
	})
}

func (b *builder) goElem(t *types.Type) *types.Type { return b.goTypeOf(t, dwarf.AttrGoElem) }

// goTypeOf returns the type that an attribute of t refers to; nil if there is none.
func (b *builder) goTypeOf(t *types.Type, attr dwarf.Attr) *types.Type { return t.GoType(attr) }
