package analysis

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A suspect is the bad value at the place where it was used.
type suspect struct {
	w     *witness
	v     *provenance.Value
	reg   arch.Reg // the register that held it; NoReg for a word of memory
	value uint64
	use   named // what was accessed through it
	param named // the parameter of an inlined call that it must be; see witness.given
	given bool  // an inlined call was given it
	// pointer says that it is the only register of the access.
	pointer bool
	mem     *disasm.MemOperand // of the access; nil if it was none
	// divides says that it is a divisor, of size bytes.
	divides bool
	size    int
}

// suspect finds the bad operand.
func (t *tracer) suspect(inst *disasm.Inst, regs *arch.RegSet, why *reason.Reason) (suspect, bool) {
	if !why.AtInst || inst.Len == 0 {
		if why.Access == report.AccessExecute {
			return t.calledThrough(regs, why.Addr)
		}
		return suspect{}, false
	}
	if why.Access == report.AccessExecute {
		return t.jumpedTo(inst, why.Addr)
	}
	if why.Kind == report.CrashDivZero || why.Kind == report.CrashDivOverflow {
		return t.divisor(inst, regs, why.Kind)
	}
	m, ok := operand(inst, regs, why.Addr, t.in.arch)
	if !ok {
		return suspect{}, false
	}
	reg := t.badRegister(&m, regs)
	if reg == arch.NoReg {
		return suspect{}, false
	}
	value, _ := regs.Get(reg)
	if inst.Rep && value != 0 {
		return suspect{}, false // it was advanced in each round: nobody passed it
	}
	w := t.witness(0, t.early)
	if w == nil {
		return suspect{}, false
	}
	s := suspect{w: w, mem: &m, reg: reg, value: value, v: w.code.Before(w.state.PC, provenance.Reg(reg)), pointer: m.Base == reg && m.Index == arch.NoReg}
	if nilCheck(inst, t.in.arch) && !t.preserved(w) {
		if m, ok = w.checkedFor(inst); !ok {
			return s, true
		}
	}
	s.use = w.target(w.state.PC, m.Base, m.Index, m.Scale, m.Disp, int(m.Size), 0)
	if at, known := m.Address(regs); known && len(s.use.used) > 0 {
		switch same, known := w.addsUp(w.state.PC, &m, at); {
		case known && !same:
			s.use = named{}
		case known: // what may have changed since has not
			s.use.doubt = false
		default:
			s.use.doubt = true
		}
	}
	if s.use.text == "" && m.Index == arch.NoReg && inst.Kind != disasm.Load && inst.Kind != disasm.Store {
		// One instruction may read several members of a structure at once.
		s.use = w.target(w.state.PC, m.Base, m.Index, m.Scale, m.Disp, 0, 0)
	}
	if s.pointer {
		n, use, ok := w.given(s.v, s.reg, s.value, m.Disp, int(m.Size))
		if s.given = ok; use != "" {
			if s.param = n; s.use.text == "" {
				s.use = named{text: use}
			}
		}
	}
	return s, true
}

// preserved reports whether functions of the witness's language preserve registers: those of Go do not.
func (t *tracer) preserved(w *witness) bool {
	return w.vars == nil || w.vars.Convention() == where.ConventionC
}

// operand returns the memory operand of the access that failed.
func operand(inst *disasm.Inst, regs *arch.RegSet, addr uint64, a *arch.Arch) (disasm.MemOperand, bool) {
	all := disasm.FaultAccess(nil, inst, regs)
	if len(all) == 1 {
		return all[0].Operand, true
	}
	for _, acc := range all {
		if acc.Known && a.Truncate(addr-acc.Addr) < uint64(max(acc.Size, 1)) {
			return acc.Operand, true
		}
	}
	return disasm.MemOperand{}, false
}

// firstPage is the size of the page at address 0, which is never mapped.
const firstPage = 4096

