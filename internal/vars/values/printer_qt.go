package values

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Strings, sequences, pointers and times of Qt 5 and 6.

// qtClass returns the printer for a class of Qt; nil if there is none.
func qtClass(name string) printer {
	switch name {
	case "QString", "QByteArray":
		return qtString
	case "QList", "QVector", "QStringList", "QQueue", "QStack":
		return either(qtArray, qt5List)
	case "QMap", "QMultiMap":
		return either(qt6Map, qt5Map)
	case "QHash", "QMultiHash":
		return either(qt6Hash, qt5Hash)
	case "QSet":
		return qtSet
	case "QSharedPointer", "QWeakPointer":
		return qtShared
	case "QPointer":
		return qtPointer
	case "QVariant":
		return either(qt6Variant, qt5Variant)
	case "QChar":
		return qtChar
	case "QDate":
		return qtDate
	case "QTime":
		return qtTime
	case "QDateTime":
		return qtDateTime
	}
	return nil
}

// A qtBlock is the elements of a string or an array.
type qtBlock struct {
	elem     *types.Type
	first, n uint64
	damaged  bool
}

// qtData finds the elements of a string or an array. In Qt 6 the object has their address and
// number. In Qt 5 it has the address of a QArrayData, which has their number and their offset
// from itself.
func (b *builder) qtData(o *Object) (d qtBlock, ok bool) {
	head := *o
	if d.elem, _, ok = b.elem(o, "d", "ptr"); ok {
		d.first, ok = b.num(o, "d", "ptr")
		head, _ = b.member(o, "d")
	} else {
		if head, ok = b.pointedTo(o, "d"); !ok {
			return d, false
		}
		off, ok1 := b.num(&head, "offset")
		room, ok2 := b.num(&head, "alloc")
		d.elem, d.first, ok = head.typeArg(), head.Addr+off, ok1 && ok2
		const near = 64                             // elements begin after the header, perhaps aligned
		if n, _ := b.num(&head, "size"); room > 0 { // constant data have no room
			d.damaged = n > room || off < head.Size || off > head.Size+near
		}
	}
	size, ok1 := b.member(&head, "size")
	if !ok || !ok1 || d.elem == nil {
		return d, false
	}
	n, err := b.uint(&size, true)
	d.n, d.damaged = n, d.damaged || n > maxLength
	return d, err == nil
}

// pointedTo returns the object that the pointer at the end of a chain of members points to.
func (b *builder) pointedTo(o *Object, names ...string) (Object, bool) {
	t, _, ok := b.elem(o, names...)
	addr, ok1 := b.num(o, names...)
	if !ok || !ok1 {
		return Object{}, false
	}
	at, err := b.inMemory(t, addr)
	return at, err == nil
}

// typeArg returns the first type argument of the class of o; nil if there is none.
func (o *Object) typeArg() *types.Type {
	if o.Type == nil {
		return nil
	}
	return o.Type.Strip().TypeArg(0)
}

func qtString(b *builder, o *Object, t *types.Type, depth int) *Value {
	d, ok := b.qtData(o)
	if !ok {
		return nil
	}
	size, err := b.sizeOf(d.elem)
	switch {
	case err != nil || size != 1 && size != 2:
		return nil
	case d.damaged:
		return badLength(o.Type, d.n)
	case d.n == 0: // a null string has no address
		return b.spelled(b.text(o, `""`), d.elem, nil, false)
	}
	raw := make([]byte, min(d.n, uint64(b.opts.MaxString))*size)
	if err := b.p.Read(d.first, raw); err != nil {
		return Failed(o.Type, err)
	}
	if size == 2 { // characters of UTF-16, some of which the compiler knows as numbers
		return b.utf16(o, raw, d.n)
	}
	return b.stringValue(o, d.elem, raw, uint64(len(raw)) < d.n)
}

