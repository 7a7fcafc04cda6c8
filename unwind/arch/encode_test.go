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
	calls := map[*Arch]string{AMD64: "orig_rax", X32: "orig_rax", X86: "orig_eax", ARM: "orig_r0"}
	for i := range abis {
		a := abis[i].arch
		none := a.EncodeGRegSet(new(RegSet))
		for r := range Reg(a.NumRegs()) {
			off, size, ok := a.GRegOffset(r)
			if !ok {
				continue
			}
			want := make([]byte, size)
			if a.RegName(r) == calls[a] {
				want = bytes.Repeat([]byte{0xff}, size)
			}
			if got := none[off : off+size]; !bytes.Equal(got, want) {
				t.Errorf("%s: %s of no registers is %x", a.Name, a.RegName(r), got)
			}
		}
	}
}

// TestGRegOffset: indexes of struct user_regs_struct and struct user_pt_regs.
func TestGRegOffset(t *testing.T) {
	for _, c := range []struct {
		a         *Arch
		r         Reg
		off, size int
		ok        bool
	}{{AMD64, RIP, 16 * 8, 8, true}, {AMD64, RSP, 19 * 8, 8, true}, {ARM64, ARM64.PC, 32 * 8, 8, true}, {X86, X86.PC, 12 * 4, 4, true}, {AMD64, NoReg, 0, 0, false}} {
		if off, size, ok := c.a.GRegOffset(c.r); off != c.off || size != c.size || ok != c.ok {
			t.Errorf("%s %s: %d, %d, %v", c.a.Name, c.a.RegName(c.r), off, size, ok)
		}
	}
}
