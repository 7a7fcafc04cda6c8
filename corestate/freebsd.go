package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FreeBSD's cores (sys/elf_common.h, sys/procfs.h) have notes named "FreeBSD". A
// thread's notes begin with its NT_PRSTATUS; the thread that died is the first.
const (
	freeBSDThrMisc  = 7
	freeBSDProc     = 8
	freeBSDVMMap    = 10
	freeBSDAuxv     = 16
	freeBSDLWPInfo  = 17
	freeBSDSegBases = 0x200
)

// freeBSDLayout has the offsets of the fields of FreeBSD's structures, in bytes, which
// depend on the word size. NT_PROCSTAT notes begin with the size of an element, four
// bytes that are not counted here.
type freeBSDLayout struct {
	cursig, pid, regs    int // struct prstatus
	fname, psargs, psPID int // struct prpsinfo
	siginfo, reason      int // struct ptrace_lwpinfo; _reason in its siginfo
	kiPID, kiUID         int // struct kinfo_proc (sys/user.h)
}

func (c *ELFCore) freeBSDLayout() freeBSDLayout {
	if c.elf.Class == 64 {
		return freeBSDLayout{36, 40, 48, 16, 33, 116, 48, 40, 72, 168}
	}
	return freeBSDLayout{20, 24, 28, 8, 25, 108, 44, 32, 40, 136}
}

const (
	freeBSDName   = 17      // bytes of pr_fname
	freeBSDArgs   = 81      // of pr_psargs
	freeBSDTName  = 20      // of pr_tname
	freeBSDHasSig = 0x20    // PL_FLAG_SI: pl_siginfo holds
	freeBSDFlags  = 8       // of pl_flags
	kveFixed      = 136     // of struct kinfo_vmentry, before its path
	maxFreeBSDMap = 1 << 20 // mappings looked at
)

func (c *ELFCore) scanFreeBSD(pos notePos, n elffile.Note) {
	switch n.Type {
	case ntPRStatus:
		lay := c.freeBSDLayout()
		cur := binbuf.New(n.Desc, lay.cursig, c.big)
		sig, pid := int(int32(cur.U32())), int32(cur.U32())
		if cur.Error != nil {
			c.warnf("NT_PRSTATUS has %d bytes, want %d: a thread is lost", len(n.Desc), lay.regs)
			return
		}
		c.addThread(thread{id: unwind.ThreadID(pid), pos: pos, status: n.Desc, cursig: sig})
	case ntPRPSInfo:
		keepFirst(&c.psinfo, n.Desc)
	case freeBSDAuxv:
		if len(n.Desc) > 4 {
			keepFirst(&c.auxv, n.Desc[4:])
		}
	case freeBSDVMMap:
		keepFirst(&c.fileNote, n.Desc)
	case freeBSDProc:
		keepFirst(&c.kinfoProc, n.Desc)
	case freeBSDThrMisc:
		if i := len(c.threads) - 1; i >= 0 && c.threads[i].name == "" {
			cur := binbuf.New(n.Desc, 0, c.big)
			c.threads[i].name, _ = fixedString(cur.Bytes(min(freeBSDTName, len(n.Desc))))
		}
	}
}

// freeBSDProcess decodes NT_PRPSINFO and NT_PROCSTAT_PROC.
func (c *ELFCore) freeBSDProcess() ProcessInfo {
	var p ProcessInfo
	lay := c.freeBSDLayout()
	cur := binbuf.New(c.psinfo, lay.fname, c.big)
	p.Name, p.ExecNameMayBeCut = fixedString(cur.Bytes(freeBSDName))
	p.Args, p.ArgsMayBeCut = fixedString(cur.Bytes(freeBSDArgs))
	p.known = cur.Error == nil
	if len(c.psinfo) >= lay.psPID+4 { // since version 1.1 of the structure
		cur.Seek(lay.psPID)
		p.PID = int(int32(cur.U32()))
	}
	cur = binbuf.New(c.kinfoProc, 4+lay.kiPID, c.big)
	pid, ppid, pgrp := int(int32(cur.U32())), int(int32(cur.U32())), int(int32(cur.U32()))
	cur.Skip(4) // the terminal's group
	sid := int(int32(cur.U32()))
	cur.Seek(4 + lay.kiUID)
	if uid := int(cur.U32()); cur.Error == nil {
		p.PID, p.PPID, p.PGRP, p.SID, p.UID, p.known = pid, ppid, pgrp, sid, uid, true
	}
	return p
}

