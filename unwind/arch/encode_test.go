package arch

import (
	"bytes"
	"testing"
)

// EncodeGRegSet is the inverse of DecodeGRegSet, and an unknown system call is none.
func TestEncodeGRegSet(t *testing.T) {
	for _, a := range []*Arch{AMD64, X86, ARM64, ARM} {
		block := make([]byte, a.GRegSetSize())
		for i := range block {
			block[i] = byte(i) &^ 1 // no address of Thumb code
		}
		s, err := a.DecodeGRegSet(block)
		if err != nil {
			t.Fatal(err)
		}
		pc, _ := s.Get(a.PC)
		got := a.EncodeGRegSet(&s)
		if again, err := a.DecodeGRegSet(got); err != nil || again != s || pc == 0 {
			t.Errorf("%s: %v becomes %v (%v)", a.Name, s, again, err)
		}
	}
	none := AMD64.EncodeGRegSet(new(RegSet))
	if at := 15 * 8; !bytes.Equal(none[at:at+8], bytes.Repeat([]byte{0xff}, 8)) {
		t.Errorf("no registers are in system call %x", none[at:at+8])
	}
}