// utf16 returns the value of a string of n characters, of which raw has the first.
func (b *builder) utf16(o *Object, raw []byte, n uint64) *Value {
	cut := uint64(len(raw))/2 < n
	char := &types.Type{Tag: dwarf.TagBaseType, BareName: "char16_t", Encoding: types.EncUTF, ByteSize: 2}
	v := b.text(o, strings.TrimPrefix(stringText(char, raw, b.p.Arch.Big(), cut), "u"))
	v.More = cut
	return b.counted(b.spelled(v, char, raw, cut), n)
}

// qtArray prints a vector, and a list of Qt 6.
func qtArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	d, ok := b.qtData(o)
	switch {
	case !ok:
		return nil
	case d.damaged:
		return badLength(o.Type, d.n)
	}
	return b.run(b.counted(b.text(o, fmt.Sprintf("%s of length %d", title(t), d.n)), d.n), d.elem, d.first, d.n, depth)
}

// qt5List prints a list of Qt 5: an array of words. Each is an element or the address of one,
// which the size and the type of elements tell only at times.
func qt5List(b *builder, o *Object, t *types.Type, depth int) *Value {
	list := o
	elem := t.TypeArg(0)
	if elem == nil { // QStringList
		fields := t.Members().Fields
		if len(fields) == 0 || !fields[0].Base {
			return nil
		}
		elem = b.p.Types.Of(fields[0].Type).Strip().TypeArg(0)
	}
	data, ok := b.pointedTo(list, "p", "d")
	begin, ok1 := b.member(&data, "begin")
	end, ok2 := b.member(&data, "end")
	room, ok3 := b.member(&data, "alloc")
	array, ok4 := b.member(&data, "array")
	if elem == nil || !ok || !ok1 || !ok2 || !ok3 || !ok4 || !array.Mem {
		return nil
	}
	first, err := b.uint(&begin, true)
	last, err1 := b.uint(&end, true)
	most, err2 := b.uint(&room, true)
	size, err3 := b.sizeOf(elem)
	if err != nil || err1 != nil || err2 != nil || err3 != nil {
		return nil
	}
	n := last - first
	if int64(first) < 0 || int64(n) < 0 || last > most {
		return badLength(o.Type, n)
	}
	v := b.counted(b.text(o, fmt.Sprintf("%s of length %d", title(t), n)), n)
	inside, known := qt5Inside(elem, size, b.word())
	if !known {
		v.Text += " (of elements or pointers to them)"
		v.Compound, v.More = true, n > 0
		return v
	}
	at := array.Addr + first*b.word()
	return b.sequence(v, elem, n, depth, func() (uint64, bool) {
		here := at
		at += b.word()
		if inside {
			return here, true
		}
		to, err := b.p.Memory.ReadWord(here)
		return to, err == nil
	})
}

// qt5Inside reports whether a list of Qt 5 has its elements in its array of words. They are
// outside if they are larger than a word, or have a type that Qt does not know to be movable.
func qt5Inside(elem *types.Type, size, word uint64) (inside, known bool) {
	s := elem.Strip()
	class, _, _ := strings.Cut(s.BareName, "<")
	switch {
	case size > word:
		return false, true
	case s.Tag == dwarf.TagBaseType || s.Pointer():
		return true, true
	}
	switch class {
	case "QString", "QByteArray", "QStringList", "QChar", "QList", "QVector", "QQueue", "QStack", "QSet", "QMap", "QMultiMap", "QHash", "QMultiHash", "QDate", "QTime":
		return true, true
	}
	return false, false
}

// qtShared prints a shared pointer with the counts that its block has.
func qtShared(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.member(o, "value")
	block, ok1 := b.num(o, "d")
	elem := t.TypeArg(0)
	if !ok || !ok1 || elem == nil || !ptr.Type.Strip().Pointer() {
		return nil
	}
	name := title(t) + "<" + elem.Name() + ">"
	if block == 0 {
		return b.pointing(o, name+" (empty)", &ptr, depth)
	}
	if strong, weak, ok := b.qtCounts(o, "d"); ok {
		name += fmt.Sprintf(" (strong count %d, weak count %d)", strong, weak)
	}
	return b.pointing(o, name, &ptr, depth)
}

