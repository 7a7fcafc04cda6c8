package crash

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Signal is what a dump says of the signal that killed the process.
type Signal struct {
	Number, Code int
	Numbers      Numbering // what Number and Code mean
	HasInfo      bool      // Code and PID are known
	Addr         uint64    // fault address, with HasAddr
	HasAddr      bool      // the signal is one that carries an address
	PID, UID     int       // who sent it, where a process did
	Syscall      int       // SIGSYS: the system call
	OwnPID       int       // of the process that died
	TID          int       // of the thread that died
}

// Input is what the reason is found from. Only Signal and Arch are required.
type Input struct {
	Arch   *arch.Arch
	Signal Signal
	Regs   arch.RegSet
	// Inst is the instruction at the crashing thread's pc, nil when its bytes are
	// not to be had.
	Inst *disasm.Inst
	// Mapping returns the mapping that holds an address; nil when mappings are not
	// known.
	Mapping func(addr uint64) (libstate.Mapping, bool)
	// Word reads a word of the process's memory; nil when there is none.
	Word func(addr uint64) (uint64, bool)
}

// A Reason says why the process died.
type Reason struct {
	Text       string
	Access     string // "read", "write" or "execute"; "" when it was none or is not known
	AccessSize int    // bytes; 0 when not known
	// Addr is the address that the fault was about. It is the kernel's, or is
	// computed from the instruction where the kernel gives none (an address that
	// is not canonical).
	Addr    uint64
	HasAddr bool
	// AtInst says that the instruction at pc is what failed.
	AtInst bool
}

// nullZone is how far above null an address still counts as null plus an offset:
// the lowest address that Linux maps by default.
const nullZone = 0x10000

// Why finds the reason.
func Why(in Input) Reason {
	in.Signal = in.Signal.linux()
	r := in.why()
	if in.Inst == nil {
		r.AtInst = false
	}
	return r
}

func (in *Input) why() Reason {
	s := in.Signal
	if text := kernelReason(s); text != "" {
		return Reason{Text: text}
	}
	if s.HasInfo && fromProcess(s.Code) {
		return Reason{Text: sent(s)}
	}
	switch s.Number {
	case sigSegv, sigBus:
		if !s.HasInfo && (!s.HasAddr || s.Addr == 0 && in.knowsAccess()) {
			return in.guess()
		}
		return in.badAccess()
	case sigFPE:
		return in.arithmetic()
	case sigIll:
		return in.illegal()
	}
	if !s.HasInfo {
		return Reason{Text: plainReason(s.Number)}
	}
	switch {
	case s.Number == sigSys && s.Code == 1:
		return Reason{Text: fmt.Sprintf("system call %d forbidden by a seccomp filter", s.Syscall)}
	case s.Number == sigTrap && s.Code == siKernel:
		return Reason{Text: "breakpoint instruction (int3)"}
	}
	name, words := CodeName(s.Number, s.Code)
	if words == "" {
		return Reason{Text: plainReason(s.Number)}
	}
	return Reason{Text: fmt.Sprintf("%s (%s)", words, name)}
}

// guess explains a bad access without the kernel's information, by the
// instruction's own accesses, where it has one only.
func (in *Input) guess() Reason {
	pc, ok := in.Regs.Get(in.Arch.PC)
	if ok && in.Mapping != nil && in.cannotRun(pc) {
		return in.jump(pc)
	}
	if acc, ok := in.access(0, false); ok && acc.Known {
		if !in.canonical(acc.Addr) {
			return in.protectionFault()
		}
		return in.describe(acc, acc.Addr)
	}
	return Reason{Text: "invalid memory access", AtInst: true}
}

// sent says who sent the signal.
func sent(s Signal) string {
	_, words := CodeName(s.Number, s.Code)
	switch {
	case s.PID == s.OwnPID && s.PID != 0 && s.Number == sigAbrt:
		return "abort called by the program itself"
	case s.PID == s.OwnPID && s.PID != 0:
		return "sent by the program to itself"
	case s.PID == 0:
		return words
	}
	return fmt.Sprintf("%s from process %d of user %d", words, s.PID, s.UID)
}

