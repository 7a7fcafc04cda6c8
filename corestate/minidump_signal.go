package corestate

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An ExceptionInfo has the numbers of the exception that stopped the process. Their
// meaning depends on the operating system.
type ExceptionInfo struct {
	Thread  unwind.ThreadID
	Code    uint32
	Flags   uint32
	Address arch.Address
	Params  []uint64
	// Assertion is the failed expression, if a handler of the C library was called.
	Assertion string
}

// Exception returns the exception that the dump was written for; false if there was none,
// and somebody requested the dump.
func (d *Minidump) Exception() (ExceptionInfo, bool) {
	e := d.file.Exception
	if e == nil {
		return ExceptionInfo{}, false
	}
	info := ExceptionInfo{Thread: unwind.ThreadID(e.ThreadID), Code: e.Code, Flags: e.Flags, Address: e.Address, Params: e.Params}
	if d.file.PCBits() == 32 {
		info.Address &= 1<<32 - 1 // writers extend the sign
	}
	if a := d.file.Assertion; a != nil {
		info.Assertion = a.Expression
	}
	return info, true
}

// dumpRequested is what Breakpad writes in place of a signal if there was none.
const dumpRequested = 0xffffffff

// Signal returns the signal that ended a process of Linux; the zero value for dumps of
// other systems, and for dumps that were requested.
//
// Crashpad always writes si_code. Old Breakpad clients wrote 0 instead, which could as
// well be SI_USER: the Source is then CurSig, even if there is an address. LLDB writes no
// code, and an address only in its description.
func (d *Minidump) Signal() SignalInfo {
	e, ok := d.Exception()
	if !ok || !d.file.System.Platform.Linux() || e.Code == 0 || e.Code == dumpRequested {
		return SignalInfo{}
	}
	s := SignalInfo{Source: FullSigInfo, Signo: int(e.Code), Code: int(int32(e.Flags))}
	crashpad := d.file.Crashpad != nil
	if s.Code == 0 && !crashpad {
		s.Source = CurSig
	}
	sig := signalNumbersOf(d.arch)
	fault := false
	switch s.Signo {
	case sig.ill, sig.trap, sig.bus, sig.fpe, sig.segv:
		fault = true
	}
	switch {
	case s.Code == 0 && !crashpad && fault:
		s.Addr, s.HasAddr = d.faultAddress(s.Signo == sig.segv || s.Signo == sig.bus)
	case s.Code == 0 && !crashpad && d.atPC(e.Address):
	case d.file.Exception.Description != "":
	case fault && s.Code > 0:
		s.HasAddr, s.Addr = true, e.Address
	case s.Code > 0 && s.Signo == sig.sys && len(e.Params) >= 2:
		s.HasSyscall, s.CallAddr, s.Syscall, s.AuditArch = true, e.Address, int(int32(e.Params[0])), uint32(e.Params[1])
	case s.Code > 0:
	case fault || !crashpad:
		// The sender's pid and uid are where other signals have si_addr.
		s.HasSender, s.PID, s.UID = true, int(int32(e.Address)), int(e.Address>>32)
	case len(e.Params) >= 2:
		// Of signals that have no address Crashpad writes them as parameters.
		s.HasSender, s.PID, s.UID = true, int(int32(e.Params[0])), int(int32(e.Params[1]))
	}
	return s
}

// saidAddress finds the address in LLDB's description of a signal: "fault address: 0x18" or "fault address=0x18".
func saidAddress(said string) (addr arch.Address, known bool) {
	_, text, _ := strings.Cut(said, "fault address")
	text, found := strings.CutPrefix(strings.TrimLeft(text, ":= "), "0x")
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
	if end >= 0 {
		text = text[:end]
	}
	n, err := strconv.ParseUint(text, 16, 64)
	if !found || err != nil {
		return 0, false
	}
	return n, true
}

// faultAddress returns the address of the fault in a dump that has no si_code, if it is there: LLDB stores where the thread was. Of a signal of
// memory it is not if code can run there, as the fault was then at what an instruction accessed.
func (d *Minidump) faultAddress(access bool) (addr arch.Address, known bool) {
	if said := d.file.Exception.Description; said != "" {
		return saidAddress(said)
	}
	info, _ := d.Exception()
	if mp, mapped := d.MappingAt(info.Address); access && mapped && mp.Perm&libstate.Exec != 0 && d.atPC(info.Address) {
		return 0, false
	}
	return info.Address, true
}

// atPC reports whether the exception's thread was at an address.
func (d *Minidump) atPC(addr arch.Address) bool {
	regs, err := d.Registers(unwind.ThreadID(d.file.Exception.ThreadID))
	if err != nil {
		return false
	}
	pc, ok := regs.Get(d.arch.PC)
	return ok && pc == addr
}

// signalNumbersOf is signalNumbers for an architecture, which may be nil.
func signalNumbersOf(a *arch.Arch) sigNumbers { return signalNumbers(signalMachine(a)) }

// signalMachine is an ELF machine whose signals are those of an architecture, which may
// be nil: 0 where they are the usual ones.
func signalMachine(a *arch.Arch) uint16 {
	if a == nil {
		return 0
	}
	switch a.Family {
	case arch.FamilyMIPS:
		return elffile.EM_MIPS
	case arch.FamilySPARC:
		return elffile.EM_SPARCV9
	case arch.FamilyAlpha:
		return elffile.EM_ALPHA
	case arch.FamilyHPPA:
		return elffile.EM_PARISC
	}
	return 0
}
