package inspect

import (
	"github.com/corewalk/corewalk/internal/crash"
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// crash fills in why the process died.
func (in *inspection) crash(r *report.Report) {
	s := in.Signal
	if s == nil {
		return
	}
	c := &report.Crash{Signal: s.Name(), SignalNumber: s.Number, Thread: s.TID}
	if s.HasInfo {
		c.Code, _ = s.CodeName()
	}
	r.Crash = c
	ci := crash.Input{Arch: in.arch, Signal: *s, Mapping: in.MappingAt, Word: in.word}
	var inst disasm.Inst
	if in.top == nil {
		in.top, _ = in.Walker.InitialFrame(unwind.ThreadID(s.TID))
	}
	if in.top != nil {
		ci.Regs = in.top.Registers()
		if err := in.decode(&inst, in.top); err == nil {
			ci.Inst = &inst
		}
	}
	why := crash.Why(ci)
	c.Reason = why.Text
	if len(r.Threads) > 0 && r.Threads[0].Crashed {
		c.Frame = blame(r.Threads[0].Frames)
	}
	if why.HasAddr {
		addr := report.Addr(why.Addr)
		c.Address = &addr
	}
	if why.AtInst {
		c.Instruction = in.instruction(&inst, &ci.Regs, why)
	}
}

func (in *inspection) word(addr unwind.Address) (uint64, bool) {
	v, err := in.Proc.ReadWord(addr)
	return v, err == nil
}

// decode reads and decodes the instruction at which a frame is.
func (in *inspection) decode(inst *disasm.Inst, f *unwind.Frame) error {
	var code [disasm.MaxLen]byte
	n, err := in.Proc.ReadMem(f.RA(), code[:])
	if n == 0 {
		return err
	}
	*inst, err = disasm.Decode(in.arch, code[:n], f.CodePointer())
	return err
}

func (in *inspection) instruction(inst *disasm.Inst, regs *arch.RegSet, why crash.Reason) *report.Instruction {
	out := &report.Instruction{
		Address:    report.Addr(inst.PC),
		Text:       inst.Text(disasm.TextOptions{Symbol: in.symbol}),
		Access:     why.Access,
		AccessSize: why.AccessSize,
	}
	for r := range arch.Reg(in.arch.NumRegs()) {
		if !inst.Reads.Has(r) || r == in.arch.PC {
			continue
		}
		if v, ok := regs.Get(r); ok {
			out.Registers = append(out.Registers, report.Register{Name: in.arch.RegName(r), Value: report.Addr(v)})
		}
	}
	return out
}

// symbol names a branch target for the disassembly.
func (in *inspection) symbol(addr uint64) (string, uint64) {
	lookup := in.Walker.SymbolLookup()
	if lookup == nil {
		return "", 0
	}
	if cl, ok := lookup.(unwind.CallLookup); ok {
		if calls, err := cl.LookupCalls(addr, nil); err == nil && len(calls) > 0 {
			c := calls[len(calls)-1]
			return c.Name, c.Entry
		}
	}
	return "", 0
}
