package message

import (
	"encoding/binary"
	"testing"
)

// thrownByMSVC lays out what _CxxThrowException passes on: an object, and the names of the types that it can be
// caught as, each at an offset in the object.
func thrownByMSVC(t *testing.T, names []string, offsets []uint32, object ...uint64) *Process {
	t.Helper()
	m := make(fakeMemory, 0x1000)
	put := func(off int, v ...uint32) {
		for i, x := range v {
			binary.LittleEndian.PutUint32(m[off+4*i:], x)
		}
	}
	put(0x0c, 0x20)               // _ThrowInfo at 0
	put(0x20, uint32(len(names))) // _CatchableTypeArray
	for i, name := range names {
		entry, desc := 0x100+0x20*i, 0x200+0x40*i
		put(0x24+4*i, uint32(entry))
		put(entry, 0, uint32(desc), offsets[i], 0xffffffff, 0, 24)
		copy(m[desc+16:], name)
	}
	m.put(0x800, object...)
	copy(m[0x900:], "cannot open the door\x00")
	p := m.process(nil)
	p.Windows = true
	p.Exception = Exception{codeMSVC, []uint64{msvcMagicFirst, fakeBase + 0x800, fakeBase, fakeBase}}
	return p
}

func TestMicrosoftExceptions(t *testing.T) {
	for _, tc := range []struct {
		what    string
		p       *Process
		reason  string
		message string
	}{
		{"of the library", thrownByMSVC(t, []string{".?AVruntime_error@std@@", ".?AVexception@std@@"}, []uint32{0, 0}, 0, fakeBase+0x900),
			"uncaught exception std::runtime_error: cannot open the door", "cannot open the door"},
		{"base behind another", thrownByMSVC(t, []string{".?AVout_of_range@std@@", ".?AVexception@std@@"}, []uint32{0, 16}, 0, 0, 0, fakeBase+0x900),
			"uncaught exception std::out_of_range: cannot open the door", "cannot open the door"},
		{"a class of its own may say something else", thrownByMSVC(t, []string{".?AUMine@app@@", ".?AVexception@std@@"}, []uint32{0, 0}, 0, fakeBase+0x900),
			"uncaught exception app::Mine", ""},
		{"text not in the dump", thrownByMSVC(t, []string{".?AVbad_alloc@std@@", ".?AVexception@std@@"}, []uint32{0, 0}, 0, 0x7fff0000),
			"uncaught exception std::bad_alloc", ""},
		{"a number", thrownByMSVC(t, []string{".H"}, []uint32{0}, 0xfffffffe), "uncaught exception int: -2", "-2"},
		{"a text", thrownByMSVC(t, []string{".PEBD"}, []uint32{0}, fakeBase+0x900), "uncaught exception char const *: cannot open the door", "cannot open the door"},
	} {
		w := Read(tc.p)
		if w.Reason != tc.reason || w.Message != tc.message || w.Cause != UncaughtException {
			t.Errorf("%s: %+v, want %q", tc.what, w, tc.reason)
		}
	}
	p := thrownByMSVC(t, []string{".?AVruntime_error@std@@"}, []uint32{0}, 0, 0)
	for n := range 4 { // fewer parameters than necessary
		p.Exception.Params = p.Exception.Params[:n:n]
		if w := Read(p); w.Reason != "" {
			t.Errorf("%d parameters: %+v", n, w)
		}
		p.Exception.Params = append(p.Exception.Params, make([]uint64, 4-n)...)
		p.Exception.Params[0] = msvcMagicFirst
	}
}

func TestDotNet(t *testing.T) {
	m := make(fakeMemory, 16)
	p := m.process(nil)
	p.Exception = Exception{codeDotNet, []uint64{0xffffffff80004003}}
	if w := Read(p); w.Reason != "uncaught .NET exception, System.NullReferenceException (HRESULT 0x80004003)" {
		t.Errorf("%+v", w)
	}
	p.Exception.Params[0] = 0x80070002
	if w := Read(p); w.Reason != "" {
		t.Errorf("a code that several classes have: %+v", w)
	}
}

// TestItaniumOnWindows reads an exception of gcc's unwinder, whose header is longer on Windows.
func TestItaniumOnWindows(t *testing.T) {
	m := make(fakeMemory, 0x400)
	const header = 0x100
	m.put(header-80, fakeBase+0x20)
	m.put(header, classGNU)
	m.put(header+64, 7)
	m.put(0x20, fakeBase+0x300, fakeBase+0x40)
	copy(m[0x40:], "i\x00")
	p := m.process(nil)
	p.Windows = true
	p.Exception = Exception{codeGNU, []uint64{fakeBase + header}}
	w := Read(p)
	if len(w.Thrown) != 1 || w.Reason != "uncaught exception int: 7" || w.Message != "" {
		t.Errorf("%+v", w)
	}
}