// qtCounts reads the counts of strong and weak pointers in a block, where the weak ones are all.
func (b *builder) qtCounts(o *Object, names ...string) (strong, weak int64, ok bool) {
	counts, ok := b.pointedTo(o, names...)
	var n [2]int64
	for i, name := range [...]string{"strongref", "weakref"} {
		ref, ok1 := b.path(&counts, name, "_q_value")
		if ok1 {
			if inner, found := b.member(&ref, "_M_i"); found {
				ref = inner
			}
		}
		v, err := uint64(0), error(nil)
		if ok1 && ref.Size == 4 {
			v, err = b.uint(&ref, true)
		}
		n[i], ok = int64(v), ok && ok1 && err == nil && ref.Size == 4
	}
	return n[0], n[1] - n[0], ok
}

// qtPointer prints a QPointer, which is null after its object is gone.
func qtPointer(b *builder, o *Object, t *types.Type, depth int) *Value {
	ptr, ok := b.path(o, "wp", "value")
	block, ok1 := b.num(o, "wp", "d")
	elem := t.TypeArg(0)
	if !ok || !ok1 || elem == nil || !ptr.Type.Strip().Pointer() {
		return nil
	}
	name := title(t) + "<" + elem.Name() + ">"
	if block != 0 {
		if strong, _, ok := b.qtCounts(o, "wp", "d"); ok && strong == 0 {
			name += " (the object is gone)"
		}
	}
	return b.pointing(o, name, &ptr, depth)
}

func qtChar(b *builder, o *Object, t *types.Type, depth int) *Value {
	if n, ok := b.num(o, "ucs"); ok && o.Size == 2 {
		return b.text(o, fmt.Sprintf("%d %s", n, strings.TrimPrefix(charText(&types.Type{Tag: dwarf.TagBaseType, BareName: "char16_t", Encoding: types.EncUTF, ByteSize: 2}, n), "u")))
	}
	return nil
}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2440588

func qtDate(b *builder, o *Object, t *types.Type, depth int) *Value {
	day, ok := b.member(o, "jd")
	if !ok {
		return nil
	}
	n, err := b.uint(&day, true)
	const far = 4_000_000 // days: about 10000 years
	if err == nil && int64(n) == math.MinInt64 {
		return b.text(o, "QDate (invalid)")
	}
	if err != nil || int64(n) < julianEpoch-far || int64(n) > julianEpoch+far {
		return nil
	}
	return b.text(o, time.Unix(0, 0).UTC().AddDate(0, 0, int(int64(n)-julianEpoch)).Format("2006-01-02"))
}

func qtTime(b *builder, o *Object, t *types.Type, depth int) *Value {
	n, ok := b.num(o, "mds")
	switch {
	case ok && o.Size == 4 && n == 1<<32-1:
		return b.text(o, "QTime (invalid)")
	case !ok || o.Size != 4 || n >= 86_400_000:
		return nil
	}
	return b.text(o, time.UnixMilli(int64(n)).UTC().Format("15:04:05.000"))
}

// qtDateTime prints a point in time that is in the object itself: its lowest byte has flags, the
// others the milliseconds since 1970 began, in UTC or in local time.
func qtDateTime(b *builder, o *Object, t *types.Type, depth int) *Value {
	flags, ok := b.num(o, "d", "data", "status")
	since, ok1 := b.path(o, "d", "data", "msecs")
	if !ok || !ok1 {
		return nil
	}
	const inside, valid, spec = 0x01, 0x08, 0x30
	n, err := b.uint(&since, true)
	if err != nil || flags&inside == 0 || flags&valid == 0 {
		return nil
	}
	text, ok := date(int64(n), 1, 1000)
	switch zone := flags & spec >> 4; {
	case !ok || zone > 1:
		return nil
	case zone == 0:
		text = strings.TrimSuffix(text, "UTC") + "local time"
	}
	return b.text(o, text)
}
