package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// NetBSD's cores (core(5), sys/exec_elf.h) have notes named "NetBSD-CORE" for the
// process and "NetBSD-CORE@<lwp>" for each of its threads. The latter's types from 32
// on are the requests of the machine's ptrace that return the same bytes.
const (
	netBSDOwner     = "NetBSD-CORE"
	netBSDProcNote  = 1
	netBSDAuxv      = 2
	netBSDLWPStatus = 24
)

// Offsets in struct ptrace_lwpstatus (sys/ptrace.h), in bytes.
const (
	nbLWPName     = 36
	nbLWPNameSize = 20
	nbLWPPrivate  = 56 // the thread pointer
)

// netBSDGetRegs returns the type of the note with the general registers, PT_GETREGS of
// the machine's ptrace. That of the floating-point registers, PT_GETFPREGS, is two
// higher. Machines with a request to step a thread (x86, arm) have that before it.
func netBSDGetRegs(machine uint16) uint32 {
	switch machine {
	case elffile.EM_AARCH64, elffile.EM_ALPHA, elffile.EM_SPARCV9, emSPARC, emSPARC32P:
		return 32
	}
	return 33
}

func (c *ELFCore) scanNetBSD(pos notePos, owner string, n elffile.Note) {
	if owner == netBSDOwner {
		switch n.Type {
		case netBSDProcNote:
			keepFirst(&c.psinfo, n.Desc)
			cur := binbuf.New(n.Desc, netBSDProcInfo.siglwp, c.big)
			c.siglwp = unwind.ThreadID(cur.U32())
		case netBSDAuxv:
			keepFirst(&c.auxv, n.Desc)
		}
		return
	}
	lwp, ok := lwpOf(owner, netBSDOwner)
	if !ok {
		return
	}
	t := c.scanLWP(pos, lwp)
	switch n.Type {
	case netBSDGetRegs(c.elf.Machine):
		keepFirst(&t.status, n.Desc)
	case netBSDLWPStatus:
		cur := binbuf.New(n.Desc, nbLWPName, c.big)
		t.name, _ = fixedString(cur.Bytes(nbLWPNameSize))
		if p := cur.Uint(c.wordSize); cur.Error == nil {
			t.private = p
		}
	}
}

// addThreadPointer adds the thread pointer in NetBSD's lwpstatus: the base of a segment
// on x86.
func (c *ELFCore) addThreadPointer(t *thread, regs *arch.RegSet) {
	switch {
	case t.private == 0:
	case c.arch == arch.AMD64:
		regs.Set(arch.FSBase, t.private)
	case c.arch == arch.X86:
		regs.Set(arch.X86GSBase, t.private)
	}
}
