package slim

import (
	"bytes"
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestRedactMade: of code that the process made what walking read stays, if it is of functions that are recorded and there as a whole; larger ones are
// no function of a program's.
func TestRedactMade(t *testing.T) {
	const at, other = 0x10000, 0x20000
	secret := []byte("secrets!")
	read := readAt(t, at, other)
	for what, tt := range map[string]struct {
		m     slimnote.Made
		kept  bool
		where uint64
	}{
		"recorded":        {m: slimnote.Made{Start: at, Size: 8}, kept: true, where: at},
		"not recorded":    {m: slimnote.Made{Start: at + 8, Size: 8}, where: at},
		"overwritten":     {m: slimnote.Made{Start: at, Size: 8, Cut: true}, where: at},
		"large":           {m: slimnote.Made{Start: at, Size: maxMade + 1}, where: at},
		"not walked over": {m: slimnote.Made{Start: other, Size: 8}, where: other},
	} {
		r := &redactor{arch: arch.AMD64, found: new(corestate.Reads), walked: read, module: func(arch.Address) bool { return false }}
		r.made([]slimnote.Made{tt.m})
		b := bytes.Clone(secret)
		r.memory(tt.where, b, libstate.Write|libstate.Exec)
		if bytes.Equal(b, secret) != tt.kept {
			t.Errorf("%s: %q", what, b)
		}
	}
}

// readAt returns that a page was read at an address, and none at others of the core's memory.
func readAt(t *testing.T, at, others uint64) *corestate.Reads {
	t.Helper()
	b := corebuild.New()
	b.Thread(1, 11, make([]byte, 27*8))
	for _, a := range []uint64{at, others} {
		b.Load(a, elffile.PF_R|elffile.PF_W|elffile.PF_X, page, make([]byte, page))
	}
	read := new(corestate.Reads)
	core, err := corestate.OpenReader(t.Context(), bytes.NewReader(b.Bytes()), corestate.Record(read))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { core.Close() })
	if n, err := core.ReadMem(at, make([]byte, 64)); n != 64 {
		t.Fatal(err)
	}
	return read
}
