package stackflow

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// lower translates in into o.
func (m *machine) lower(o *op, in *disasm.Inst, addr uint64) {
	*o = op{}
	o.addr, o.len, o.mask, o.cond, o.slot = addr, uint8(in.Len), in.Writes&^m.ignored, in.Conditional, in.Delayed
	o.dst, o.dst2, o.src, o.src2, o.base, o.index = arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg, arch.NoReg
	m.lowerFlow(o, in)
	switch in.Kind {
	case disasm.Push:
		o.kind, o.src, o.size = opPush, in.Src, in.Size
		if in.Mem() != nil {
			o.address(in.Mem())
		}
		o.mask = 0
	case disasm.Pop:
		o.kind, o.dst, o.size = opPop, in.Dst, in.Size
		o.mask &^= bit(m.arch.SP)
	case disasm.Enter:
		o.kind, o.k, o.mask = opEnter, in.Imm, 0
	case disasm.Leave:
		o.kind, o.mask = opLeave, 0
	case disasm.MovSPtoFP:
		o.set(m.arch.FP, m.arch.SP, 0)
	case disasm.MovFPtoSP:
		o.set(m.arch.SP, m.arch.FP, 0)
	case disasm.SubSP:
		o.set(m.arch.SP, m.source(in, m.arch.SP), -in.Imm)
	case disasm.AddSP:
		o.set(m.arch.SP, m.source(in, m.arch.SP), in.Imm)
	case disasm.AndSP:
		o.set(m.arch.SP, m.source(in, m.arch.SP), in.Imm)
		o.kind = opAlign
	case disasm.LeaSP:
		m.lowerLea(o, in, m.arch.SP)
	case disasm.Lea:
		m.lowerLea(o, in, in.Dst)
	case disasm.Mov:
		if m.full(in.Size) && in.Src != arch.NoReg && in.Dst != arch.NoReg {
			o.set(in.Dst, in.Src, 0)
		} else {
			o.dst, o.src = in.Dst, in.Src
		}
	case disasm.MovImm:
		if in.Size == 0 || in.Size >= 4 {
			o.set(in.Dst, arch.NoReg, in.Imm)
			o.kind = opConst
		}
	case disasm.Load:
		m.lowerLoad(o, in)
	case disasm.Store:
		m.lowerStore(o, in)
	default:
		m.lowerOther(o, in)
	}
}

// set makes o the assignment dst = base + k.
func (o *op) set(dst, base arch.Reg, k int64) {
	o.kind, o.dst, o.base, o.k = opSet, dst, base, k
	o.mask &^= bit(dst)
}

// source returns the register from which a change of the stack pointer starts; in an
// instruction with three operands it may be another one.
func (m *machine) source(in *disasm.Inst, sp arch.Reg) arch.Reg {
	if m.arch.Family != arch.FamilyX86 && in.Src != arch.NoReg {
		return in.Src
	}
	return sp
}

// full reports whether an operand of size bytes is a full register.
func (m *machine) full(size uint8) bool { return size == 0 || int(size) >= m.arch.RegSize }

func (m *machine) lowerFlow(o *op, in *disasm.Inst) {
	o.target = in.Target
	switch in.Kind {
	case disasm.Call:
		o.isCall = true
		if in.Target == o.next() && m.pushesRA {
			o.isCall, o.kind, o.mask = false, opHere, 0
			return
		}
		o.kind = opCall
	case disasm.CallIndirect:
		o.isCall, o.kind = true, opCall
	case disasm.Jump:
		o.flow = flowJump
	case disasm.CondJump:
		o.flow = flowCond
		o.inclusive = in.UpToEqual()
	case disasm.JumpIndirect:
		o.flow, o.src = flowIndirect, in.Src
		if mem := in.Mem(); mem != nil {
			o.src = arch.NoReg
			o.address(mem)
		}
	case disasm.Ret, disasm.RetFar:
		o.flow, o.mask = flowRet, 0 // if it does not return, it changes nothing
	case disasm.Trap, disasm.Halt:
		o.flow = flowStop
	}
}

// address records the memory operand of a load or store.
func (o *op) address(mem *disasm.MemOperand) {
	o.k = mem.Disp
	switch {
	case mem.Segment != arch.NoReg || mem.Vector || mem.BitIndex != arch.NoReg:
		o.base, o.index = arch.NoReg, arch.NoReg
	case mem.RIPRelative:
		o.base, o.index = absolute, mem.Index
	case mem.Base == arch.NoReg:
		o.base, o.index = absolute, mem.Index
	default:
		o.base, o.index = mem.Base, mem.Index
	}
}

