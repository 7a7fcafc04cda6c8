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
	for range maxPopScan {
		if disasm.DecodeInto(&in, g.m.arch, code, addr) != nil {
			return 0
		}
		switch in.Kind {
		case disasm.Ret:
			return in.Imm
		case disasm.JumpIndirect:
			return 0 // a linkage stub or table
		}
		code, addr = code[in.Len:], addr+uint64(in.Len)
	}
	return 0
}
