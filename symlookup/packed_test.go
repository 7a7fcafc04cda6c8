package symlookup

import (
	"reflect"
	"testing"

	"github.com/corewalk/corewalk/unwind"
)

// TestPackCalls: calls are the same after they were kept, each member of them.
func TestPackCalls(t *testing.T) {
	calls := []unwind.Call{
		{Name: "f", LinkageName: "_Z1fv", File: "/src/f.cc", Line: 12, Column: 3, Inlined: true, Declared: 300, Entry: 0x401000},
		{Name: "g", Approximate: true, NoReturn: true, Entry: 1<<64 - 1},
	}
	whole := reflect.ValueOf(calls)
	for i := range reflect.TypeFor[unwind.Call]().NumField() {
		if whole.Index(0).Field(i).IsZero() && whole.Index(1).Field(i).IsZero() {
			t.Errorf("no call has %s", reflect.TypeFor[unwind.Call]().Field(i).Name)
		}
	}
	for n := range len(calls) + 1 {
		packed := packCalls(calls[:n])
		got, ok := unpackCalls(packed)
		if !ok || len(got) != n || n > 0 && !reflect.DeepEqual(got, calls[:n]) {
			t.Errorf("%d calls: %v %+v", n, ok, got)
		}
		if packed == nil {
			t.Error("nil is not kept")
		}
	}
	packed := packCalls(calls)
	if got, ok := unpackCalls(packed[:len(packed)-1]); ok {
		t.Errorf("cut off: %+v", got)
	}
}

// Calls are whatever is on disk.
func FuzzUnpackCalls(f *testing.F) {
	f.Add(packCalls([]unwind.Call{{Name: "f", File: "f.c", Line: 1}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if calls, ok := unpackCalls(data); ok {
			if again, ok := unpackCalls(packCalls(calls)); !ok || !reflect.DeepEqual(again, calls) {
				t.Errorf("%+v, then %+v", calls, again)
			}
		}
	})
}