// freeBSDSignal returns the signal of a thread. NT_PTLWPINFO has the whole siginfo if
// the thread stopped for one.
func (c *ELFCore) freeBSDSignal(t *thread) SignalInfo {
	s := SignalInfo{Source: CurSig, Signo: t.cursig}
	if t.cursig == 0 {
		return SignalInfo{}
	}
	desc, ok := c.noteOf(t, osFreeBSD, freeBSDLWPInfo)
	if !ok || len(desc) < 4 {
		return s
	}
	desc = desc[4:]
	lay := c.freeBSDLayout()
	cur := binbuf.New(desc, freeBSDFlags, c.big)
	flags := cur.U32()
	cur.Seek(lay.siginfo)
	signo, errno, code := int(int32(cur.U32())), int(int32(cur.U32())), int(int32(cur.U32()))
	pid, uid := int(int32(cur.U32())), int(cur.U32())
	cur.Skip(4) // exit status
	addr := cur.Uint(c.wordSize)
	if cur.Error != nil || flags&freeBSDHasSig == 0 || signo != t.cursig {
		return s
	}
	s.Source, s.Code, s.Errno = FullSigInfo, code, errno
	switch signo {
	case 4, 5, 8, 10, 11: // SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV
		s.HasAddr, s.Addr = code > 0 && code < freeBSDSent, addr
	}
	if !s.HasAddr && code >= freeBSDSent && code != freeBSDByKernel {
		s.HasSender, s.PID, s.UID = true, pid, uid
	}
	return s
}

// Codes of sent signals (sys/signal.h) begin at SI_USER.
const (
	freeBSDSent     = 0x10001
	freeBSDByKernel = 0x10006
)

// freeBSDFiles decodes NT_PROCSTAT_VMMAP: struct kinfo_vmentry of sys/user.h. Each has
// a size of its own, because paths are cut where they end.
func (c *ELFCore) freeBSDFiles() []libstate.Mapping {
	var list []libstate.Mapping
	if len(c.fileNote) < 4 {
		return nil
	}
	rest := c.fileNote[4:]
	for range maxFreeBSDMap {
		cur := binbuf.New(rest, 0, c.big)
		size := int(int32(cur.U32()))
		if cur.Error != nil || size < kveFixed || size > len(rest) {
			break
		}
		cur.Skip(4) // type
		m := libstate.Mapping{Start: cur.U64(), End: cur.U64(), Offset: cur.U64()}
		if m.Path, _ = fixedString(rest[kveFixed:size]); m.Path != "" && m.End > m.Start {
			list = append(list, m)
		}
		rest = rest[size:]
	}
	if len(rest) > 0 {
		c.warnf("NT_PROCSTAT_VMMAP is damaged after %d mappings of files: its last %d bytes were not read", len(list), len(rest))
	}
	return orderFiles(list)
}

// addFreeBSDSegments adds the bases of the segments fs and gs (NT_X86_SEGBASES), two
// words on amd64 and i386.
func (c *ELFCore) addFreeBSDSegments(t *thread, regs *arch.RegSet) {
	desc, ok := c.noteOf(t, osFreeBSD, freeBSDSegBases)
	if !ok {
		return
	}
	cur := binbuf.New(desc, 0, c.big)
	fs, gs := cur.Uint(c.wordSize), cur.Uint(c.wordSize)
	switch {
	case cur.Error != nil:
	case c.arch == arch.AMD64:
		regs.Set(arch.FSBase, fs)
		regs.Set(arch.GSBase, gs)
	case c.arch == arch.X86:
		regs.Set(arch.X86FSBase, fs)
		regs.Set(arch.X86GSBase, gs)
	}
}
