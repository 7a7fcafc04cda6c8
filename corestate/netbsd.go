package corestate

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/binbuf"
	"github.com/corewalk/corewalk/internal/elffile"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// NetBSD's cores (core(5), sys/exec_elf.h): notes of "NetBSD-CORE" for the
// process and of "NetBSD-CORE@<lwp>" for each of its threads, whose types from 32
// on are the requests of the machine's ptrace that answer the same bytes.
const (
	netBSDOwner    = "NetBSD-CORE"
	netBSDProcInfo = 1
	netBSDAuxv     = 2
	// netBSDRegsAMD64 is PT_GETREGS of amd64; other machines count from 32 or 33.
	netBSDRegsAMD64   = 33
	netBSDFPRegsAMD64 = 35
)

// Offsets in struct netbsd_elfcore_procinfo, in bytes.
const (
	nbSigno  = 8
	nbCode   = 12
	nbPID    = 80
	nbUID    = 96
	nbGID    = 108
	nbName   = 124
	nbSigLWP = 156
)

func (c *ELFCore) scanNetBSD(pos notePos, owner string, n elffile.Note) {
	if owner == netBSDOwner {
		switch n.Type {
		case netBSDProcInfo:
			keepFirst(&c.psinfo, n.Desc)
			cur := binbuf.New(n.Desc, nbSigLWP, c.big)
			c.siglwp = unwind.ThreadID(cur.U32())
		case netBSDAuxv:
			keepFirst(&c.auxv, n.Desc)
		}
		return
	}
	lwp, ok := netBSDThread(owner)
	if !ok {
		return
	}
	i, known := c.byID[lwp]
	if !known {
		c.addThread(thread{id: lwp, pos: pos})
		i = c.byID[lwp]
	}
	if c.elf.Machine == elffile.EM_X86_64 && n.Type == netBSDRegsAMD64 {
		keepFirst(&c.threads[i].status, n.Desc)
	}
}

func (c *ELFCore) netBSDSignal() SignalInfo {
	cur := binbuf.New(c.psinfo, nbSigno, c.big)
	s := SignalInfo{Signo: int(int32(cur.U32()))}
	if code := int(int32(cur.U32())); cur.Error == nil {
		s.Code = code
	}
	if s.Signo != 0 {
		s.Source = CurSig
	}
	return s
}

func (c *ELFCore) netBSDProcess() ProcessInfo {
	var p ProcessInfo
	cur := binbuf.New(c.psinfo, nbPID, c.big)
	for _, dst := range []*int{&p.PID, &p.PPID, &p.PGRP, &p.SID, &p.UID} {
		*dst = int(int32(cur.U32()))
	}
	cur.Seek(nbGID)
	p.GID = int(cur.U32())
	cur.Seek(nbName)
	p.Name, p.ExecNameMayBeCut = fixedString(cur.Bytes(nbSigLWP - nbName))
	p.known = cur.Error == nil
	return p
}

// netBSDAMD64 is the order of struct reg's 64-bit words (NetBSD,
// sys/arch/amd64/include/frame_regs.h). NoReg: the trap's number and error code.
var netBSDAMD64 = [...]arch.Reg{
	arch.RDI, arch.RSI, arch.RDX, arch.RCX, arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15,
	arch.RBP, arch.RBX, arch.RAX, arch.GS, arch.FS, arch.ES, arch.DS, arch.NoReg, arch.NoReg,
	arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS,
}

func netBSDRegisters(block []byte) (arch.RegSet, error) {
	var s arch.RegSet
	cur := binbuf.New(block, 0, false)
	for _, r := range netBSDAMD64 {
		v := cur.U64()
		if cur.Error != nil {
			break
		}
		s.Set(r, v)
	}
	if !s.Valid.Has(arch.RIP) {
		return s, fmt.Errorf("NetBSD register block of %d bytes: %d wanted", len(block), 8*len(netBSDAMD64))
	}
	return s, nil
}
