package arch

import "fmt"

// DecodeGRegSet decodes the general register block that Linux writes into a
// core's NT_PRSTATUS and hands to a tracer that asks with GETREGSET: the two are
// one layout (elf_gregset_t), so that post-mortem and live agree by
// construction. Registers past the end of a short block stay unknown; a block
// that holds no program counter is an error.
func (a *Arch) DecodeGRegSet(block []byte) (RegSet, error) {
	var s RegSet
	for _, f := range a.gregs {
		if f.off+f.size > len(block) {
			continue
		}
		b := block[f.off:]
		switch f.size {
		case 4:
			s.Set(f.reg, uint64(a.ByteOrder.Uint32(b)))
		case 8:
			s.Set(f.reg, a.ByteOrder.Uint64(b))
		}
	}
	if !s.Valid.Has(a.PC) {
		return s, fmt.Errorf("%s register block of %d bytes: %d wanted", a.Name, len(block), a.gregSize)
	}
	return s, nil
}

// GRegSetSize is the size in bytes of the block DecodeGRegSet reads.
func (a *Arch) GRegSetSize() int { return a.gregSize }
