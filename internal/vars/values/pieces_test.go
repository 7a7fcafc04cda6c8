package values

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestInPieces: expressions about an object without an address read its pieces; those that are nowhere have no value.
func TestInPieces(t *testing.T) {
	o := &Object{Size: 24, Data: make([]byte, 24), Holes: []Hole{{From: 64, To: 128, Err: unknown.ErrOptimisedOut}}}
	o.Data[0], o.Data[16] = 40, 3
	b := &builder{p: &Process{Arch: arch.AMD64}}
	const push, deref, plus = byte(op.PushObjectAddress), byte(op.Deref), byte(op.PlusUconst)
	for _, c := range []struct {
		name string
		expr []byte
		want uint64
		err  error
		ok   bool
	}{
		{"the first word", []byte{push, deref}, 40, nil, true},
		{"another", []byte{push, plus, 16, deref}, 3, nil, true},
		{"one that is nowhere", []byte{push, plus, 8, deref}, 0, unknown.ErrOptimisedOut, true},
		{"half of one", []byte{push, plus, 12, deref}, 0, unknown.ErrOptimisedOut, true},
		{"outside", []byte{push, plus, 24, deref}, 0, unknown.ErrCorrupt, true},
		{"a product", []byte{push, deref, push, plus, 16, deref, byte(op.Mul)}, 120, nil, true},
		{"a difference and one more", []byte{byte(op.Lit0) + 1, push, deref, push, plus, 16, deref, byte(op.Minus), byte(op.Plus)}, 38, nil, true},
		{"whether it is null", []byte{push, deref, byte(op.Lit0), byte(op.Ne)}, 1, nil, true},
		{"equal", []byte{push, plus, 16, deref, byte(op.Const1u), 3, byte(op.Eq)}, 1, nil, true},
		{"the address itself", []byte{push}, 0, nil, false},
		{"a sum with the address", []byte{push, byte(op.Lit0), byte(op.Plus)}, 0, nil, false},
		{"what a pointer leads to", []byte{push, deref, deref}, 0, nil, false},
		{"another operator", []byte{push, deref, byte(op.Lit0), byte(op.Shl)}, 0, nil, false},
		{"nothing about the object", []byte{byte(op.Lit0) + 5}, 0, nil, false},
		{"an empty stack", []byte{plus, 1}, 0, nil, false},
		{"two values", []byte{push, deref, push, deref}, 0, nil, false},
		{"cut off", []byte{push, plus}, 0, nil, false},
		{"many", []byte{push, push, push, push, push, push, push, push, push}, 0, nil, false},
	} {
		got, err, ok := b.inPieces(o, &dwarf.Value{Form: dwarf.FormExprloc, B: c.expr})
		if got != c.want || ok != c.ok || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %v, %v", c.name, got, err, ok)
		}
	}
	if _, _, ok := b.inPieces(o, &dwarf.Value{Form: dwarf.FormData1, U: 7}); ok {
		t.Error("a constant")
	}
}
