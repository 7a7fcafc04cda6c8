package reason

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Delivery is what is known of a signal for which a handler on a stack was called. Only for some layouts the kernel
// writes the signal's number whatever the handler asked for: of the others it has to be proved.
type Delivery struct {
	Saved steppers.SavedSignal
	// Info is what lies where the siginfo_t is, with HasInfo; Errno is its errno. Zeroed says that the end of it, which has no
	// fields, is zero, as recent kernels write it.
	Info   Signal
	Errno  int
	Zeroed bool
	// Asked says that the handler is one that is known to ask for a siginfo_t.
	Asked bool
	// Blocked are the signals that are blocked while the handler runs, bit n-1 for signal n, with HasBlocked.
	Blocked    uint64
	HasBlocked bool
	// Argument is the handler's first argument if the handler has not run yet; 0 if it has.
	Argument int
}

// lastSignal is the highest number of a signal of Linux for which handlers are looked for by proof.
const lastSignal = 64

// Delivered returns the signal of a delivery, and how sure its number is: report.Certain, report.Likely or "" for not
// known. Code, sender and address are there if they are proved. in describes what the signal interrupted: registers,
// instruction and memory. Of its Signal, Numbers, OwnPID and TID are needed.
func Delivered(in Input, d Delivery) (Signal, string) {
	own := in.Signal
	d.Info.Numbers, d.Info.OwnPID, d.Info.TID = own.Numbers, own.OwnPID, own.TID
	numbered := func(n int) Signal {
		s := Signal{Number: n, Numbers: own.Numbers, OwnPID: own.OwnPID, TID: own.TID}
		if s.linux().Number == sigBus && in.made(d.Saved.Trap) { // the page fault that no page ended
			s.Addr, s.HasAddr = d.Saved.Trap.Addr, true
		}
		return s
	}
	fault, sure := in.faulted(d.Saved.Trap)
	fault.OwnPID, fault.TID = own.OwnPID, own.TID
	switch n := d.Saved.Number; {
	case n == 0 || !d.Saved.Sure && !d.Asked:
	case d.Info.Number == n && d.Info.plausible(d.Errno):
		return d.Info, report.Certain
	case fault.Number == n && sure != "":
		return fault, report.Certain
	default:
		return numbered(n), report.Certain
	}
	newly := d.newly()
	other := func(n int) bool { return newly != 0 && newly != bit(n) } // something else was blocked for the handler
	maybe := d.Saved.HasInfo && d.Info.Number <= lastSignal && d.Info.plausible(d.Errno)
	switch {
	case maybe && in.made(d.Saved.Trap) && d.Info.faultAt(d.Saved.Trap.Addr):
		return d.Info, report.Certain
	case sure != "" && maybe && in.agrees(fault, d.Info, d.Saved.Trap.Kind) && !other(fault.Number):
		return d.Info, sure
	case sure == report.Certain && !other(fault.Number):
		return fault, sure
	case d.Argument > 0 && d.Argument <= lastSignal:
		return numbered(d.Argument), report.Certain
	}
	if n := in.raised(); n != 0 && (!d.Saved.HasBlocked || d.Saved.Blocked&bit(n) == 0) {
		if newly&bit(n) != 0 {
			return numbered(n), report.Certain
		}
		return numbered(n), report.Likely
	}
	single := bits.OnesCount64(newly) == 1
	switch n := d.Info.Number; {
	case maybe && d.Zeroed && !d.Info.faults() && newly == bit(n):
		return d.Info, report.Certain
	case maybe && d.Zeroed && !d.Info.faults() && (newly == 0 || newly&bit(n) != 0):
		return d.Info, report.Likely
	case single:
		return numbered(bits.TrailingZeros64(newly) + 1), report.Likely
	case sure != "" && !d.Saved.HasInfo && !d.Saved.HasBlocked: // nothing else could say so
		return fault, sure
	case fault.Number != 0 && newly&bit(fault.Number) != 0:
		return fault, report.Likely
	case in.pageless(d.Saved.Trap) && newly == 0:
		return numbered(own.Numbers.from(sigBus)), report.Likely
	}
	return Signal{}, ""
}

// ByProcess reports whether what lies where the siginfo_t is says that a process sent the signal.
func (d *Delivery) ByProcess() bool {
	return d.Info.plausible(d.Errno) && fromProcess(d.Info.linux().Code)
}

func bit(signo int) uint64 { return 1 << (uint(signo-1) & 63) }

