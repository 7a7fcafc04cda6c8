package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Values of Zig, whose compiler says that its units are C's. Its names of types tell them apart: C has none with such characters.

// zigPrinter returns the printer for a structure of Zig; nil if there is none.
func zigPrinter(t *types.Type) printer {
	name := t.BareName
	switch {
	case strings.HasPrefix(name, "["): // []const u8, [:0]u8
		return zigSlice
	case strings.HasPrefix(name, "?"):
		return zigOptional
	case strings.Contains(name, "!"): // also in the names of what has one inside, which has other members
		return zigErrors
	}
	return zigUnion
}

// zigSlice prints a slice: one of bytes as text.
func zigSlice(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, size, ok := b.elem(o, "ptr")
	addr, ok1 := b.num(o, "ptr")
	n, ok2 := b.num(o, "len")
	switch {
	case !ok || !ok1 || !ok2:
		return nil
	case n > maxLength:
		return badLength(o.Type, n)
	case elem.Strip().BareName == "u8" && n == 0:
		return b.placed(b.stringValue(o, elem, nil, false), addr, 0)
	case elem.Strip().BareName == "u8":
		return b.lengthText(o, elem, addr, n)
	case size == 0:
		return nil
	}
	return b.run(b.counted(b.text(o, ""), n), elem, addr, n, depth)
}

// zigOptional prints null, or the value that there is.
func zigOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	some, ok := b.num(o, "some")
	held, ok1 := b.member(o, "data")
	if !ok || !ok1 || some > 1 {
		return nil
	}
	if some == 0 {
		return b.text(o, "null")
	}
	return b.value(&held, depth)
}

// zigErrors prints the value of what may have failed, or the number of the error: its name is in no debugging information.
func zigErrors(b *builder, o *Object, t *types.Type, depth int) *Value {
	code, ok := b.num(o, "tag")
	if !ok {
		return nil
	}
	if code != 0 {
		return b.text(o, fmt.Sprintf("error %d", code))
	}
	held, ok := b.member(o, "value")
	if !ok { // of void
		return nil
	}
	return b.value(&held, depth)
}

// zigUnion prints the member of a tagged union that is in use.
func zigUnion(b *builder, o *Object, t *types.Type, depth int) *Value {
	tag, ok := b.member(o, "tag")
	payload, ok1 := b.member(o, "payload")
	if !ok || !ok1 || payload.Type.Strip().BareName != t.BareName+":Payload" {
		return nil
	}
	n, ok := b.num(o, "tag")
	name := ""
	for _, e := range tag.Type.Strip().Members().Enums {
		if e.Val == n {
			name = e.Name
		}
	}
	if !ok || name == "" {
		return nil
	}
	held, ok := b.member(&payload, name)
	if !ok { // of void
		return b.text(o, name)
	}
	v := b.text(o, "")
	v.Compound = true
	if depth >= b.opts.MaxDepth || !b.take() {
		v.More = true
		return v
	}
	v.Parts = []Part{{Name: name, Value: b.value(&held, depth+1)}}
	return v
}
