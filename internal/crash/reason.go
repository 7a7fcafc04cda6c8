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
	HasInfo      bool   // Code, Addr and PID are known
	Addr         uint64 // fault address, with HasAddr
	HasAddr      bool   // the signal is one that carries an address
	PID, UID     int    // who sent it, where a process did
	Syscall      int    // SIGSYS: the system call
	OwnPID       int    // of the process that died
	TID          int    // of the thread that died
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
}

// nullZone is how far above null an address still counts as null plus an offset:
// the lowest address that Linux maps by default.
const nullZone = 0x10000

// Why finds the reason.
func Why(in Input) Reason {
	s := in.Signal
	if !s.HasInfo {
		if _, words := CodeName(s.Number, 0); s.Number == sigAbrt || words == "" {
			return Reason{Text: plainReason(s.Number)}
		}
		return in.guess()
	}
	if fromProcess(s.Code) {
		return Reason{Text: sent(s)}
	}
	switch s.Number {
	case sigSegv, sigBus:
		return in.badAccess()
	case sigFPE:
		return in.arithmetic()
	case sigIll:
		return in.illegal()
	case sigSys:
		return Reason{Text: fmt.Sprintf("system call %d forbidden by a seccomp filter", s.Syscall)}
	}
	name, words := CodeName(s.Number, s.Code)
	if words == "" {
		return Reason{Text: plainReason(s.Number)}
	}
	return Reason{Text: fmt.Sprintf("%s (%s)", words, name)}
}

