package dwarfvars

import (
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/values"
)

// TestValueHandle: a Value tells all that the tree behind it has.
func TestValueHandle(t *testing.T) {
	gone := errors.New("gone")
	v := Value{v: &values.Value{Text: "map", Compound: true, More: true, Addr: 8, Parts: []values.Part{
		{Name: "a", Value: &values.Value{Text: "1", Addr: 16}},
		{Key: &values.Value{Text: "k"}, Value: &values.Value{Text: "2"}, Repeat: 12},
		{Name: "b", Value: &values.Value{Err: gone}},
	}}}
	if v.IsZero() || v.Text() != "map" || !v.Compound() || !v.More() || v.Addr() != 8 || v.Err() != nil {
		t.Errorf("%+v", v)
	}
	parts := slices.Collect(v.Parts())
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	a, k, b := parts[0], parts[1], parts[2]
	if a.Name != "a" || !a.Key.IsZero() || a.Value.Text() != "1" || a.Value.Addr() != 16 || a.Repeat != 1 {
		t.Errorf("a member: %+v", a)
	}
	if k.Name != "" || k.Key.IsZero() || k.Key.Text() != "k" || k.Value.Text() != "2" || k.Repeat != 12 {
		t.Errorf("an element of a map: %+v", k)
	}
	if b.Value.Err() != gone || b.Value.IsZero() {
		t.Errorf("a member that cannot be read: %+v", b)
	}
	for range v.Parts() {
		break // must stop
	}
}

// TestZeroValue: no value at all has nothing to tell, and may be asked.
func TestZeroValue(t *testing.T) {
	var v Value
	if !v.IsZero() || v.Kind() != KindText || v.Type() != "" || v.Text() != "" || v.Compound() || v.More() || v.Addr() != 0 || v.Err() != nil || v.String() != "" {
		t.Errorf("%+v", v)
	}
	if len(slices.Collect(v.Parts())) != 0 {
		t.Error("the zero Value has parts")
	}
}
