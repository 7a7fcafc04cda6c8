package hotspot

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// described is a virtual machine of JDK 17 whose debug information is code, and a blob that has it.
func described(code ...byte) (*VM, *blob) {
	vm := thrower("java/lang/Throwable")
	vm.version = 17
	mem := vm.Memory.(*recorded).Pages[0x1000]
	copy(mem[0x800:], code)
	return vm, &blob{scopes: 0x1800 - 1, scopesEnd: 0x1800 + uint64(len(code)), level: 4}
}

// TestRemovedDescriptions: descriptions of removed objects that are damaged end, and what was good before them counts.
func TestRemovedDescriptions(t *testing.T) {
	deep := []byte{1}
	for range 2 * maxRemovedDeep {
		deep = append(deep, scopeRemoved, 7, scopeObject, 0, 1)
	}
	for _, c := range []struct {
		what string
		code []byte
		want int
	}{
		{"one with a number", []byte{1, scopeRemoved, 7, scopeObject, 0, 1, scopeInt, 10}, 1},
		{"one after the other", []byte{2, scopeRemoved, 7, scopeObject, 0, 0, scopeBox, 8, scopeObject, 0, 1, scopeInt, 10}, 2},
		{"one within the other", []byte{1, scopeRemoved, 7, scopeObject, 0, 1, scopeRemoved, 8, scopeObject, 0, 0}, 2},
		{"several ways", []byte{2, scopeRemoved, 8, scopeObject, 0, 0, scopeMerge, 9, scopeInt, 0, scopeObject, 0, 1, scopeRemovedID, 8}, 2},
		{"a class that is none", []byte{1, scopeRemoved, 7, scopeInt, 0, 0}, 0},
		{"a kind that nobody knows", []byte{2, scopeRemoved, 7, scopeObject, 0, 0, 40, 1}, 1},
		{"more than there may be", []byte{255, 255, 255, 255, 255, scopeRemoved, 7, scopeObject, 0, 0}, 0},
		{"more values than there may be", []byte{1, scopeRemoved, 7, scopeObject, 0, 255, 255, 255, 255, 255}, 0},
		{"one in the other without end", deep, 0},
	} {
		vm, b := described(c.code...)
		if got := vm.removedAt(b, 1); len(got) != c.want {
			t.Errorf("%s: %d objects, want %d", c.what, len(got), c.want)
		}
	}
	vm, b := described(1, scopeRemoved, 7, scopeObject, 0, 0)
	if outside := *b; len(vm.removedAt(&outside, 1)) != 1 {
		t.Error("no object")
	} else if outside.scopesEnd = b.scopes + 1; len(vm.removedAt(&outside, 1)) != 0 {
		t.Error("an object behind the descriptions of its method")
	}
	if got := vm.scopeValues(b, 1); len(got) != 0 {
		t.Errorf("values %v of what describes objects", got)
	}
}

// TestRemovedObjects: what the description of a removed object does not fit is not shown as one.
func TestRemovedObjects(t *testing.T) {
	vm, b := described()
	number := func(n uint64) scopeValue { return scopeValue{scopeInt, n} }
	null := scopeValue{scopeObject, 0}
	objects := removedObjects{
		1:  {class: throwable, fields: []scopeValue{null}},
		2:  {class: throwable},
		3:  {class: throwable, fields: []scopeValue{null, null}},
		4:  {class: throwable + 8, fields: []scopeValue{null}},
		5:  {class: throwable, fields: []scopeValue{{scopeRemovedID, 5}}},
		6:  {merged: true, selector: number(0), pointer: null, candidates: []uint32{1}},
		7:  {merged: true, selector: number(1), pointer: null, candidates: []uint32{1}},
		8:  {merged: true, selector: number(0xffffffff), pointer: null, candidates: []uint32{1}},
		9:  {merged: true, selector: number(0), pointer: null, candidates: []uint32{9}},
		10: {class: throwable, fields: []scopeValue{number(3)}},
		11: {merged: true, selector: number(0xfffffffe), pointer: null, candidates: []uint32{1}},
	}
	for id, want := range map[uint32]string{
		1:  "Throwable{cause=null}",
		2:  "<not kept by the compiler>",
		3:  "<not kept by the compiler>",
		4:  "<no object is there>",
		5:  "Throwable{cause=Throwable{cause=Throwable{cause=Throwable{cause=Throwable{...}}}}}",
		6:  "Throwable{cause=null}",
		7:  "<not kept by the compiler>",
		8:  "null",
		9:  "<not kept by the compiler>",
		10: "Throwable{cause=<not kept by the compiler>}",
		11: "<not kept by the compiler>",
		12: "<not kept by the compiler>",
	} {
		p := &treeBuilder{VM: vm, limits: textLimits}
		if got := line(p.removed(removal{b: b, objects: objects, id: id})); got != want {
			t.Errorf("object %d is %s, want %s", id, got, want)
		}
	}
	where := place{removed: &removal{b: b, objects: objects, id: 1}}
	if v := vm.variable(local{name: "n", signature: "I"}, where, tasks.Limits{}); v.Err != errDropped {
		t.Errorf("a number is an object: %q", v.Value)
	}
	if v := vm.variable(local{name: "e", signature: "Ljava/lang/Throwable;"}, where, tasks.Limits{}); v.Value != "Throwable{cause=null}" || v.Address != 0 {
		t.Errorf("got %q at %#x", v.Value, v.Address)
	}
}