// newly returns the signals that are blocked since the handler was called: that of the delivery, unless its handler was
// installed with SA_NODEFER, and those that the program named for it; 0 if that is not known.
func (d *Delivery) newly() uint64 {
	if !d.HasBlocked || !d.Saved.HasBlocked {
		return 0
	}
	return d.Blocked &^ d.Saved.Blocked
}

// plausible reports whether a siginfo_t can be one: the code is one that its signal has, and a sender is there if the
// code means one.
func (s *Signal) plausible(errno int) bool {
	l := s.linux()
	_, words := CodeName(l.Number, l.Code)
	switch {
	case !s.HasInfo || l.Number <= 0 || words == "":
		return false
	case fromProcess(l.Code):
		return errno == 0 && s.PID > 0
	}
	return errno == 0 || l.Number == sigSys
}

// faults reports whether the code says that the processor raised the signal.
func (s *Signal) faults() bool {
	l := s.linux()
	return Faults(LinuxSignals, l.Number) && l.Code > 0
}

// faultAt reports whether a siginfo_t is that of a fault of memory at an address.
func (s *Signal) faultAt(addr uint64) bool {
	n := s.linux().Number
	return (n == sigSegv || n == sigBus) && s.faults() && s.HasAddr && s.Addr == addr
}

// agrees reports whether a siginfo_t says the same as the exception of which fault is the signal.
func (in *Input) agrees(fault, info Signal, kind steppers.TrapKind) bool {
	i := info.linux()
	pc, _ := in.Regs.Get(in.Arch.PC)
	switch {
	case i.Number != fault.linux().Number || !info.faults():
		return false
	case fault.HasAddr:
		return i.HasAddr && i.Addr == fault.Addr
	case i.Code == siKernel:
		return kind == steppers.TrapProtection || kind == steppers.TrapBreakpoint
	}
	return i.HasAddr && i.Addr == pc && (kind != steppers.TrapDivide || i.Code == fpeIntDiv)
}

// faulted returns the signal that the exception in a signal frame raises, and how sure it is that the instruction raised
// it: the exception may be one that the thread had earlier.
func (in *Input) faulted(t steppers.Trap) (s Signal, confidence string) {
	switch t.Kind {
	case steppers.TrapAccess:
		s.Number = sigSegv
		s.Addr, s.HasAddr = t.Addr, t.HasAddr
		if t.HasAddr {
			confidence = in.accessed(s, &t)
		} else if r := in.as(s); r.HasAddr && !r.unmatched && !r.bad() { // the one access of the instruction, which cannot succeed
			s.Addr, s.HasAddr, confidence = r.Addr, true, report.Likely
		}
	case steppers.TrapProtection:
		s.Number = sigSegv
		s.Code, s.HasInfo = siKernel, true
		if r := in.as(s); !r.bad() {
			confidence = report.Certain
		}
	case steppers.TrapInstruction:
		s.Number = sigIll
		confidence = in.refusedHere()
	case steppers.TrapDivide:
		if kind, _ := in.division(); kind != "" {
			s.Number, confidence = sigFPE, report.Certain
		}
	case steppers.TrapBreakpoint:
		s.Number = sigTrap
		if pc, ok := in.Regs.Get(in.Arch.PC); ok && in.codeBefore(pc, []byte{0xcc}) {
			s.Code, s.HasInfo = siKernel, true
			confidence = report.Certain
		}
	case steppers.TrapFloat:
		s.Number = sigFPE
	}
	s.Number, s.Numbers = in.Signal.Numbers.from(s.Number), in.Signal.Numbers
	if s.Number <= 0 {
		return Signal{}, ""
	}
	return s, confidence
}

// as explains a signal of LinuxSignals of the instruction.
func (in *Input) as(s Signal) Reason {
	raw := *in
	raw.Signal = s
	return raw.why()
}

// accessed returns how sure it is that the instruction made the access for which a page fault raised SIGSEGV: it touches
// the address, and the memory map does not allow it. With a map that allows it, the signal may have been SIGBUS.
func (in *Input) accessed(s Signal, t *steppers.Trap) string {
	r := in.as(s)
	wrong := t.Write && r.Access != "" && r.Access != report.AccessWrite || t.Read && r.Access == report.AccessWrite
	switch {
	case wrong && !in.readsToo():
		return ""
	case r.unmatched && in.Inst != nil && !slices.ContainsFunc(in.accesses(), func(a disasm.Access) bool { return !a.Known }):
		return "" // it accesses other addresses, or none
	case r.unmatched:
		return report.Likely
	case !in.touches(&r, t.Addr) || r.bad():
		return ""
	}
	return report.Certain
}

