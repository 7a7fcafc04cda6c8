package dwarfvars

import (
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/vars/values"
)

// TestKindNames: the kinds that callers know are those that values have.
func TestKindNames(t *testing.T) {
	for ours, theirs := range map[Kind]values.Kind{
		KindVoid: values.KindVoid, KindBool: values.KindBool, KindInt: values.KindInt, KindFloat: values.KindFloat,
		KindChar: values.KindChar, KindEnum: values.KindEnum, KindString: values.KindString, KindPointer: values.KindPointer,
		KindReference: values.KindReference, KindMemberPointer: values.KindMemberPointer, KindFunction: values.KindFunction,
		KindArray: values.KindArray, KindStruct: values.KindStruct, KindUnion: values.KindUnion,
		KindSequence: values.KindSequence, KindMap: values.KindMap, KindText: values.KindText,
	} {
		if string(ours) != string(theirs) {
			t.Errorf("%q and %q", ours, theirs)
		}
	}
}

// TestValueHandle: a Value tells all that the tree behind it has.
func TestValueHandle(t *testing.T) {
	gone := errors.New("gone")
	v := Value{&values.Value{Text: "map", Compound: true, More: true, Addr: 8, Parts: []values.Part{
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
