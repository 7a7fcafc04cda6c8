package message

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestTemplate: what an author wrote is in the program's constants, also in pieces and formats. Words that a value may be, too, are not.
func TestTemplate(t *testing.T) {
	p := new(Process)
	lib := &libstate.Library{Path: "/x/app"}
	p.Stack = []Frame{{new(unwind.Frame), nil}}
	p.LibraryAt = func(arch.Address) *libstate.Library { return lib }
	p.Constants = func(*libstate.Library) [][]byte {
		return [][]byte{[]byte("\x00cannot write \x00line \x00: no = in '\x00abcd\x00"), []byte("of %-5s in {:>3}!\x00 %d\x00got {:x} bytes out\x00 = \x00 12 \x00f\u00fcr \x00x y\x00y z w\x00with no end")}
	}
	for text, want := range map[string]string{
		"": "", "cannot write abcd": "cannot write …", "line 4: no = in 'x'": "line …: no = in '…", "abcd": "", "nothing known": "",
		"of one in 17!": "of … in …", "this is with no end": "…with no end", "cannot write line ": "cannot write line ", "n 4": "",
		"got 1f bytes out": "got … bytes out", "a = b 12 c": "", "f\u00fcr 3, f\u00fcr 4": "f\u00fcr …f\u00fcr …", "x y z w": "…y z w",
		strings.Repeat("cannot write ", 20): "",
	} {
		if got := p.template(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, path := range []string{"/lib/libc.so.6", "/lib/libstdc++.so.6", "/lib/libc++.so.1", "/lib/libgcc_s.so.1"} {
		if lib.Path = path; p.template("cannot write abcd") != "" {
			t.Errorf("a constant of %s counts", path)
		}
	}
	lib.Path = "/x/app"
	p.Constants = func(*libstate.Library) [][]byte {
		return [][]byte{make([]byte, maxConstants), []byte("cannot write \x00")}
	}
	if got := p.template("cannot write abcd"); got != "" {
		t.Errorf("behind the limit: %q", got)
	}
	if p.Constants = nil; p.template("cannot write abcd") != "" {
		t.Error("without files")
	}
}
