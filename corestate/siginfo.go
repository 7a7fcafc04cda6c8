package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A SignalSource says how much of a SignalInfo is known.
type SignalSource uint8

const (
	NoSignal    SignalSource = iota // the process did not die of a signal
	CurSig                          // the number only, from NT_PRSTATUS; in a minidump perhaps the address, too
	FullSigInfo                     // NT_SIGINFO
)

// A SignalInfo is the signal that ended a process, in numbers. What they mean depends on
// the machine and the operating system.
type SignalInfo struct {
	Source SignalSource
	Signo  int // 0 for none
	Code   int // si_code; 0 when only the number is known
	Errno  int

	HasAddr bool         // SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP raised by a fault
	Addr    arch.Address // the address that faulted
	AddrLSB int          // SIGBUS of broken memory: how many low bits of Addr do not count

	HasBounds    bool // SEGV_BNDERR
	Lower, Upper arch.Address
	HasPKey      bool // SEGV_PKUERR
	PKey         uint32

	HasSender bool // sent by kill and the like
	PID       int  // who sent it; 0 is the kernel, or outside the pid namespace
	UID       int
	HasValue  bool // sent by sigqueue, a timer or a message queue
	Value     uint64

	HasSyscall bool // SIGSYS
	CallAddr   arch.Address
	Syscall    int
	AuditArch  uint32 // AUDIT_ARCH_...
}

// sigNumbers are the signals whose siginfo has more than a sender. Some machines use
// other numbers for them.
type sigNumbers struct{ ill, trap, bus, fpe, segv, chld, sys, stop int }

func signalNumbers(machine uint16) sigNumbers {
	switch machine {
	case elffile.EM_MIPS, emMIPSRS3:
		return sigNumbers{4, 5, 10, 8, 11, 18, 12, 23}
	case emSPARC, emSPARC32P, elffile.EM_SPARCV9, elffile.EM_ALPHA:
		return sigNumbers{4, 5, 10, 8, 11, 20, 12, 17}
	case elffile.EM_PARISC:
		return sigNumbers{4, 5, 10, 8, 11, 18, 31, 24}
	}
	return sigNumbers{4, 5, 7, 8, 11, 17, 31, 19}
}

// Values of si_code that belong to no particular signal (kernel,
// include/uapi/asm-generic/siginfo.h).
const (
	siUser   = 0
	siQueue  = -1
	siTimer  = -2
	siSigIO  = -5
	siKernel = 0x80

	segvBndErr = 3
	segvPKUErr = 4
	busMCEErrA = 4 // BUS_MCEERR_AR; BUS_MCEERR_AO is the next
)

// Signal returns the signal that ended the process: that of the default thread.
func (c *ELFCore) Signal() SignalInfo {
	s, _ := c.ThreadSignal(unwind.NullThread)
	return s
}

// ThreadSignal returns a thread's signal; false if there is no such thread. Kernels write
// the whole siginfo only for the thread that died.
func (c *ELFCore) ThreadSignal(tid unwind.ThreadID) (SignalInfo, bool) {
	t, ok := c.thread(tid)
	if !ok {
		return SignalInfo{}, false
	}
	switch c.os {
	case osNetBSD, osOpenBSD:
		return c.procInfoSignal(), true
	case osFreeBSD:
		return c.freeBSDSignal(t), true
	}
	if desc, ok := c.noteOf(t, "CORE", ntSigInfo); ok && len(desc) >= 12 {
		s := c.sigInfo(desc)
		if s.Signo == signalNumbers(c.elf.Machine).stop {
			return SignalInfo{}, true // SIGSTOP kills no process: a debugger stopped the thread
		}
		return s, true
	}
	if t.cursig == 0 || t.cursig == signalNumbers(c.elf.Machine).stop {
		return SignalInfo{}, true
	}
	return SignalInfo{Source: CurSig, Signo: t.cursig}, true
}