// readsToo reports whether the instruction reads and writes the same memory: the processor may report either.
func (in *Input) readsToo() bool {
	return slices.ContainsFunc(in.accesses(), func(a disasm.Access) bool { return a.Read && a.Write })
}

// made reports whether the exception is an access that the instruction makes.
func (in *Input) made(t steppers.Trap) bool {
	if t.Kind != steppers.TrapAccess {
		return false
	}
	s := Signal{Number: sigSegv, Addr: t.Addr, HasAddr: true}
	r := in.as(s)
	return r.HasAddr && !r.unmatched && in.touches(&r, t.Addr)
}

// pageless reports whether the exception is an access that the instruction makes to the page of a file of which there is
// nothing in the dump: the file may have no such page, if the memory map allows the access.
func (in *Input) pageless(t steppers.Trap) bool {
	m, _ := in.mapping(t.Addr)
	return in.made(t) && m.Path != "" && (in.Bytes == nil || in.Bytes(t.Addr, make([]byte, 1)) == 0)
}

// touches reports whether the access of a reason is at the address.
func (in *Input) touches(r *Reason, addr uint64) bool {
	return in.pointerBits(addr-r.Addr) < uint64(max(r.AccessSize, 1))
}

// refusedHere returns how sure it is that the processor refused the instruction as illegal.
func (in *Input) refusedHere() string {
	pc, _ := in.Regs.Get(in.Arch.PC)
	var code [1]byte
	switch {
	case in.Inst == nil && in.Bytes != nil && in.Bytes(pc, code[:]) == 1:
		return report.Likely
	case in.Inst != nil && in.Inst.Kind == disasm.Trap:
		return report.Certain
	}
	return ""
}

// codeBefore reports whether code lies right before an address.
func (in *Input) codeBefore(at uint64, code []byte) bool {
	buf := make([]byte, len(code))
	return in.Bytes != nil && in.Bytes(at-uint64(len(code)), buf) == len(code) && bytes.Equal(buf, code)
}

// from returns the number of a signal of LinuxSignals in the numbering; -1 if it has no such signal.
func (n Numbering) from(linux int) int {
	if linux <= 0 || linux >= len(signalNames) {
		return -1
	}
	return slices.Index(numberings.Get()[n].names, signalNames[linux]) + 1
}

// raised returns the signal that the thread sent to itself by the system call that it was returning from, which had
// succeeded; 0 if it was at none. Handlers of such a signal are called before the call returns.
func (in *Input) raised() int {
	s := in.Signal
	if s.OwnPID <= 0 || s.TID <= 0 || in.Arch == nil {
		return 0
	}
	pc, ok := in.Regs.Get(in.Arch.PC)
	if !ok {
		return 0
	}
	is := func(r arch.Reg, want uint64) bool {
		v, ok := in.Regs.Get(r)
		return ok && v == want
	}
	sig := arch.NoReg
	switch in.Arch {
	case arch.AMD64:
		const near = 24 // bytes in which the number of the call is put into eax
		if in.codeBefore(pc, []byte{0x0f, 0x05}) && in.codeNear(pc-2, near, []byte{0xb8, 0xea, 0, 0, 0}) &&
			is(arch.RAX, 0) && is(arch.RDI, uint64(s.OwnPID)) && is(arch.RSI, uint64(s.TID)) {
			sig = arch.RDX
		}
	case arch.ARM64:
		if in.codeBefore(pc, []byte{0x01, 0, 0, 0xd4}) && is(arch.ARM64X0, 0) && is(arch.ARM64X0+1, uint64(s.TID)) && is(arch.ARM64X0+8, 131) {
			sig = arch.ARM64X0 + 2
		}
	case arch.ARM:
		if is(arch.ARMR0, 0) && is(arch.ARMR0+1, uint64(s.TID)) && is(arch.ARMR0+7, 268) && in.codeBefore(pc, []byte{0, 0, 0, 0xef}) {
			sig = arch.ARMR0 + 2
		}
	}
	if v, _ := in.Regs.Get(sig); v <= lastSignal { // 0 if it is not known
		return int(v)
	}
	return 0
}

// codeNear reports whether code lies in the n bytes before an address.
func (in *Input) codeNear(at uint64, n int, code []byte) bool {
	buf := make([]byte, n)
	return in.Bytes != nil && in.Bytes(at-uint64(n), buf) == n && bytes.Contains(buf, code)
}
