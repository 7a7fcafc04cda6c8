package modules_test

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Libraries that differ in what identifies them have answers of their own, whichever is
// asked for first.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	path := put(t, elfWith(idA, code), dir, "libx.so")
	win := put(t, peWith(t, codeID, debugID), dir, "app.dll")
	plain := libstate.Library{Path: path, Start: base, End: base + 0x1000, BuildID: idA}
	dll := func(id libstate.ModuleID) libstate.Library {
		l := pe(id)
		l.Path = win
		return l
	}
	for name, c := range map[string]struct {
		right, wrong libstate.Library
		match        modules.Match // of the wrong one
	}{
		"build-id":  {plain, libstate.Library{Path: path, Start: base, End: base + 0x1000, BuildID: idB}, modules.Mismatched},
		"path":      {plain, libstate.Library{Path: path + "x", Start: base, End: base + 0x1000, BuildID: idA}, modules.Missing},
		"code id":   {dll(libstate.ModuleID{CodeID: codeID}), dll(libstate.ModuleID{CodeID: otherID(codeID)}), modules.Mismatched},
		"debug id":  {dll(libstate.ModuleID{DebugID: debugID}), dll(libstate.ModuleID{DebugID: otherID(debugID)}), modules.Mismatched},
		"which one": {dll(libstate.ModuleID{DebugID: codeID}), dll(libstate.ModuleID{CodeID: codeID}), modules.Matched},
	} {
		for _, first := range []bool{true, false} {
			set := newSet(t, regions{}, someOption)
			right := modules.Matched
			if name == "which one" {
				right = modules.Mismatched
			}
			if first {
				set.Resolve(&c.right)
			}
			if r := set.Resolve(&c.wrong); r.Match != c.match {
				t.Errorf("%s: %v, want %v", name, r.Match, c.match)
			}
			if r := set.Resolve(&c.right); r.Match != right {
				t.Errorf("%s: %v, want %v", name, r.Match, right)
			}
		}
	}
}

// Two images in memory that differ in their place are two.
func TestEntriesByPlace(t *testing.T) {
	mem := regions{base: elfWith(nil, code), base + 0x10000: elfWith(nil, code), base + 0x20000: make([]byte, 0x1000)}
	set := newSet(t, mem)
	seen := map[*modules.Image]bool{}
	for _, at := range []uint64{base, base + 0x10000, base + 0x20000} {
		r := set.Resolve(&libstate.Library{Path: "[vdso]", Kind: libstate.VDSO, Start: at, End: at + 0x1000})
		if seen[r.Image] || (r.Image != nil) != (at != base+0x20000) {
			t.Errorf("%#x: %+v", at, r)
		}
		seen[r.Image] = true
	}
	short := set.Resolve(&libstate.Library{Path: "[vdso]", Kind: libstate.VDSO, Start: base, End: base + 0x10})
	if short.Image != nil {
		t.Errorf("sixteen bytes are an image: %+v", short)
	}
}

// The vDSO may take 4 MiB, and no more.
func TestVDSOBound(t *testing.T) {
	mem := regions{base: elfWith(nil, code)}
	for size, want := range map[uint64]string{4 << 20: "", 4<<20 + 1: "image in memory of 4194305 bytes is too large"} {
		r := newSet(t, mem).Resolve(&libstate.Library{Kind: libstate.VDSO, Start: base, End: base + size})
		if r.Why != want || (r.Image != nil) != (want == "") {
			t.Errorf("%#x bytes: %+v", size, r)
		}
	}
	r := newSet(t, mem).Resolve(&libstate.Library{Kind: libstate.VDSO, Start: 0x1000, End: 0x2000})
	if r.Why != arch.ErrUnmapped.Error() || r.Image != nil {
		t.Errorf("%+v", r)
	}
}
