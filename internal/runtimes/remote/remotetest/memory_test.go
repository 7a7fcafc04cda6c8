package remotetest

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// state is a process that has memory only.
type state struct {
	unwind.ProcessState
	m Words
}

func (s *state) ReadMem(at arch.Address, b []byte) (int, error) { return s.m.ReadMem(at, b) }
func (s *state) ReadWord(at arch.Address) (uint64, error)       { return s.m.ReadWord(at) }

// TestLastAddress: reads that touch the last word of the memory end, and are noted and changed as others are.
func TestLastAddress(t *testing.T) {
	const last = math.MaxUint64 - 7
	s := &state{m: Words{last - 8: 0x1111111111111111, last: 0x2222222222222222}}
	a := &Asked{ProcessState: &changed{s, Words{last: 0x0807060504030201}}}
	var b [8]byte
	if n, err := a.ReadMem(last-4, b[:]); n != 8 || err != nil || !bytes.Equal(b[:], []byte{0x11, 0x11, 0x11, 0x11, 1, 2, 3, 4}) {
		t.Errorf("%d, %v, % x", n, err, b)
	}
	if v, err := a.ReadWord(last); v != 0x0807060504030201 || err != nil {
		t.Errorf("%#x, %v", v, err)
	}
	if want := []uint64{last - 8, last}; !slices.Equal(a.Words, want) {
		t.Errorf("%#x, want %#x", a.Words, want)
	}
	few := &Asked{ProcessState: s, Most: 8}
	few.ReadMem(last-8, make([]byte, 16))
	if want := []uint64{last - 8}; !slices.Equal(few.Words, want) {
		t.Errorf("%#x, want %#x", few.Words, want)
	}
	few.ReadMem(0, nil)
	if few.Has(0) {
		t.Error("nothing was read")
	}
}
