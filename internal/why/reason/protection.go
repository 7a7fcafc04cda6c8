package reason

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// protectionFault explains a fault for which the processor reports no address: on x86-64, mostly an access to a
// non-canonical address.
func (in *Input) protectionFault() Reason {
	if in.Arch == nil {
		return Reason{Kind: report.CrashBadAccess, Text: "general protection fault"}
	}
	pc, _ := in.Regs.Get(in.Arch.PC)
	if !in.canonical(pc) {
		return in.notCanonical(in.how(pc), pc)
	}
	if r, ok := in.vsyscall(pc); ok {
		return r
	}
	if in.Inst == nil {
		return Reason{Kind: report.CrashBadAccess, Text: "general protection fault"}
	}
	for _, a := range in.accesses() {
		r := access(a, a.Addr)
		switch {
		case a.Known && !in.canonical(a.Addr):
			r.Kind, r.Text = of(&nonCanonicalKinds, r.Access), fmt.Sprintf("%s at %#x%s", verb(a), a.Addr, impossible)
			r.Adjusted = &report.AdjustedAddress{Kind: report.AdjustedNonCanonical, Address: report.Addr(a.Addr)}
			return r
		case a.Misaligned:
			r.Kind, r.Text = report.CrashMisaligned, fmt.Sprintf("%s at %#x, which is not aligned to %d", verb(a), a.Addr, a.Size)
			return r
		}
	}
	if r, ok := in.transfer(); ok {
		return r
	}
	if r, ok := in.noRoom(); ok {
		return r
	}
	if in.undelivered(pc) {
		return Reason{Kind: report.CrashStackOverflow, Text: "stack overflow: no room on the stack for the handler of a signal"}
	}
	r := Reason{Kind: report.CrashBadAccess, Text: "general protection fault", AtInst: true}
	switch in.Inst.Kind {
	case disasm.Halt:
		r.Kind, r.Text = report.CrashPrivileged, in.privileged()
	case disasm.Interrupt:
		r.Kind, r.Text = report.CrashPrivileged, "software interrupt that programs may not raise"+in.instText()
	}
	return r
}

// noRoom explains a stack overflow in a program that handles SIGSEGV, but not on a stack of its own: the kernel cannot begin
// the handler, and ends the program with a signal that has no address.
func (in *Input) noRoom() (Reason, bool) {
	if s := in.Signal; s.Number != sigSegv || s.Code != siKernel {
		return Reason{}, false
	}
	for _, a := range in.accesses() {
		if m, _ := in.mapping(a.Addr); a.Known && in.belowStack(a.Addr, m) {
			r := in.describe(a, a.Addr)
			r.Text += ", which left no room for the signal's handler"
			return r, true
		}
	}
	return Reason{}, false
}

// undelivered reports whether the kernel could not begin the handler of a signal when a system call ended: no instruction failed, as the
// next one cannot. A handler that raises the signal again, before it returns, uses up its stack in this way. After rt_sigreturn it was the
// signal's own frame that the kernel could not use.
func (in *Input) undelivered(pc uint64) bool {
	const syscall, sigreturn, number = 0x050f, 15, 16 // the instruction, and the number that the one before it moves to rax
	if s := in.Signal; in.Arch != arch.AMD64 || s.Number != sigSegv || !in.ordinary() {
		return false
	}
	before, _ := in.word(pc - 8) // 0 if it is not known
	return before>>48 == syscall && uint32(before>>number) != sigreturn
}

// transfer explains an indirect jump, a call or a return to a non-canonical address.
func (in *Input) transfer() (Reason, bool) {
	how := ""
	switch in.Inst.Kind {
	case disasm.Ret:
		how = "return to"
	case disasm.CallIndirect:
		how = "call to"
	case disasm.JumpIndirect:
		how = "jump to"
	default:
		return Reason{}, false
	}
	to, ok := in.target()
	if !ok || in.canonical(to) {
		return Reason{}, false
	}
	r := in.notCanonical(how, to)
	r.AtInst = true
	return r, true
}

func (in *Input) notCanonical(how string, addr uint64) Reason {
	return Reason{Kind: report.CrashNonCanonicalCall, Text: fmt.Sprintf("%s %#x%s", how, addr, impossible),
		Access: report.AccessExecute, Addr: addr, HasAddr: true,
		Adjusted: &report.AdjustedAddress{Kind: report.AdjustedNonCanonical, Address: report.Addr(addr)}}
}

// target returns the target of a return or of an indirect call or jump.
func (in *Input) target() (to uint64, ok bool) {
	if v, ok := in.Regs.Get(in.Inst.Src); ok {
		return v, !in.authenticates() // not with a signature in it
	}
	for _, a := range in.accesses() {
		if a.Read && a.Known {
			return in.word(a.Addr)
		}
	}
	return to, ok
}

// controlFlow explains a fault of the shadow stack, or of a branch to an invalid target.
func (in *Input) controlFlow() Reason {
	r := Reason{Kind: report.CrashControlFlow, Text: "control-flow protection fault", AtInst: true}
	if in.Inst == nil {
		return r
	}
	switch in.Inst.Kind {
	case disasm.Ret:
		r.Text = "return to an address that differs from the shadow stack's"
		if to, ok := in.target(); ok {
			r.Text = fmt.Sprintf("return to %#x, which differs from the address on the shadow stack", to)
		}
	case disasm.Endbr:
	default:
		r.Text = "branch to an invalid target, or invalid use of the shadow stack"
	}
	return r
}

func (in *Input) privileged() string { return "privileged instruction" + in.instText() }

// instText returns the instruction in brackets, "" if it is not known.
func (in *Input) instText() string {
	if in.Inst == nil {
		return ""
	}
	text := in.Inst.Text(disasm.TextOptions{})
	if strings.HasPrefix(text, "(") {
		return " " + text
	}
	return " (" + text + ")"
}
