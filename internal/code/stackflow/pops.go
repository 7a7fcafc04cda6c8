package stackflow

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxPopScan limits how many instructions of a called function are read to find its return.
const maxPopScan = 2048

// pops returns how many bytes of its arguments the function at addr pops when it returns.
// On i386, functions that return a structure do that. The first return in address order
// decides.
func (g *graph) pops(addr uint64) int64 {
	if g.m.arch != arch.X86 || addr == 0 {
		return 0
	}
	if n, ok := g.popped[addr]; ok {
		return n
	}
	n := g.scanPops(addr)
	if g.popped == nil {
		g.popped = map[uint64]int64{}
	}
	g.popped[addr] = n
	return n
}

func (g *graph) scanPops(addr uint64) int64 {
	var in disasm.Inst
	code := g.code.CodeAt(addr)
	for n := range maxPopScan {
		if disasm.DecodeInto(&in, g.m.arch, code, addr) != nil {
			return 0
		}
		switch in.Kind {
		case disasm.Ret:
			return in.Imm
		case disasm.JumpIndirect:
			if n < 2 {
				return 0 // a linkage stub
			}
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	return 0
}

// asksForPC returns the register into which the function at addr puts its return address, if it does nothing else: position-independent
// code of i386 learns in this way where it is (__x86.get_pc_thunk.bx).
func (g *graph) asksForPC(addr uint64) arch.Reg {
	if g.m.arch != arch.X86 || addr == 0 {
		return arch.NoReg
	}
	var in disasm.Inst
	code, dst := g.code.CodeAt(addr), arch.NoReg
	for {
		if disasm.DecodeInto(&in, g.m.arch, code, addr) != nil {
			return arch.NoReg
		}
		m := in.Mem()
		switch {
		case in.Kind == disasm.Endbr && dst == arch.NoReg:
		case in.Kind == disasm.Ret && in.Imm == 0:
			return dst
		case in.Kind == disasm.Load && dst == arch.NoReg && in.Dst != arch.NoReg && int(in.Size) == g.m.arch.RegSize &&
			m != nil && m.Base == g.m.arch.SP && m.Index == arch.NoReg && m.Disp == 0 && m.Segment == arch.NoReg:
			dst = in.Dst
		default:
			return arch.NoReg
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
}