// guess says what can be said without the kernel's information: the instruction's
// own accesses, where it has one only.
func (in *Input) guess() Reason {
	if in.Signal.Number == sigIll {
		return in.illegal()
	}
	if in.Signal.Number != sigSegv && in.Signal.Number != sigBus {
		return Reason{Text: plainReason(in.Signal.Number)}
	}
	if pc, ok := in.Regs.Get(in.Arch.PC); ok && in.Inst == nil && in.Mapping != nil {
		if m, mapped := in.Mapping(pc); !mapped || m.Perm&libstate.Exec == 0 {
			return in.jump(pc)
		}
	}
	if acc, ok := in.access(0, false); ok && acc.Known {
		return in.describe(acc, acc.Addr)
	}
	return Reason{Text: "invalid memory access"}
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

func plainReason(signo int) string {
	switch signo {
	case sigAbrt:
		return "abort"
	case sigKill:
		return "killed"
	case sigXCPU:
		return "limit on processor time reached"
	case sigXFSZ:
		return "limit on file size reached"
	}
	return ""
}

// badAccess explains SIGSEGV and SIGBUS.
func (in *Input) badAccess() Reason {
	s := in.Signal
	if s.Number == sigSegv && s.Code == siKernel {
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

// cannotRun reports whether the processor could not have fetched an instruction
// at pc.
func (in *Input) cannotRun(pc uint64) bool {
	if in.Inst == nil {
		return true
	}
	if in.Mapping == nil {
		return false
	}
	m, ok := in.Mapping(pc)
	return !ok || m.Perm&libstate.Exec == 0
}

// jump explains a pc where no code is.
func (in *Input) jump(pc uint64) Reason {
	r := Reason{Access: "execute", Addr: pc, HasAddr: true}
	switch m, mapped := in.mapping(pc); {
	case pc == 0:
		r.Text = "jump to null"
	case pc < nullZone:
		r.Text = fmt.Sprintf("jump to null+%#x", pc)
	case mapped:
		r.Text = fmt.Sprintf("jump to %#x, which is not executable%s", pc, in.place(m))
	default:
		r.Text = fmt.Sprintf("jump to %#x, which is not mapped", pc)
	}
	return r
}

// protectionFault explains a fault for which the processor gives no address: on
// x86-64, mostly an address that is not canonical.
func (in *Input) protectionFault() Reason {
	pc, _ := in.Regs.Get(in.Arch.PC)
	if !in.canonical(pc) {
		return Reason{Text: fmt.Sprintf("jump to %#x, which no process can map (not canonical)", pc), Access: "execute", Addr: pc, HasAddr: true}
	}
	if in.Inst == nil {
		return Reason{Text: "general protection fault"}
	}
	for _, a := range disasm.FaultAccess(nil, in.Inst, &in.Regs) {
		switch {
		case a.NonCanon || a.Known && !in.canonical(a.Addr):
			r := access(a, a.Addr)
			r.Text = fmt.Sprintf("%s at %#x, which no process can map (not canonical)", verb(a), a.Addr)
			return r
		case a.Misaligned:
			r := access(a, a.Addr)
			r.Text = fmt.Sprintf("%s at %#x, which is not aligned to %d", verb(a), a.Addr, a.Size)
			return r
		}
	}
	switch in.Inst.Kind {
	case disasm.Halt:
		return Reason{Text: "privileged instruction"}
	case disasm.Ret, disasm.CallIndirect, disasm.JumpIndirect:
		return Reason{Text: "jump to an address that no process can map (not canonical)", Access: "execute"}
	}
	return Reason{Text: "general protection fault"}
}

// canonical reports whether user or kernel code could have the address, on
// processors with five-level paging too.
func (in *Input) canonical(addr uint64) bool {
	if in.Arch.WordSize != 8 || in.Arch != arch.AMD64 {
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

func access(a disasm.Access, addr uint64) Reason {
	r := Reason{AccessSize: a.Size, Addr: addr, HasAddr: true}
	switch {
	case a.Write && !a.Read:
		r.Access = "write"
	case a.Read && !a.Write:
		r.Access = "read"
	case a.Write:
		r.Access = "write"
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
		r.Text = fmt.Sprintf("%s at %#x, past the end of the file mapped there%s", verb(a), addr, in.place(m))
	case in.Mapping == nil:
		r.Text = fmt.Sprintf("%s at %#x", verb(a), addr)
	case !mapped:
		r.Text = fmt.Sprintf("%s at %#x, which is not mapped", verb(a), addr)
	default:
		r.Text = fmt.Sprintf("%s at %#x, %s%s", verb(a), addr, in.refusal(a, m), in.place(m))
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
func (in *Input) place(m libstate.Mapping) string {
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

// stackReach is how far from the stack pointer an access of a function's frame
// may lie: a large local array, a probe of the stack.
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
	// The lowest page of the stack lies above the fault; sp may be below it.
	const page = 4096
	for at, n := addr&^(page-1)+page, 0; n < stackReach/page; at, n = at+page, n+1 {
		if above, ok := in.Mapping(at); ok && above.Perm&libstate.Write != 0 {
			return sp < above.Start+2*stackReach && (above.Start <= sp+stackReach)
		} else if ok && above.Perm != 0 {
			return false
		}
	}
	return false
}

func (in *Input) arithmetic() Reason {
	_, words := CodeName(sigFPE, in.Signal.Code)
	if in.Inst != nil && in.Inst.Kind == disasm.Div && in.Signal.Code == 1 {
		if in.divisorNotZero() {
			return Reason{Text: "integer division overflow: the quotient does not fit"}
		}
	}
	return Reason{Text: words}
}

// divisorNotZero tells overflow from division by zero, for which x86 has one
// code.
func (in *Input) divisorNotZero() bool {
	v, ok := in.Regs.Get(in.Inst.Src)
	if !ok || in.Inst.Src == arch.NoReg {
		return false
	}
	if in.Inst.Size > 0 && in.Inst.Size < 8 {
		v &= 1<<(8*in.Inst.Size) - 1
	}
	return v != 0
}

func (in *Input) illegal() Reason {
	if in.Inst != nil && in.Inst.Kind == disasm.Trap {
		return Reason{Text: "trap placed by the compiler or the program (" + in.Inst.Text(disasm.TextOptions{}) + "): code that must not be reached"}
	}
	_, words := CodeName(sigIll, max(in.Signal.Code, 1))
	return Reason{Text: words}
}
