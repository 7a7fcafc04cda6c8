package arch

import "testing"

// TestPCOfBlock: the pc that a processor was at has no signature. On arm64 its high bits are part of a wrong address; on arm the lowest
// bit selects the instruction set.
func TestPCOfBlock(t *testing.T) {
	for _, c := range []struct {
		a        *Arch
		pc, want uint64
	}{
		{ARM64, 0x1000_0000_4006d4, 0x1000_0000_4006d4},
		{ARM64, 0x4006d4, 0x4006d4},
		{ARM, 0x4006d5, 0x4006d4},
	} {
		block := make([]byte, c.a.GRegSetSize())
		off, size, ok := c.a.GRegOffset(c.a.PC)
		if !ok {
			t.Fatalf("%s: no pc", c.a.Name)
		}
		if size == 8 {
			c.a.ByteOrder.PutUint64(block[off:], c.pc)
		} else {
			c.a.ByteOrder.PutUint32(block[off:], uint32(c.pc))
		}
		s, err := c.a.DecodeGRegSet(block)
		if pc, _ := s.Get(c.a.PC); err != nil || pc != c.want {
			t.Errorf("%s: pc %#x, want %#x: %v", c.a.Name, pc, c.want, err)
		}
	}
}