// kernelReason words signals that the kernel sends for one reason only. Of some
// it claims that the process sent them to itself.
func kernelReason(s Signal) string {
	byKernel := s.Code == siKernel || s.Code == siUser && s.PID == s.OwnPID
	if s.HasInfo && !byKernel {
		return ""
	}
	switch s.Number {
	case sigXCPU:
		return "limit on processor time reached"
	case sigXFSZ:
		return "limit on file size reached"
	case sigPipe:
		return "write to a pipe or socket that nobody reads"
	case sigQuit:
		if s.HasInfo && s.Code == siKernel {
			return "quit from the terminal"
		}
	}
	return ""
}

func plainReason(signo int) string {
	switch signo {
	case sigAbrt:
		return "abort"
	case sigKill:
		return "killed"
	}
	return ""
}

// badAccess explains SIGSEGV and SIGBUS.
func (in *Input) badAccess() Reason {
	s := in.Signal
	if s.Code == siKernel {
		return in.protectionFault()
	}
	pc, _ := in.Regs.Get(in.Arch.PC)
	if s.HasAddr && s.Addr == pc && in.cannotRun(pc) {
		return in.jump(pc)
	}
	acc, ok := in.access(s.Addr, s.HasAddr)
	if !ok {
		acc = disasm.Access{}
	}
	return in.describe(acc, s.Addr)
}

// knowsAccess reports whether the instruction makes one access, to a known address:
// it tells more than an address of 0 without a code, which may stand for none.
func (in *Input) knowsAccess() bool {
	acc, ok := in.access(0, false)
	return ok && acc.Known
}

// cannotRun reports whether the processor could not have fetched an instruction
// at pc.
func (in *Input) cannotRun(pc uint64) bool {
	if in.Mapping == nil {
		return in.Inst == nil
	}
	m, ok := in.Mapping(pc)
	return !ok || m.Perm&libstate.Exec == 0
}

// jump explains a pc where no code is.
func (in *Input) jump(pc uint64) Reason {
	r := Reason{Access: "execute", Addr: pc, HasAddr: true}
	how := in.how(pc)
	switch m, mapped := in.mapping(pc); {
	case pc == 0:
		r.Text = how + " null"
	case pc < nullZone:
		r.Text = fmt.Sprintf("%s null+%#x", how, pc)
	case mapped:
		r.Text = fmt.Sprintf("%s %#x, which is not executable%s", how, pc, place(m))
	case in.Mapping == nil:
		r.Text = fmt.Sprintf("%s %#x, where no code can run", how, pc)
	default:
		r.Text = fmt.Sprintf("%s %#x, which is not mapped", how, pc)
	}
	return r
}

// how tells a return from a jump or call by the word that a return leaves behind
// right below the stack pointer.
func (in *Input) how(pc uint64) string {
	sp, ok := in.Regs.Get(in.Arch.SP)
	if ok && in.Word != nil && pc != 0 {
		if v, ok := in.Word(sp - uint64(in.Arch.WordSize)); ok && v == pc {
			return "return to"
		}
	}
	return "jump to"
}

