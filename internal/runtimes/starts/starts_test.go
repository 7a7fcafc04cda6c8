package starts_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
)

const (
	bias     = 0x7000_0000
	otherAt  = bias + 0x8000 // a module without files and symbols, right behind
	function = 0x1000        // what call frame information has
)

// file is a module's: it has call frame information of one function of 0x100 bytes, at 0x1000.
func file(t *testing.T) *image.Image {
	t.Helper()
	const ehAt, size = 0x400, 0x8000
	eh := &cfitest.Section{Addr: ehAt}
	eh.AddFDE(eh.AddCIE(cfitest.CIE{}), function, 0x100, new(cfitest.Program).DefCFA(7, 8))
	eh.Terminator()
	at := ehAt + eh.Len()
	header := eh.Header(at)
	b := make([]byte, size)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 3)  // ET_DYN
	le.PutUint16(b[18:], 62) // EM_X86_64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 2)
	program := func(at int, kind, flags uint32, from, n uint64) {
		le.PutUint32(b[at:], kind)
		le.PutUint32(b[at+4:], flags)
		for i, v := range [...]uint64{from, from, from, n, n, 1} {
			le.PutUint64(b[at+8+8*i:], v)
		}
	}
	program(64, 1, 5, 0, size)                           // PT_LOAD
	program(120, 0x6474e550, 4, at, uint64(len(header))) // PT_GNU_EH_FRAME
	copy(b[ehAt:], eh.Bytes())
	copy(b[at:], header)
	im, err := image.FromMemory(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	if im.EHFrame() == nil {
		t.Fatal("the file has no call frame information")
	}
	return im
}

// A process has two modules, one behind the other.
type process struct {
	unwind.ProcessState
	libs libstate.LibraryState
}

func (p *process) LibraryTracker() libstate.LibraryState { return p.libs }

// source has a file of one module.
type source struct {
	lib *libstate.Library
	im  *image.Image
}

func (s *source) Image(lib *libstate.Library) *modules.Image {
	if lib != s.lib {
		return nil
	}
	return (*modules.Image)(s.im)
}

// symbols has one function of a module, of 16 bytes.
type symbols struct {
	unwind.SymbolReader
	lib *libstate.Library
	at  uint64
}

func (s *symbols) SymbolAt(lib *libstate.Library, at unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{Name: "f", Addr: s.at, Size: 16}, lib == s.lib && at-s.at < 16
}

func TestOf(t *testing.T) {
	lib := &libstate.Library{Path: "/one", LoadBias: bias, Start: bias, End: otherAt, Mappings: []libstate.Mapping{{Start: bias, End: otherAt, Perm: libstate.Read | libstate.Exec}}}
	other := &libstate.Library{Path: "/other", LoadBias: otherAt, Start: otherAt, End: otherAt + 0x8000, Mappings: []libstate.Mapping{{Start: otherAt, End: otherAt + 0x8000, Perm: libstate.Read | libstate.Exec}}}
	p := &process{libs: libstate.NewTable([]*libstate.Library{lib, other}, 0)}
	files := &source{lib, file(t)}
	named := &symbols{lib: lib, at: bias + 0x2000}
	known := map[uint64]bool{bias + function + 0x40: true, bias + 0x3000: true, bias + 0x3010: true, otherAt - 8: true, otherAt + 0x2000: true}
	for _, c := range []struct {
		name     string
		at, want uint64
		files    modules.Source
		known    map[uint64]bool
	}{
		{"call frame information", bias + function + 0x50, bias + function, files, known},
		{"of the first instruction", bias + function, bias + function, files, nil},
		{"behind it", bias + function + 0x100, bias + function + 0x40, files, known}, // nothing says so, and it is not far
		{"without files", bias + function + 0x50, bias + function + 0x40, nil, known},
		{"a symbol", bias + 0x2008, bias + 0x2000, files, map[uint64]bool{bias + 0x2004: true}},
		{"behind the symbol", bias + 0x2010, 0, files, nil},
		{"the nearest", bias + 0x3020, bias + 0x3010, files, known},
		{"the nearest, at its beginning", bias + 0x3010, bias + 0x3010, files, known},
		{"not one behind", bias + 0x300f, bias + 0x3000, files, known},
		{"the last that is near", otherAt + 0x2fff, otherAt + 0x2000, files, known},
		{"not one that is far", otherAt + 0x3000, 0, files, known},
		{"not one of another module", otherAt + 8, 0, files, known},
		{"no module", bias - 0x1000, 0, files, map[uint64]bool{bias - 0x1000: true}},
	} {
		if got := starts.Of(p, c.files, named, c.at, c.known); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	if got := starts.Of(&process{}, files, named, bias+function, known); got != 0 {
		t.Errorf("without modules: %#x", got)
	}
}
