package analysis

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// died returns the thread that the process died in; NullThread if it did not die.
func (in *Engine) died() unwind.ThreadID {
	switch {
	case in.Signal != nil:
		return unwind.ThreadID(in.Signal.TID)
	case in.Exception != nil:
		return unwind.ThreadID(in.Exception.TID)
	}
	return unwind.NullThread
}

// crash fills in why the process died.
func (in *question) crash(r *report.Report) {
	if in.Signal == nil && in.Exception == nil {
		return
	}
	tid := in.died()
	c := &report.Crash{Thread: int(tid)}
	r.Crash = c
	in.os = r.Dump.OS
	ci := in.crashInput()
	var inst disasm.Inst
	if in.top == nil {
		in.top, _ = in.Walker.InitialFrame(tid)
	}
	if in.top != nil {
		ci.Regs = in.top.Registers()
		if err := in.decode(&inst, in.top); err == nil {
			ci.Inst = &inst
		}
	}
	why := in.why(c, ci)
	c.Reason, c.Kind = why.Text, why.Kind
	c.AdjustedAddress, c.Accesses, c.BitFlips = why.Adjusted, why.Accesses, why.BitFlips
	c.Inconsistencies, c.Causes = why.Inconsistencies, why.Causes
	if len(r.Threads) > 0 && r.Threads[0].Crashed {
		c.Frame = firstFrame(r.Threads[0].Frames, in.endedItself() || c.Signal != "" && sentByProcess(c.Code), in.calledNoCode(c, r.Threads[0].Frames))
		if why.Kind == report.CrashStackOverflow {
			c.Overflow = overflow(r.Threads[0].Frames, overflowed(r, [2]uint64{}))
		}
	}
	in.handled(r)
	if c.Frame == nil && len(r.Threads) > 0 && r.Threads[0].Crashed && len(r.Threads[0].Frames) > 0 {
		c.Frame = new(int) // nothing is known to have failed but the innermost
	}
	in.blame(c, &inst, &ci.Regs, &why)
}

// blame adds address, instruction and the origin of the bad value.
func (in *question) blame(c *report.Crash, inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) {
	if why.HasAddr {
		addr := report.Addr(why.Addr)
		c.Address = &addr
	}
	if why.AtInst {
		c.Instruction = in.instruction(inst, regs, *why)
	}
	if !in.opts.NoBlame {
		c.Blame = in.blamed(inst, regs, why)
	}
	if c.Blame != nil {
		if c.Instruction != nil && len(c.Instruction.Registers) > 0 {
			c.Instruction.Note = blameNote(c.Blame)
		}
		c.Causes = append([]report.Cause{{Text: blameText(c.Blame, c.Kind), Confidence: c.Blame.Confidence}}, c.Causes...)
	}
}

// atFault adds the same for a fault that interrupted a frame of the thread that died. Steps count frames from that one.
func (in *question) atFault(c *report.Crash, physical int, why *reason.Reason) {
	var inst disasm.Inst
	if in.decode(&inst, in.diedStack[physical]) != nil {
		why.AtInst = false
	}
	regs := in.diedStack[physical].Registers()
	in.blameFrom(c, physical, &inst, &regs, why)
}

// blameFrom is blame for a fault of a frame of the thread that died, with the registers at its instruction. Steps count frames from that one.
func (in *question) blameFrom(c *report.Crash, physical int, inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) {
	all := in.diedStack
	in.diedStack, in.faultRegs = all[physical:], regs
	in.blame(c, inst, regs, why)
	in.diedStack, in.faultRegs = all, nil
}

// why sets the signal or exception in c, and finds the reason.
func (in *Engine) why(c *report.Crash, ci reason.Input) reason.Reason {
	if e := in.Exception; in.Signal == nil && e != nil {
		c.Exception, c.Code = e.Name(in.arch), e.Number()
		return reason.WhyException(ci, *e)
	}
	s := in.Signal
	c.Signal, c.SignalNumber = s.Name(), s.Number
	if s.HasInfo {
		c.Code, _ = s.CodeName()
	}
	ci.Signal = *s
	return reason.Why(ci)
}

// calledNoCode reports whether the innermost frame is at an address without code, of which its caller is to blame. Where the processor refused
// to go there, the frame is still at the call.
func (in *Engine) calledNoCode(c *report.Crash, frames []report.Frame) bool {
	if len(frames) < 2 || frames[0].Function != "" && frames[1].Trust != report.TrustWildPC {
		return false
	}
	if _, kernels := in.arch.Vsyscall(uint64(frames[0].PC)); kernels {
		return true
	}
	switch c.Kind {
	case report.CrashNullCall, report.CrashWildCall, report.CrashNonCanonicalCall, report.CrashExecNoExec, report.CrashBadCall:
		return true
	}
	return false
}

// sentByProcess reports whether the code of a signal says that a process sent it, such as the handler of a fault that passes it on.
func sentByProcess(code string) bool {
	return code == "SI_USER" || code == "SI_TKILL" || code == "SI_QUEUE"
}

// decode decodes the instruction of a frame; in the youngest frame of a thread, the breakpoint instruction that
// it stopped after.
func (in *Engine) decode(inst *disasm.Inst, f *unwind.Frame) error {
	var code [disasm.MaxLen]byte
	at, pointer := f.RA(), f.CodePointer()
	if back := at - f.LookupAddr(); f.IsTopFrame() && back != 0 {
		if s := in.Signal; in.arch.Family == arch.FamilyS390 && s != nil && s.HasAddr {
			back = at - s.Addr // its instructions have several lengths
		}
		at, pointer = at-back, pointer-back
	}
	n, err := in.Proc.ReadMem(at, code[:])
	if n == 0 {
		return err
	}
	*inst, err = disasm.Decode(in.arch, code[:n], pointer)
	return err
}

func (in *Engine) instruction(inst *disasm.Inst, regs *arch.RegSet, why reason.Reason) *report.Instruction {
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
func (in *Engine) symbol(addr uint64) (string, uint64) {
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