// protectionFault explains a fault for which the processor gives no address: on
// x86-64, mostly an address that is not canonical.
func (in *Input) protectionFault() Reason {
	pc, _ := in.Regs.Get(in.Arch.PC)
	if !in.canonical(pc) {
		return notCanonical(in.how(pc), pc)
	}
	if in.Inst == nil {
		return Reason{Text: "general protection fault"}
	}
	for _, a := range disasm.FaultAccess(nil, in.Inst, &in.Regs) {
		r := access(a, a.Addr)
		switch {
		case a.Known && !in.canonical(a.Addr):
			r.Text = fmt.Sprintf("%s at %#x, which no process can map (not canonical)", verb(a), a.Addr)
			return r
		case a.Misaligned:
			r.Text = fmt.Sprintf("%s at %#x, which is not aligned to %d", verb(a), a.Addr, a.Size)
			return r
		}
	}
	r := Reason{Text: "general protection fault", AtInst: true}
	how, isJump := "jump to", true
	switch in.Inst.Kind {
	case disasm.Halt:
		r.Text = "privileged instruction"
		return r
	case disasm.Ret:
		how = "return to"
	case disasm.CallIndirect:
		how = "call of"
	case disasm.JumpIndirect:
	default:
		isJump = false
	}
	if to, ok := in.target(); isJump && ok && !in.canonical(to) {
		r = notCanonical(how, to)
		r.AtInst = true
	}
	return r
}

func notCanonical(how string, addr uint64) Reason {
	return Reason{Text: fmt.Sprintf("%s %#x, which no process can map (not canonical)", how, addr), Access: "execute", Addr: addr, HasAddr: true}
}

// target is where a return or an indirect call or jump goes.
func (in *Input) target() (uint64, bool) {
	if v, ok := in.Regs.Get(in.Inst.Src); ok && in.Inst.Kind != disasm.Ret {
		return v, true
	}
	for _, a := range disasm.FaultAccess(nil, in.Inst, &in.Regs) {
		if a.Read && a.Known && in.Word != nil {
			return in.Word(a.Addr)
		}
	}
	return 0, false
}

// canonical reports whether user or kernel code could have the address, on
// processors with five-level paging too.
func (in *Input) canonical(addr uint64) bool {
	if in.Arch != arch.AMD64 {
		return true
	}
	top := int64(addr) >> 47
	return top == 0 || top == -1
}

// access finds the instruction's access that touches addr, or its only one.
func (in *Input) access(addr uint64, have bool) (disasm.Access, bool) {
	if in.Inst == nil {
		return disasm.Access{}, false
	}
	all := disasm.FaultAccess(nil, in.Inst, &in.Regs)
	for _, a := range all {
		if have && a.Known && addr >= a.Addr && addr-a.Addr < uint64(max(a.Size, 1)) {
			return a, true
		}
	}
	if !have && len(all) == 1 {
		return all[0], true
	}
	// An access that crosses into the next page faults at that page's start.
	for _, a := range all {
		if have && !a.Known && len(all) == 1 {
			return a, true
		}
	}
	return disasm.Access{}, false
}

// access is the reason that names an access to addr, without words.
func access(a disasm.Access, addr uint64) Reason {
	r := Reason{AccessSize: a.Size, Addr: addr, HasAddr: true, AtInst: true}
	switch {
	case a.Write:
		r.Access = "write"
	case a.Read:
		r.Access = "read"
	}
	return r
}

// verb says what an access did: "read of 4 bytes".
func verb(a disasm.Access) string {
	what := "access"
	switch {
	case a.Read && a.Write:
		what = "read and write"
	case a.Write:
		what = "write"
	case a.Read:
		what = "read"
	}
	switch a.Size {
	case 0:
		return what
	case 1:
		return what + " of 1 byte"
	}
	return fmt.Sprintf("%s of %d bytes", what, a.Size)
}

// describe words an access to addr.
func (in *Input) describe(a disasm.Access, addr uint64) Reason {
	r := access(a, addr)
	m, mapped := in.mapping(addr)
	switch {
	case in.belowStack(addr, mapped, m):
		r.Text = fmt.Sprintf("stack overflow: %s at %#x, below the stack", verb(a), addr)
	case addr < nullZone && addr == 0:
		r.Text = verb(a) + " at null"
	case addr < nullZone:
		r.Text = fmt.Sprintf("%s at null+%#x", verb(a), addr)
	case in.Signal.Number == sigBus && mapped && m.Path != "" && in.Signal.Code == 2:
		r.Text = fmt.Sprintf("%s at %#x, past the end of the file mapped there%s", verb(a), addr, place(m))
	case in.Mapping == nil:
		r.Text = fmt.Sprintf("%s at %#x", verb(a), addr)
	case !mapped:
		r.Text = fmt.Sprintf("%s at %#x, which is not mapped", verb(a), addr)
	default:
		r.Text = fmt.Sprintf("%s at %#x, %s%s", verb(a), addr, in.refusal(a, m), place(m))
	}
	return r
}