// badRegister returns the register of an operand whose value is to blame; NoReg if that is in doubt.
func (t *tracer) badRegister(m *disasm.MemOperand, regs *arch.RegSet) arch.Reg {
	if m.Segment != arch.NoReg || m.BitIndex != arch.NoReg || m.Vector || m.Opaque {
		return arch.NoReg
	}
	general := func(r arch.Reg) bool { return r != arch.NoReg && r != t.in.arch.SP && r != t.in.arch.PC }
	if m.Index == arch.NoReg {
		if general(m.Base) {
			return m.Base
		}
		return arch.NoReg
	}
	index, ok := regs.Get(m.Index)
	if !ok {
		return arch.NoReg
	}
	if m.Base == arch.NoReg || m.Base == t.in.arch.SP || m.RIPRelative {
		if m.Base == arch.NoReg && m.Scale > 1 && m.Disp >= 0 && m.Disp < firstPage && index < firstPage {
			return arch.NoReg // an element of what the compiler knew to be null
		}
		return m.Index
	}
	base, ok := regs.Get(m.Base)
	switch {
	case !ok || !general(m.Base):
		return arch.NoReg
	case t.mapped(base) && !(m.Scale <= 1 && t.mapped(index)):
		return m.Index
	case m.Scale <= 1 && t.mapped(index):
		return m.Base
	case base == 0 && (index != 0 || m.Scale > 1), m.Scale > 1 && !t.mapped(base) && index < firstPage && m.Disp >= 0 && m.Disp < firstPage: // what is scaled is no pointer
		return m.Base
	case m.Scale <= 1 && index < firstPage && base >= leastWild: // the other one is no address
		t.doubt(report.Likely)
		return m.Base
	case m.Scale <= 1 && base < firstPage && index >= leastWild:
		t.doubt(report.Likely)
		return m.Index
	}
	return arch.NoReg
}

// mapped reports whether an address is in the process's memory.
func (t *tracer) mapped(addr uint64) bool {
	_, ok := t.in.Proc.MappingAt(addr)
	return ok
}

// jumpedTo returns the operand of a jump or call that failed before it was made.
func (t *tracer) jumpedTo(inst *disasm.Inst, addr uint64) (suspect, bool) {
	if inst.Kind != disasm.CallIndirect && inst.Kind != disasm.JumpIndirect {
		return suspect{}, false
	}
	w := t.witness(0, nil)
	if w == nil {
		return suspect{}, false
	}
	s := suspect{w: w, reg: inst.Src, value: addr, v: w.code.Operand(w.state.PC)}
	return s, true
}

// calledThrough returns the operand of the call that led to an address without code. The process has run
// nothing since, so the caller's registers still hold their values.
func (t *tracer) calledThrough(regs *arch.RegSet, addr uint64) (suspect, bool) {
	if len(t.stack) < 2 || t.stack[0].RA() != addr {
		return suspect{}, false
	}
	w := t.witness(1, regs)
	if w == nil || w.state.PC == w.frame.RA() {
		return suspect{}, false
	}
	call, ok := w.code.Inst(w.state.PC)
	if !ok || call.Kind != disasm.CallIndirect {
		return suspect{}, false
	}
	s := suspect{w: w, reg: call.Src, value: addr, v: w.code.Operand(w.state.PC)}
	// A function that was called and then jumped to the bad address would be to blame instead.
	if got, _, ok := w.eval.Value(s.v, 0); !ok || got != addr {
		return suspect{}, false
	}
	// The register may hold the address because the called function jumped through the same register.
	held, known := w.heldNow(w.name(s.v, w.state.PC, call.Src, 0))
	switch {
	case known && held != addr:
		return suspect{}, false
	case !known && s.v.Kind != provenance.Load && s.v.Kind != provenance.Slot:
		t.doubt(report.Likely)
	}
	return s, true
}

// libraryPath returns the path of the library at an address.
func (in *Engine) libraryPath(addr uint64) string {
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(addr); ok {
			return lib.Path
		}
	}
	return ""
}
