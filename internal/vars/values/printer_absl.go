package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Classes of Abseil. Its layouts change from one release to the next: what a printer does not
// find where it expects it, it does not print.

// abslClass returns the printer for a class of Abseil by its name in absl; nil if there is none.
func abslClass(name string) printer {
	switch name {
	case "InlinedVector":
		return abslInlinedVector
	case "FixedArray":
		return abslFixedArray
	case "Span":
		return abslSpan
	case "string_view":
		return abslStringView
	case "optional":
		return abslOptional
	case "variant":
		return abslVariant
	case "Status":
		return abslStatus
	case "StatusOr":
		return abslStatusOr
	case "Cord":
		return abslCord
	case "flat_hash_map", "flat_hash_set", "node_hash_map", "node_hash_set":
		return abslHash
	case "btree_map", "btree_multimap", "btree_set", "btree_multiset":
		return abslBTree
	}
	return nil
}

// abslInlinedVector prints a vector. Twice its length is in front of the elements; 1 is added if
// these are not in the object.
func abslInlinedVector(b *builder, o *Object, t *types.Type, depth int) *Value {
	n, ok := b.num(o, "storage_", "metadata_", "value")
	inside, ok1 := b.path(o, "storage_", "data_", "inlined", "inlined_data")
	elem := t.TypeArg(0)
	if !ok || !ok1 || elem == nil {
		return nil
	}
	if n&1 != 0 {
		first, ok := b.num(o, "storage_", "data_", "allocated", "allocated_data")
		room, ok1 := b.num(o, "storage_", "data_", "allocated", "allocated_capacity")
		if !ok || !ok1 {
			return nil
		}
		return b.filled(o, elem, first, n>>1, room, depth)
	}
	return b.inside(o, elem, &inside, n>>1, depth)
}

func abslFixedArray(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.slice(o, title(t), depth, []string{"storage_", "data_"}, []string{"storage_", "size_alloc_", "value"})
}

func abslSpan(b *builder, o *Object, t *types.Type, depth int) *Value {
	return b.slice(o, title(t), depth, []string{"ptr_"}, []string{"len_"})
}

func abslStringView(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, _, ok := b.elem(o, "ptr_")
	addr, ok1 := b.num(o, "ptr_")
	n, ok2 := b.num(o, "length_")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	return b.lengthText(o, elem, addr, n)
}

func abslOptional(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem := t.TypeArg(0)
	engaged, ok := b.num(o, "engaged_")
	storage, ok1 := b.member(o, "data_")
	if elem == nil || !ok || !ok1 {
		return nil
	}
	return b.optional(o, t, elem, engaged, &storage, depth)
}

func abslVariant(b *builder, o *Object, t *types.Type, depth int) *Value {
	index, ok := b.member(o, "index_")
	state, ok1 := b.member(o, "state_")
	if !ok || !ok1 {
		return nil
	}
	return b.alternativeOf(o, t, &index, &state, depth)
}

// statusCodes are the names of absl::StatusCode.
const statusCodes = "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"

// statusText returns a status in words: NOT_FOUND: "no such thing". A number is four times a
// code, and perhaps 1 (of releases since 2024) or 2 (of a status that was moved from). Other
// values are the address of a reference count, a code and a message, and perhaps 1.
func (b *builder) statusText(o *Object) (string, bool) {
	rep, ok := b.num(o, "rep_")
	if !ok {
		return "", false
	}
	code, text := rep>>2, ""
	const page = 4096 // addresses are higher
	switch {
	case rep < page && rep&2 != 0:
		text = " (moved from)"
	case rep >= page:
		at := rep &^ 3
		var err error
		if code, err = b.p.Int(at+4, 4, false); err != nil || code == 0 {
			return "", false
		}
		if message, ok := b.shortOrLong(at + 8); ok {
			text = ": " + stringText(nil, message, false, false)
			if len(message) >= b.opts.MaxString {
				text += "..."
			}
		}
	}
	names := strings.Fields(statusCodes)
	if code >= uint64(len(names)) {
		return "", false
	}
	return names[code] + text, true
}

