package corestate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What the cores of the BSD systems have in common. Their threads' registers have the
// layout of each system's own ptrace.

// A regField is a register in a register block: size bytes at off.
type regField struct {
	reg       arch.Reg
	off, size int
}

// regWords lays registers of size bytes out one after the other. NoReg skips one.
func regWords(off, size int, regs ...arch.Reg) []regField {
	var fields []regField
	for i, r := range regs {
		if r != arch.NoReg {
			fields = append(fields, regField{r, off + i*size, size})
		}
	}
	return fields
}

// bsdMachines are the architectures that bsdRegs knows.
const bsdMachines = "x86-64, i386 and aarch64"

// bsdRegs returns the layout of a thread's general registers; nil if not known.
//
// NetBSD: struct reg of sys/arch/{amd64,i386,aarch64}/include/reg.h. OpenBSD: struct
// reg of sys/arch/{amd64,i386,arm64}/include/reg.h. FreeBSD: struct reg of
// sys/x86/include/reg.h and sys/arm64/include/reg.h.
func bsdRegs(system string, a *arch.Arch) []regField {
	switch a {
	case arch.AMD64:
		return bsdRegsAMD64(system)
	case arch.X86:
		return bsdRegsX86(system)
	case arch.ARM64: // x0 to x30, sp and pc are the same; the status follows
		var regs []arch.Reg
		for r := arch.ARM64X0; r <= arch.ARM64CPSR; r++ {
			regs = append(regs, r)
		}
		return regWords(0, 8, regs...)
	}
	return nil
}

func bsdRegsAMD64(system string) []regField {
	switch system {
	case osNetBSD:
		return regWords(0, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13,
			arch.R14, arch.R15, arch.RBP, arch.RBX, arch.RAX, arch.GS, arch.FS, arch.ES, arch.DS, arch.NoReg, arch.NoReg,
			arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS)
	case osOpenBSD:
		return regWords(0, 8, arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13,
			arch.R14, arch.R15, arch.RBP, arch.RBX, arch.RAX, arch.RSP, arch.RIP, arch.EFLAGS, arch.CS, arch.SS, arch.DS, arch.ES,
			arch.FS, arch.GS)
	}
	// FreeBSD packs the trap number and the segments into three words.
	fields := regWords(0, 8, arch.R15, arch.R14, arch.R13, arch.R12, arch.R11, arch.R10, arch.R9, arch.R8, arch.RDI, arch.RSI,
		arch.RBP, arch.RBX, arch.RDX, arch.RCX, arch.RAX)
	fields = append(fields, regField{arch.FS, 124, 2}, regField{arch.GS, 126, 2}, regField{arch.ES, 132, 2}, regField{arch.DS, 134, 2})
	return append(fields, regWords(136, 8, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS)...)
}

func bsdRegsX86(system string) []regField {
	if system == osFreeBSD { // the eighth is the kernel's stack, the thirteenth and the next are the trap
		return regWords(0, 4, arch.X86FS, arch.X86ES, arch.X86DS, arch.EDI, arch.ESI, arch.EBP, arch.NoReg, arch.EBX, arch.EDX,
			arch.ECX, arch.EAX, arch.NoReg, arch.NoReg, arch.EIP, arch.X86CS, arch.X86EFLAGS, arch.ESP, arch.X86SS, arch.X86GS)
	}
	return regWords(0, 4, arch.EAX, arch.ECX, arch.EDX, arch.EBX, arch.ESP, arch.EBP, arch.ESI, arch.EDI, arch.EIP, arch.X86EFLAGS,
		arch.X86CS, arch.X86SS, arch.X86DS, arch.X86ES, arch.X86FS, arch.X86GS)
}

// bsdRegisters decodes a register block of one of the BSD systems.
func (c *ELFCore) bsdRegisters(block []byte) (arch.RegSet, error) {
	var s arch.RegSet
	fields := bsdRegs(c.os, c.arch)
	for _, f := range fields {
		cur := binbuf.New(block, f.off, c.big)
		if v := cur.Uint(f.size); cur.Error == nil {
			s.Set(f.reg, v)
		}
	}
	pc, ok := s.Get(c.arch.PC)
	if !ok {
		end := 0
		for _, f := range fields {
			end = max(end, f.off+f.size)
		}
		return s, fmt.Errorf("%s register block has %d bytes, want %d", c.os, len(block), end)
	}
	s.Set(c.arch.PC, c.arch.CodeAddress(pc))
	return s, nil
}