// refusal says what a mapping does not allow.
func (in *Input) refusal(a disasm.Access, m libstate.Mapping) string {
	switch {
	case in.Signal.Number == sigBus || in.Signal.HasInfo && in.Signal.Code > 2:
		_, words := CodeName(in.Signal.Number, in.Signal.Code)
		return words
	case m.Perm == 0:
		return "which allows no access"
	case a.Write && m.Perm&libstate.Write == 0:
		return "which is not writable"
	case m.Perm&libstate.Read == 0:
		return "which is not readable"
	}
	return "which was not accessible"
}

// place names the file of a mapping.
func place(m libstate.Mapping) string {
	if m.Path == "" {
		return ""
	}
	return " (" + m.Path + ")"
}

func (in *Input) mapping(addr uint64) (libstate.Mapping, bool) {
	if in.Mapping == nil {
		return libstate.Mapping{}, false
	}
	return in.Mapping(addr)
}

// stackReach is how far from the stack pointer, in bytes, an access of a
// function's frame may lie (a large local array, a probe of the stack), and how
// large a guard area may be.
const stackReach = 1 << 20

// belowStack reports whether addr is where a stack that ran out would fault: near
// the stack pointer, in no writable memory, with the stack right above it.
func (in *Input) belowStack(addr uint64, mapped bool, m libstate.Mapping) bool {
	sp, ok := in.Regs.Get(in.Arch.SP)
	if !ok || in.Mapping == nil || mapped && m.Perm&libstate.Write != 0 {
		return false
	}
	if addr > sp+stackReach || addr+stackReach < sp {
		return false
	}
	const page = 4096
	for at := addr &^ (page - 1); at < addr+stackReach; at += page {
		above, ok := in.Mapping(at)
		if ok && above.Perm != 0 {
			return above.Perm&libstate.Write != 0
		}
	}
	return false
}

func (in *Input) arithmetic() Reason {
	r := Reason{Text: "arithmetic error", AtInst: true}
	code := in.Signal.Code
	if in.Signal.HasInfo {
		if _, words := CodeName(sigFPE, code); words != "" {
			r.Text = words
		}
	}
	if in.Inst == nil || in.Inst.Kind != disasm.Div || in.Signal.HasInfo && code != 1 {
		return r
	}
	// x86 has one fault for both.
	switch v, ok := in.divisor(); {
	case ok && v != 0:
		r.Text = "integer division overflow: the quotient does not fit"
	case ok:
		r.Text = "integer division by zero"
	}
	return r
}

// divisor is what a division divides by.
func (in *Input) divisor() (uint64, bool) {
	v, ok := in.Regs.Get(in.Inst.Src)
	if addr, isMem := in.Inst.EffectiveAddress(&in.Regs); isMem {
		if in.Word == nil {
			return 0, false
		}
		v, ok = in.Word(addr)
	}
	if n := in.Inst.Size; n > 0 && n < 8 {
		v &= 1<<(8*n) - 1
	}
	return v, ok
}

func (in *Input) illegal() Reason {
	r := Reason{AtInst: true}
	if in.Inst != nil && in.Inst.Kind == disasm.Trap {
		r.Text = fmt.Sprintf("trap instruction (%s), placed where code must not be reached", in.Inst.Text(disasm.TextOptions{}))
		return r
	}
	r.Text = "illegal instruction"
	if in.Signal.HasInfo {
		if _, words := CodeName(sigIll, in.Signal.Code); words != "" {
			r.Text = words
		}
	}
	return r
}
