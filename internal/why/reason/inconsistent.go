package reason

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// inconsistencies finds contradictions: the processor did something else than the instruction says, or the dump
// is not a consistent snapshot.
func (in *Input) inconsistencies(r *Reason) {
	if in.Inst == nil || in.Signal.Number != 0 && !in.Signal.HasInfo {
		return // without a code nothing says that there was a fault
	}
	found := func(what string) { r.Inconsistencies = append(r.Inconsistencies, what) }
	switch r.Kind {
	case report.CrashDivZero:
		if in.isX86() && in.Inst.Kind != disasm.Div {
			found(report.InconsistentDivision)
		}
	case report.CrashPrivileged:
		if in.isX86() && plainCode(in.Inst.Kind) {
			found(report.InconsistentPrivileged)
		}
	case report.CrashBadAccess:
		if in.Arch == arch.AMD64 && in.Signal.Code == siKernel && in.ordinary() {
			found(report.InconsistentNonCanonical)
		}
	}
	if in.allowed(r) {
		found(report.InconsistentAllowed)
	}
	if in.elsewhere(r) {
		found(report.InconsistentAccess)
	}
}

// plainCode reports whether instructions of a kind are never privileged.
func plainCode(k disasm.Kind) bool {
	switch k {
	case disasm.Mov, disasm.MovImm, disasm.Load, disasm.Store, disasm.Lea, disasm.Nop, disasm.Endbr, disasm.Push, disasm.Pop,
		disasm.Call, disasm.Ret, disasm.Jump, disasm.CondJump, disasm.Div, disasm.AddSP, disasm.SubSP, disasm.LeaSP, disasm.Leave:
		return true
	}
	return false
}

// ordinary reports whether the instruction only moves data and all its addresses are known.
func (in *Input) ordinary() bool {
	if !plainCode(in.Inst.Kind) || in.Inst.Kind == disasm.Ret {
		return false
	}
	for _, a := range in.accesses() {
		if !a.Known {
			return false
		}
	}
	return true
}

// allowed reports whether the memory map allows the access that the system refused. That also happens when
// another thread changed the map between the fault and the dump.
func (in *Input) allowed(r *Reason) bool {
	switch r.Kind {
	case report.CrashBadRead, report.CrashBadWrite, report.CrashBadCall:
	default:
		return false
	}
	if in.Signal.Number == sigBus {
		return false // the map does not say whether a page is available
	}
	return in.allows(r.Addr, r.Access)
}

// elsewhere reports whether no access of the instruction could have failed at the address.
func (in *Input) elsewhere(r *Reason) bool {
	switch {
	case !r.unmatched || in.Inst.Rep:
		return false
	}
	switch in.Arch.Family {
	case arch.FamilyX86, arch.FamilyARM, arch.FamilyARM64:
	default:
		return false // not every access is known
	}
	if pc, _ := in.Regs.Get(in.Arch.PC); pc == r.Addr {
		return false
	}
	all := in.accesses()
	if len(all) == 0 {
		return plainCode(in.Inst.Kind)
	}
	for _, a := range all {
		if !a.Known || a.Size == 0 {
			return false
		}
	}
	return true
}