// lwpOf returns the thread in the name of a thread's note, "NetBSD-CORE@17",
// "OpenBSD@17".
func lwpOf(owner, system string) (unwind.ThreadID, bool) {
	digits, ok := strings.CutPrefix(owner, system+"@")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	return unwind.ThreadID(n), err == nil
}

// scanLWP records a note of one thread, and returns the thread. The first note of a
// thread adds it.
func (c *ELFCore) scanLWP(pos notePos, id unwind.ThreadID) *thread {
	i, known := c.byID[id]
	if !known {
		c.addThread(thread{id: id, pos: pos})
		i = c.byID[id]
	}
	return &c.threads[i]
}

// procInfo has the offsets of the fields, in bytes, in NetBSD's and OpenBSD's
// descriptions of a process. Both begin with their version and size.
type procInfo struct {
	signo, code, pid, uid, gid, name int
	siglwp                           int // the thread that the signal was for; -1 if there is no such field
}

// netBSDProcInfo is struct netbsd_elfcore_procinfo of NetBSD's sys/exec_elf.h;
// openBSDProcInfo struct elfcore_procinfo of OpenBSD's.
var (
	netBSDProcInfo  = procInfo{signo: 8, code: 12, pid: 80, uid: 96, gid: 108, name: 124, siglwp: 156}
	openBSDProcInfo = procInfo{signo: 8, code: 12, pid: 32, uid: 48, gid: 60, name: 72, siglwp: -1}
)

const procInfoName = 32 // bytes of the name

func (c *ELFCore) procInfo() *procInfo {
	if c.os == osOpenBSD {
		return &openBSDProcInfo
	}
	return &netBSDProcInfo
}

// procInfoSignal returns the signal that ended a process of NetBSD or OpenBSD.
func (c *ELFCore) procInfoSignal() SignalInfo {
	at := c.procInfo()
	cur := binbuf.New(c.psinfo, at.signo, c.big)
	s := SignalInfo{Signo: int(int32(cur.U32()))}
	cur.Seek(at.code)
	if code := int(int32(cur.U32())); cur.Error == nil {
		s.Code = code
	}
	if s.Signo != 0 {
		s.Source = CurSig
	}
	return s
}

func (c *ELFCore) procInfoProcess() ProcessInfo {
	var p ProcessInfo
	at := c.procInfo()
	cur := binbuf.New(c.psinfo, at.pid, c.big)
	for _, dst := range []*int{&p.PID, &p.PPID, &p.PGRP, &p.SID, &p.UID} {
		*dst = int(int32(cur.U32()))
	}
	cur.Seek(at.gid)
	p.GID = int(cur.U32())
	cur.Seek(at.name)
	p.Name, p.ExecNameMayBeCut = fixedString(cur.Bytes(procInfoName))
	p.known = cur.Error == nil
	return p
}

// lastSharedAux is the highest key of the auxiliary vector with the same meaning on all
// systems: the program's entry point.
const lastSharedAux = libstate.ATEntry

// auxExecName is the key of the executed file's name: FreeBSD's AT_EXECPATH, NetBSD's
// AT_SUN_EXECNAME.
var auxExecName = lazy.Value[map[string]uint64]{Make: func() map[string]uint64 {
	return map[string]uint64{osFreeBSD: 15, osNetBSD: 2014}
}}

// bsdAuxv keeps the entries of an auxiliary vector that mean the same as on Linux. The
// other keys are each BSD system's own.
func (c *ELFCore) bsdAuxv(all libstate.Auxv) libstate.Auxv {
	var out libstate.Auxv
	for _, e := range all {
		switch name, ok := auxExecName.Get()[c.os]; {
		case e.Key <= lastSharedAux:
			out = append(out, e)
		case ok && e.Key == name:
			out = append(out, libstate.AuxEntry{Key: libstate.ATExecFn, Value: e.Value})
		}
	}
	return out
}
