package jitmaps

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/slimnote"
)

// TestKeptAnswers: what was answered is answered from the note, without the files.
func TestKeptAnswers(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-7.map": "1000 100 old\n1080 10 new\n2000 10 g\n"})
	m.p.Record = true
	for _, addr := range []uint64{0x1000, 0x1085, 0x2005, 0x2005, 0x3000} {
		m.CallAt(addr)
	}
	want := []slimnote.Made{
		{Start: 0x1000, Size: 0x100, Cut: true, Name: "old", Places: []slimnote.MadePlace{{Addr: 0x1000}}},
		{Start: 0x1080, Size: 0x10, Name: "new", Places: []slimnote.MadePlace{{Addr: 0x1085}}},
		{Start: 0x2000, Size: 0x10, Name: "g", Places: []slimnote.MadePlace{{Addr: 0x2005}}},
	}
	if got := m.Asked(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	want[1].Places[0].File, want[1].Places[0].Line = "a.toy", 5
	p := m.p
	p.Kept = want
	p.PID = 8 // there is no file
	m = New(p)
	for addr, name := range map[uint64]string{0x1000: "old", 0x1004: "", 0x1080: "new", 0x1085: "new", 0x2000: "g", 0x2010: "", 0x3000: ""} {
		if got := m.name(addr); got != name {
			t.Errorf("%#x: %q, want %q", addr, got, name)
		}
	}
	if c, _ := m.CallAt(0x1085); c.File != "a.toy" || c.Line != 5 || c.Entry != 0x1080 {
		t.Errorf("%+v", c)
	}
	if c, _ := m.CallAt(0x1086); c.File != "" || c.Line != 0 {
		t.Errorf("its line was not asked for: %+v", c)
	}
	if _, ok := m.FunctionAt(0x1000); ok {
		t.Error("a part of it was overwritten")
	}
	if got := m.Asked(); len(got) != 3 || got[1].Places[1].Line != 5 { // at 0x1080, 0x1085, 0x1086
		t.Errorf("once more: %+v", got)
	}
}

// TestNotRecorded: nothing is recorded unless a slim core may be written.
func TestNotRecorded(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-7.map": "1000 100 f\n"})
	if m.name(0x1000) != "f" || len(m.Asked()) > 0 {
		t.Errorf("%+v", m.Asked())
	}
}

// TestHostileKept: functions end where the address space does, and have what is said to be in them.
func TestHostileKept(t *testing.T) {
	places := []slimnote.MadePlace{{Addr: 0x1000}, {Addr: 0x5000}, {Addr: math.MaxUint64}}
	k := newKept([]slimnote.Made{
		{Start: 0x1000, Name: "empty", Places: places},
		{Start: 0x2000, Size: math.MaxUint64 - 0x1000, Name: "around the end", Places: places},
		{Start: 0x3000, Size: 0x100, Name: "elsewhere", Places: places},
	})
	for _, addr := range []uint64{0x1000, 0x2000, 0x5000, math.MaxUint64} {
		if a, ok := k.find(addr); ok {
			t.Errorf("%#x: %+v", addr, a)
		}
	}
	if a, ok := k.find(0x3000); !ok || a.name != "elsewhere" {
		t.Errorf("%+v", a)
	}
}

// TestAskedTwice: other code may begin where code began before, and the first answer for an address stays.
func TestAskedTwice(t *testing.T) {
	m := &Maps{}
	m.asked.add(0x1000, answer{name: "old", start: 0x1000, size: 8})
	m.asked.add(0x1001, answer{name: "new", start: 0x1000, size: 8})
	m.asked.add(0x1002, answer{name: "new", start: 0x1000, size: 16})
	m.asked.add(0x1002, answer{name: "other", start: 0x1000, size: 16})
	if got := m.Asked(); len(got) != 3 || got[2].Name != "new" || len(got[2].Places) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAskedIsBounded(t *testing.T) {
	var a asked
	for i := range uint64(maxAsked + 10) {
		a.add(i, answer{name: "f"})
	}
	if len(a.list) != maxAsked {
		t.Errorf("%d addresses", len(a.list))
	}
	a = asked{}
	for i := range uint64(10) {
		a.add(i, answer{name: fmt.Sprint(i), file: strings.Repeat("f", maxAskedText/4)})
	}
	if len(a.list) != 3 {
		t.Errorf("%d long paths", len(a.list))
	}
}

// TestUsed: a file that is another process's, or none, is not carried along.
func TestUsed(t *testing.T) {
	m, _ := opened(t, map[string]string{"perf-7.map": "what\n", "jit-7.dump": jitdump(7, 0x1000, 128, 0)}, "/srv/jit-7.dump")
	if len(m.Used()) > 0 {
		t.Error("nothing was asked")
	}
	m.name(0x1000)
	if got := m.Used(); len(got) == 0 || got[0].Path != "/srv/jit-7.dump" || string(got[0].Data) != jitdump(7, 0x1000, 128, 0) {
		t.Errorf("%+v", got)
	}
	for _, f := range m.Used() {
		if strings.HasSuffix(f.Path, ".map") {
			t.Error(f.Path)
		}
	}
}
