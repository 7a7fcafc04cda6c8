package message

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestTemplate: what an author wrote is in the program's constants, also in pieces and formats. Words that a value may be, too, are not.
func TestTemplate(t *testing.T) {
	m := make(fakeMemory, stretch+0x1000)
	copy(m[0x10:], "cannot write \x00line \x00: no = in '\x00abcd\x00of %-5s in {:>3}!\x00 %d\x00")
	copy(m[stretch-4:], "split in two\x00")
	p := m.process(nil)
	p.Stack = []Frame{{new(unwind.Frame), nil}}
	lib := &libstate.Library{Path: "/x/app", Mappings: []libstate.Mapping{
		{Start: fakeBase, End: fakeBase + uint64(len(m)), Perm: libstate.Read}, {Start: fakeBase, End: fakeBase + 8, Perm: libstate.Read | libstate.Exec}}}
	p.LibraryAt = func(arch.Address) *libstate.Library { return lib }
	for text, want := range map[string]string{
		"": "", "cannot write abcd": "cannot write …", "line 4: no = in 'x'": "line …: no = in '…", "abcd": "", "nothing known": "",
		"of one in 17!": "of … in …", "this is split in two": "…split in two", "cannot write line ": "cannot write line ", "n 4": "",
	} {
		if got := p.template(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, path := range []string{"/lib/libc.so.6", "/lib/libstdc++.so.6", "/lib/libc++.so.1"} {
		if lib.Path = path; p.template("cannot write abcd") != "" {
			t.Errorf("a constant of %s counts", path)
		}
	}
	lib.Path, lib.Mappings[0].Perm = "/x/app", libstate.Read|libstate.Write
	if got := p.template("cannot write abcd"); got != "" {
		t.Errorf("in writable memory: %q", got)
	}
}