// sigInfo decodes a siginfo_t. As in the kernel's siginfo_layout (kernel/signal.c), the
// signal and the code decide which member of the union is valid.
func (c *ELFCore) sigInfo(desc []byte) SignalInfo {
	cur := binbuf.New(desc, 0, c.big)
	s := SignalInfo{Source: FullSigInfo, Signo: int(int32(cur.U32()))}
	a, b := int(int32(cur.U32())), int(int32(cur.U32()))
	s.Errno, s.Code = a, b
	if c.elf.Machine == elffile.EM_MIPS || c.elf.Machine == emMIPSRS3 {
		s.Code, s.Errno = a, b
	}
	if s.Signo == 0 {
		s.Source = NoSignal
		return s
	}
	if c.elf.Class == 64 {
		cur.Skip(4) // the union is aligned to pointers
	}
	n := signalNumbers(c.elf.Machine)
	fromKernel := s.Code > siUser && s.Code < siKernel
	switch {
	case fromKernel && (s.Signo == n.segv || s.Signo == n.bus || s.Signo == n.ill || s.Signo == n.fpe || s.Signo == n.trap):
		c.faultInfo(&s, &cur, n)
	case fromKernel && s.Signo == n.sys:
		addr := cur.Uint(c.wordSize)
		num, audit := int(int32(cur.U32())), cur.U32()
		if cur.Error == nil {
			s.HasSyscall, s.CallAddr, s.Syscall, s.AuditArch = true, addr, num, audit
		}
	case s.Code == c.timerCode():
		cur.Skip(8) // timer and overrun
		c.sigValue(&s, &cur)
	case fromKernel && s.Signo == n.chld:
		c.sender(&s, &cur)
	case s.Code == siUser || s.Code < 0 && s.Code != siSigIO:
		c.sender(&s, &cur)
		if s.Code < 0 {
			c.sigValue(&s, &cur)
		}
	}
	return s
}

// timerCode returns the machine's SI_TIMER. MIPS has it and SI_MESGQ the other way
// round (arch/mips/include/uapi/asm/siginfo.h).
func (c *ELFCore) timerCode() int {
	if c.elf.Machine == elffile.EM_MIPS || c.elf.Machine == emMIPSRS3 {
		return siTimer - 1
	}
	return siTimer
}

// faultInfo decodes the union's _sigfault.
func (c *ELFCore) faultInfo(s *SignalInfo, cur *binbuf.Cursor, n sigNumbers) {
	addr := cur.Uint(c.wordSize)
	if cur.Error != nil {
		return
	}
	s.HasAddr, s.Addr = true, addr
	more := *cur
	lsb := more.U16()
	cur.Skip(c.wordSize) // the next fields begin at the next pointer
	switch {
	case s.Signo == n.bus && (s.Code == busMCEErrA || s.Code == busMCEErrA+1) && more.Error == nil:
		s.AddrLSB = int(lsb)
	case s.Signo == n.segv && s.Code == segvBndErr:
		lower, upper := cur.Uint(c.wordSize), cur.Uint(c.wordSize)
		if cur.Error == nil {
			s.HasBounds, s.Lower, s.Upper = true, lower, upper
		}
	case s.Signo == n.segv && s.Code == segvPKUErr:
		if key := cur.U32(); cur.Error == nil {
			s.HasPKey, s.PKey = true, key
		}
	}
}

// sender decodes the pid and the uid at the start of _kill, _rt and _sigchld.
func (c *ELFCore) sender(s *SignalInfo, cur *binbuf.Cursor) {
	pid, uid := int(int32(cur.U32())), int(cur.U32())
	if cur.Error == nil {
		s.HasSender, s.PID, s.UID = true, pid, uid
	}
}

func (c *ELFCore) sigValue(s *SignalInfo, cur *binbuf.Cursor) {
	const siTKill = -6 // sent by tgkill, as abort and raise do: it has no value
	if s.Code == siTKill {
		return
	}
	if v := cur.Uint(c.wordSize); cur.Error == nil {
		s.HasValue, s.Value = true, v
	}
}