// shortOrLong reads the string of libstdc++ at addr: the address of the characters, their
// number, and the capacity or up to 15 characters. It returns false if there is something else.
func (b *builder) shortOrLong(addr uint64) ([]byte, bool) {
	w := b.word()
	at, err := b.p.Memory.ReadWord(addr)
	n, err1 := b.p.Memory.ReadWord(addr + w)
	room, err2 := b.p.Memory.ReadWord(addr + 2*w)
	if err != nil || err1 != nil || err2 != nil {
		return nil, false
	}
	if at == addr+2*w {
		room = 15
	}
	if n > room || room > maxLength {
		return nil, false
	}
	raw := make([]byte, min(n, uint64(b.opts.MaxString)))
	return raw, b.p.Read(at, raw) == nil
}

func abslStatus(b *builder, o *Object, t *types.Type, depth int) *Value {
	if text, ok := b.statusText(o); ok {
		return b.text(o, title(t)+" "+text)
	}
	return nil
}

// abslStatusOr prints the value, or the status if that is not OK.
func abslStatusOr(b *builder, o *Object, t *types.Type, depth int) *Value {
	status, ok := b.member(o, "status_")
	data, ok1 := b.member(o, "data_")
	elem := t.TypeArg(0)
	if !ok || !ok1 || elem == nil {
		return nil
	}
	name := title(t) + "<" + elem.Name() + ">"
	text, ok := b.statusText(&status)
	switch {
	case !ok:
		return nil
	case text != "OK":
		return b.text(o, name+" "+text)
	}
	return b.holding(o, name, &data, depth)
}

// abslCord prints a cord: short ones are in the object, with twice their length in its last
// byte; of others that byte is odd, and the object begins with the address of a tree. A tree of
// one node has the characters in it.
func abslCord(b *builder, o *Object, t *types.Type, depth int) *Value {
	data, ok := b.path(o, "contents_", "data_")
	chars, ok1 := b.member(&data, "as_chars_")
	node, _, ok2 := b.elem(&data, "as_tree_", "rep")
	at, ok3 := b.num(&data, "as_tree_", "rep")
	if !ok || !ok1 || !ok2 || !ok3 || chars.Size != 16 || chars.Type.Strip().Target().Size() != 1 {
		return nil
	}
	elem := chars.Type.Strip().Target()
	raw, err := b.p.Bytes(&chars, 0, 16)
	if err != nil {
		return Failed(o.Type, err)
	}
	if tag := raw[15]; tag&1 == 0 {
		n := int(tag >> 1)
		if n > 15 {
			return badLength(o.Type, uint64(n))
		}
		return b.stringValue(o, elem, raw[:min(n, b.opts.MaxString)], n > b.opts.MaxString)
	}
	rep, err := b.inMemory(node, at)
	if err != nil {
		return nil
	}
	n, ok := b.num(&rep, "length")
	kind, ok1 := b.num(&rep, "tag")
	text, ok2 := b.member(&rep, "storage")
	switch {
	case !ok || !ok1 || !ok2:
		return nil
	case n > maxLength:
		return badLength(o.Type, n)
	case n+text.Addr-at > flatSize(kind):
		v := b.elementsText(o, title(t), n)
		v.Text = strings.ReplaceAll(v.Text, "element", "character") + " in a tree"
		return v
	}
	return b.lengthText(o, elem, text.Addr, n)
}

// flatSize returns the size in bytes of a cord's node with characters, which is encoded in its
// tag: from 32 on in steps of 8, 64 and 4096; 0 of other nodes.
func flatSize(tag uint64) uint64 {
	const first = 6
	switch {
	case tag < first || tag > 248:
		return 0
	case tag <= 66:
		return 32 + (tag-first)*8
	case tag <= 186:
		return 512 + (tag-66)*64
	}
	return 8192 + (tag-186)*4096
}