// absolute means no base register: the displacement is the address.
const absolute arch.Reg = 0xfe

func (m *machine) lowerLea(o *op, in *disasm.Inst, dst arch.Reg) {
	mem := in.Mem()
	if mem == nil {
		if in.Src != arch.NoReg && m.full(in.Size) { // dst = src + imm
			o.set(dst, in.Src, in.Imm)
		}
		return
	}
	if mem.Index != arch.NoReg && mem.Scale == 1 && mem.Disp == 0 && mem.Base != arch.NoReg && mem.Segment == arch.NoReg && m.full(in.Size) {
		o.set(dst, mem.Base, 0)
		o.kind, o.src = opAdd, mem.Index
		return
	}
	if mem.Index != arch.NoReg || mem.Segment != arch.NoReg || !m.full(in.Size) && !mem.RIPRelative {
		return
	}
	if mem.RIPRelative || mem.Base == arch.NoReg {
		o.set(dst, arch.NoReg, mem.Disp)
		o.kind = opConst
		return
	}
	o.set(dst, mem.Base, mem.Disp)
}

func (m *machine) lowerLoad(o *op, in *disasm.Inst) {
	mem := in.Mem()
	if mem == nil {
		return
	}
	o.address(mem)
	o.wb = in.Writeback
	o.size = in.Size
	if o.index != arch.NoReg || o.base == absolute {
		m.lowerTable(o, in, mem)
		return
	}
	if o.base == arch.NoReg {
		return
	}
	o.kind, o.dst, o.dst2, o.list = opLoad, in.Dst, in.Dst2, in.List
	if o.size == 0 {
		o.size = uint8(m.arch.RegSize)
	}
	if o.wb != 0 {
		o.mask &^= bit(o.base) // changed by the writeback, in a known way
	}
}

// lowerTable makes o a load from a jump table, if it may be one.
func (m *machine) lowerTable(o *op, in *disasm.Inst, mem *disasm.MemOperand) {
	size := uint8(mem.Size)
	if in.Dst == arch.NoReg || o.index == arch.NoReg || size != 4 && size != 8 {
		o.base = arch.NoReg
		return
	}
	o.kind, o.dst, o.size, o.swaps = opTable, in.Dst, size, mem.Scale == 1
}

func (m *machine) lowerStore(o *op, in *disasm.Inst) {
	mem := in.Mem()
	if mem == nil {
		return
	}
	o.address(mem)
	if o.index != arch.NoReg || o.base == arch.NoReg || o.base == absolute {
		o.base = arch.NoReg
		return
	}
	o.kind, o.src, o.src2, o.list = opStore, in.Src, in.Src2, in.List
	o.wb, o.bulk, o.size = in.Writeback, mem.Size, in.Size
	if o.size == 0 {
		o.size = uint8(m.arch.RegSize)
	}
	if o.wb != 0 {
		o.mask &^= bit(o.base)
	}
}

// lowerOther translates instructions without a kind of their own.
func (m *machine) lowerOther(o *op, in *disasm.Inst) {
	if mem := in.Mem(); mem != nil && mem.Write {
		if in.KeepsMemory() {
			return
		}
		m.lowerStore(o, in)
		o.src, o.src2, o.list = arch.NoReg, arch.NoReg, 0
		return
	}
	if in.Kind != disasm.Other {
		return
	}
	if mem := in.Mem(); mem != nil && mem.Index != arch.NoReg && m.arch == arch.X86 && in.Bytes()[0] == 0x03 { // add mem, reg
		o.address(mem)
		if m.lowerTable(o, in, mem); o.kind == opTable {
			o.src = in.Dst
		}
		return
	}
	switch alu, dst, a, b, imm := in.ALU(); alu {
	case disasm.ALUAddImm:
		if m.full(in.Size) {
			o.set(dst, a, imm)
		}
	case disasm.ALUAndImm:
		if m.full(in.Size) {
			o.set(dst, a, imm)
			o.kind = opAlign
		}
	case disasm.ALUAdd, disasm.ALUSub:
		if m.full(in.Size) {
			o.set(dst, a, 0)
			o.src, o.kind = b, opAdd
			if alu == disasm.ALUSub {
				o.kind = opSub
			}
		}
	case disasm.ALUExtend:
		o.dst, o.src = dst, a
	case disasm.ALUCmp:
		o.kind, o.base, o.src = opCmpReg, a, b
	case disasm.ALUCmpImm:
		o.kind, o.base, o.k = opCmpImm, a, imm
	}
}
