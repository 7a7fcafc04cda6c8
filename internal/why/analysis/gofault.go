package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/why/message"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// goFault adds to a panic of Go, or a fatal error of its runtime, the fault that it stands for: address, instruction and blame. The
// registers at the fault are lost, as Go's functions preserve none, but the address tells the one that the instruction used.
func (in *question) goFault(r *report.Report, f *message.Fault) {
	physical := slices.Index(in.diedStack, f.Frame)
	if physical < 0 || len(r.Threads) == 0 {
		return
	}
	c, frame := r.Crash, f.Frame
	ci := in.crashInput()
	ci.Signal = reason.Signal{Numbers: in.Numbers, OwnPID: in.Proc.ProcessID(), TID: int(frame.Thread()),
		Number: f.Signal, Code: f.Code, HasInfo: true, Addr: f.Addr, HasAddr: f.Code != siKernel}
	if !reason.Faults(in.Numbers, f.Signal) {
		return
	}
	var inst disasm.Inst
	ran := f.PC == frame.RA()
	ci.Regs.Set(in.arch.PC, f.PC)
	if ran {
		ci.Regs.Set(in.arch.SP, frame.SP())
		if in.decode(&inst, frame) == nil {
			ci.Inst = &inst
			if ci.Signal.HasAddr {
				usedAddress(&inst, f.Addr, in.arch, &ci.Regs)
			}
		}
	}
	why := reason.Why(ci)
	fault := report.Crash{Kind: why.Kind, Reason: why.Text}
	in.blameFrom(&fault, physical, &inst, &ci.Regs, &why)
	c.Kind, c.Reason = fault.Kind, c.Reason+": "+fault.Reason
	c.Address, c.Instruction, c.Blame = fault.Address, fault.Instruction, fault.Blame
	c.AdjustedAddress, c.Accesses, c.BitFlips, c.Inconsistencies = why.Adjusted, why.Accesses, why.BitFlips, why.Inconsistencies
	c.Causes = slices.Concat(fault.Causes, why.Causes, c.Causes)
	countFrom(c.Blame, physical)
}

// siKernel is the code of faults without an address: an address that no memory can have.
const siKernel = 128

// nilMap is the panic of an assignment to a map that is nil.
const nilMap = "assignment to entry in nil map"

// goNilMap adds to a panic of that kind which map it was, if the function that assigns has one variable that is a nil map.
func (in *question) goNilMap(r *report.Report) {
	runtimes := func(f report.Frame) bool {
		return strings.HasPrefix(f.Function, "runtime.mapassign") || strings.HasPrefix(f.Function, "internal/runtime/maps.")
	}
	frames := r.Threads[0].Frames
	at := slices.IndexFunc(frames, runtimes)
	if at < 0 || in.Variables == nil || in.opts.NoBlame {
		return
	}
	for at < len(frames) && runtimes(frames[at]) {
		at++
	}
	if at == len(frames) || frames[at].Physical >= len(in.diedStack) {
		return
	}
	a, err := in.Variables.At(in.diedStack, frames[at].Physical)
	if err != nil {
		return
	}
	defer a.Close()
	var text string
	for _, s := range a.Live() {
		for _, v := range slices.Concat(s.Params, s.Locals) {
			value := a.Read(v, in.Values)
			if !strings.HasPrefix(value.Type(), "map[") || value.Err() != nil || value.Text() != "nil" {
				continue
			}
			if text != "" {
				return // two of them
			}
			role := "local"
			if v.Param {
				role = "argument"
			}
			text = v.Name + " = nil, " + role + " of " + frames[at].Function
		}
	}
	if text != "" {
		r.Crash.Causes = append([]report.Cause{{Text: text, Confidence: report.Likely}}, r.Crash.Causes...)
	}
}

// usedAddress sets the register that an instruction used as the address of its only access, if it used no other.
func usedAddress(inst *disasm.Inst, addr arch.Address, a *arch.Arch, regs *arch.RegSet) {
	all := disasm.FaultAccess(nil, inst, regs)
	if len(all) != 1 || all[0].Known {
		return
	}
	m := &all[0].Operand
	if m.Base == arch.NoReg || m.Index != arch.NoReg || m.Segment != arch.NoReg || m.BitIndex != arch.NoReg || m.Opaque || m.Vector {
		return
	}
	regs.Set(m.Base, a.Truncate(addr-uint64(m.Disp)))
}

// nilCheck reports whether an instruction is one with which Go's compiler checks a pointer before it uses it, maybe with an offset that
// is too large to fault at null: it reads a byte that nobody needs.
func nilCheck(inst *disasm.Inst, a *arch.Arch) bool {
	m := inst.Mem()
	if m == nil || !m.Read || m.Write || m.Size != 1 || m.Disp != 0 || m.Index != arch.NoReg {
		return false
	}
	switch a.Family {
	case arch.FamilyX86:
		return inst.Writes == 0 && inst.Kind != disasm.Load // test [reg], al
	case arch.FamilyARM64:
		scratch, ok := a.RegByName("x27") // Go's assembler uses it for itself
		return ok && inst.Dst == scratch
	}
	return false
}

// checkedFor returns the operand for which the code at an address checks a pointer: that of the first of the next instructions that uses
// the register; false if another way leads there or it is not known.
func (w *witness) checkedFor(inst *disasm.Inst) (disasm.MemOperand, bool) {
	const most = 4
	base, at := inst.Mem().Base, inst.Next()
	for range most {
		next, ok := w.code.Inst(at)
		if !ok {
			break
		}
		if m := next.Mem(); m != nil && m.Base == base && m.Index == arch.NoReg {
			return *m, true
		}
		if next.Writes.Has(base) || next.Kind.IsCall() || next.Target != 0 {
			break
		}
		at = next.Next()
	}
	return disasm.MemOperand{}, false
}
