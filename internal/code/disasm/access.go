package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// needs returns the registers from which the address of m is computed.
func (m *MemOperand) needs() arch.RegMask {
	return arch.Mask(m.Base, m.Index, m.Segment, m.BitIndex)
}

// Address computes the address of m from the registers before the instruction. It returns
// false if a register that it needs is unknown, and for a Vector operand, which has one
// address per element.
func (m *MemOperand) Address(regs *arch.RegSet) (uint64, bool) {
	if m.Vector || m.Opaque || m.needs()&^regs.Valid != 0 {
		return 0, false
	}
	addr := uint64(m.Disp)
	if v, ok := regs.Get(m.Base); ok {
		addr += v
	}
	if v, ok := regs.Get(m.Index); ok {
		addr += m.indexValue(v) * uint64(m.Scale)
	}
	if v, ok := regs.Get(m.BitIndex); ok {
		addr += bitOffset(v, m.Size)
	}
	if m.AddrSize == 4 {
		addr &= 0xffffffff
	}
	if v, ok := regs.Get(m.Segment); ok {
		addr += v
	}
	return addr, true
}

// indexValue returns the part of an index register's value that the address uses.
func (m *MemOperand) indexValue(v uint64) uint64 {
	switch m.IndexBits {
	case 32:
		return uint64(uint32(v))
	case -32:
		return uint64(int32(v))
	}
	return v
}

// bitOffset returns the byte offset of the operand of size bytes that contains bit number
// v, a signed number of the same size.
func bitOffset(v uint64, size uint16) uint64 {
	switch size {
	case 2:
		return uint64(int64(int16(v)) >> 4 << 1)
	case 4:
		return uint64(int64(int32(v)) >> 5 << 2)
	}
	return uint64(int64(v) >> 6 << 3)
}

// EffectiveAddress computes the address of the explicit memory operand from the registers
// before the instruction. It returns false if there is none, or if a register that it needs
// is unknown.
func (i *Inst) EffectiveAddress(regs *arch.RegSet) (uint64, bool) {
	m := i.Mem()
	if m == nil {
		return 0, false
	}
	return m.Address(regs)
}

// An Access is one access to memory that an instruction would make.
type Access struct {
	Addr        uint64
	Known       bool         // Addr could be computed
	Missing     arch.RegMask // unknown registers that Addr needs
	Size        int          // maximum size in bytes; 0 if the instruction does not give it
	Read, Write bool
	Misaligned  bool // Addr is known and lacks the alignment that the instruction requires
	NonCanon    bool // Addr is known and outside the processor's address range
	Operand     MemOperand
}

// FaultAccess appends to dst the accesses that the instruction makes. regs are the
// registers at the instruction, as after a fault: for a repeated string instruction they
// describe the iteration that faulted. Operands of which only the address is used are left
// out.
func FaultAccess(dst []Access, i *Inst, regs *arch.RegSet) []Access {
	if i.Rep && stringDone(i.arch, regs) {
		return dst
	}
	for _, m := range i.Mems() {
		if !m.Read && !m.Write {
			continue
		}
		acc := Access{Size: int(m.Size), Read: m.Read, Write: m.Write, Operand: m, Missing: m.needs() &^ regs.Valid}
		acc.Addr, acc.Known = m.Address(regs)
		if acc.Known {
			acc.Addr = i.arch.Truncate(acc.Addr)
			if i.arch == arch.S390 {
				acc.Addr &= 1<<31 - 1 // its addresses have 31 bits
			}
			acc.Misaligned = m.Aligned && m.Size > 0 && acc.Addr%uint64(m.Size) != 0
			acc.NonCanon = nonCanonical(i.arch, acc.Addr)
		}
		dst = append(dst, acc)
	}
	return dst
}

// nonCanonical reports whether an access to addr faults because of its upper bits, before
// any mapping matters: x86-64 processors then report no fault address. It allows for the 57
// bits of five-level paging.
func nonCanonical(a *arch.Arch, addr uint64) bool {
	if a != arch.AMD64 && a != arch.X32 {
		return false
	}
	top := int64(addr) >> 56
	return top != 0 && top != -1
}
