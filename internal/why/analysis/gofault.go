package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// goFault is the fault that a panic of Go, or a fatal error of its runtime, stands for; nil for none. The registers at the fault are lost, as
// Go's functions preserve none, but the address tells the one that the instruction used.
func (c *crash) goFault() *fault { return c.known.goFault.of(c.findGoFault) }

func (c *crash) findGoFault() *fault {
	w := c.words()
	if w.told != asReason || w.Fault == nil {
		return nil
	}
	f := w.Fault
	physical, frame := slices.Index(c.stack, f.Frame), f.Frame
	if physical < 0 || !reason.Faults(c.Numbers, f.Signal) {
		return nil
	}
	ci := c.crashInput()
	ci.Signal = reason.Signal{Numbers: c.Numbers, OwnPID: c.Proc.ProcessID(), TID: int(frame.Thread()),
		Number: f.Signal, Code: f.Code, HasInfo: true, Addr: f.Addr, HasAddr: f.Code != siKernel}
	var inst disasm.Inst
	ran := f.PC == frame.RA()
	ci.Regs.Set(c.arch.PC, f.PC)
	if ran {
		ci.Regs.Set(c.arch.SP, frame.SP())
		if c.decode(&inst, frame) == nil {
			ci.Inst = &inst
			if ci.Signal.HasAddr {
				usedAddress(&inst, f.Addr, c.arch, &ci.Regs)
			}
		}
	}
	why := reason.Why(ci)
	out := c.faultOf(physical, &inst, &ci.Regs, &why).countedFrom(physical)
	if ran && out.blame == nil && ci.Signal.HasAddr {
		out.causes = append(out.causes, c.goElement(physical, &inst, f.Addr)...)
	}
	return out
}

// goElement names the element of a slice that an instruction accessed, where its pointer or index is not known any more.
func (c *crash) goElement(physical int, inst *disasm.Inst, addr arch.Address) []report.Cause {
	m := inst.Mem()
	if m == nil || m.Base == arch.NoReg || m.Segment != arch.NoReg || m.Opaque || m.Vector || c.opts.NoBlame {
		return nil
	}
	t := &tracer{in: c.question, stack: c.stack[physical:], out: report.Blame{Confidence: report.Likely}}
	defer t.close()
	w := t.witness(0, nil)
	if w == nil || w.vars == nil {
		return nil
	}
	n := w.target(w.state.PC, m.Base, m.Index, m.Scale, m.Disp, int(m.Size), 0)
	text := goText(n.text)
	if !strings.Contains(text, "[") || n.doubt || len(n.arms) > 0 {
		return nil
	}
	return []report.Cause{{Text: text + " at 0x" + strconv.FormatUint(addr, 16) + ", in " + w.call.Name, Confidence: report.Likely}}
}

// siKernel is the code of faults without an address: an address that no memory can have.
const siKernel = 128

// nilMap is the panic of an assignment to a map that is nil.
const nilMap = "assignment to entry in nil map"

// nilMap says of a panic of that kind which map it was, if the code tells or the function that assigns has one variable that is a nil map.
func (c *crash) nilMap() []report.Cause { return c.known.nilMap.of(c.findNilMap) }

func (c *crash) findNilMap() []report.Cause {
	w := c.words()
	if w.told != asReason || w.Fault != nil || w.Panic == nil || w.Panic.Value != nilMap || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	runtimes := func(f report.Frame) bool {
		return strings.HasPrefix(f.Function, "runtime.mapassign") || strings.HasPrefix(f.Function, "internal/runtime/maps.")
	}
	frames := c.named.Frames
	at := slices.IndexFunc(frames, runtimes)
	if at < 0 {
		return nil
	}
	for at < len(frames) && runtimes(frames[at]) {
		at++
	}
	if at == len(frames) || frames[at].Physical >= len(c.stack) {
		return nil
	}
	if text := c.assigned(frames[at].Physical); text != "" {
		return []report.Cause{{Text: text + " = nil in " + frames[at].Function, Confidence: report.Likely}}
	}
	a, err := c.Variables.At(c.stack, frames[at].Physical)
	if err != nil {
		return nil
	}
	defer a.Close()
	var text string
	for _, s := range a.Live() {
		for _, v := range slices.Concat(s.Params, s.Locals) {
			value := a.Read(v, c.Values)
			if !strings.HasPrefix(value.Type(), "map[") || value.Err() != nil || value.Text() != "nil" {
				continue
			}
			if text != "" {
				return nil // two of them
			}
			role := "local"
			if v.Param {
				role = "argument"
			}
			text = v.Name + " = nil, " + role + " of " + frames[at].Function
		}
	}
	if text == "" {
		return nil
	}
	return []report.Cause{{Text: text, Confidence: report.Likely}}
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
		if m := next.Mem(); m != nil && m.Base == base && m.Index == arch.NoReg && next.Kind != disasm.Nop {
			return *m, true
		}
		if next.Writes.Has(base) || next.Kind.IsCall() || next.Target != 0 {
			break
		}
		at = next.Next()
	}
	return disasm.MemOperand{}, false
}
