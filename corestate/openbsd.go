package corestate

import "github.com/corewalk/corewalk/internal/format/elffile"

// OpenBSD's cores (sys/exec_elf.h) have notes named "OpenBSD" for the process and
// "OpenBSD@<thread>" for each of its threads; the thread that died is the first.
const (
	openBSDProcNote = 10
	openBSDAuxv     = 11
	openBSDRegs     = 20
	openBSDFPRegs   = 21
	openBSDPACMask  = 24
)

func (c *ELFCore) scanOpenBSD(pos notePos, owner string, n elffile.Note) {
	if owner == osOpenBSD {
		switch n.Type {
		case openBSDProcNote:
			keepFirst(&c.psinfo, n.Desc)
		case openBSDAuxv:
			keepFirst(&c.auxv, n.Desc)
		}
		return
	}
	tid, ok := lwpOf(owner, osOpenBSD)
	if !ok {
		return
	}
	if t := c.scanLWP(pos, tid); n.Type == openBSDRegs {
		keepFirst(&t.status, n.Desc)
	}
}
