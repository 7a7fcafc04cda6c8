package corewrite

import (
	"time"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// Note adds a note.
func (c *Core) Note(owner string, typ uint32, desc []byte) {
	name := append([]byte(owner), 0)
	c.notes = c.append32(c.notes, uint32(len(name)), uint32(len(desc)), typ)
	c.notes = pad(append(c.notes, name...), c.NoteAlign)
	c.notes = pad(append(c.notes, desc...), c.NoteAlign)
}

// RawNotes appends bytes to the notes, unchanged.
func (c *Core) RawNotes(b []byte) { c.notes = append(c.notes, b...) }

// Notes returns the notes added so far.
func (c *Core) Notes() []byte { return c.notes }

// A Status is the content of a NT_PRSTATUS: the state of a thread.
type Status struct {
	TID              int
	Signal           int // pr_cursig
	SigPend, SigHold uint64
	PPID, PGRP, SID  int
	User, System     time.Duration // used so far
	Regs             []byte        // the general registers in the kernel's layout
	HasFPRegs        bool
}

// Status returns the descriptor of a NT_PRSTATUS (struct elf_prstatus).
func (c *Core) Status(s Status) []byte {
	b := c.append32(nil, uint32(s.Signal), 0, 0)
	b = c.append16(b, uint16(s.Signal))
	if c.Machine != elffile.EM_68K { // 68K aligns to two bytes
		b = append(b, 0, 0)
	}
	b = c.Word(b, s.SigPend, s.SigHold)
	b = c.append32(b, uint32(s.TID), uint32(s.PPID), uint32(s.PGRP), uint32(s.SID))
	for _, d := range []time.Duration{s.User, s.System, 0, 0} {
		b = c.Word(b, uint64(d/time.Second), uint64(d%time.Second/time.Microsecond))
	}
	b = append(b, s.Regs...)
	valid := uint32(0)
	if s.HasFPRegs {
		valid = 1
	}
	b = c.append32(b, valid)
	if c.Class == 64 || c.Machine == elffile.EM_X86_64 { // x32 has 64-bit registers
		b = pad(b, 8)
	}
	return b
}

// A PSInfo is the content of a NT_PRPSINFO: the process.
type PSInfo struct {
	State                          byte // as ps prints it
	Nice                           int
	Flags                          uint64
	UID, GID, PID, PPID, PGRP, SID int
	Name                           string // cut to 15 bytes
	Args                           string // cut to 79 bytes
}

// states are the letters of pr_sname, by pr_state.
const states = "RSDTZW"

// psInfo32Long lists the 32-bit machines whose user and group ids have 32 bits here.
var psInfo32Long = []uint16{elffile.EM_PPC, elffile.EM_MIPS, elffile.EM_PARISC, elffile.EM_RISCV}

// PSInfo adds a NT_PRPSINFO (struct elf_prpsinfo).
func (c *Core) PSInfo(p PSInfo) {
	var state, zombie byte
	for i := range states {
		if states[i] == p.State {
			state = byte(i)
		}
	}
	if p.State == 'Z' {
		zombie = 1
	}
	b := []byte{state, p.State, zombie, byte(int8(p.Nice))}
	if c.Class == 64 {
		b = append(b, 0, 0, 0, 0)
	}
	b = c.Word(b, p.Flags)
	long := c.Class == 64
	for _, m := range psInfo32Long {
		long = long || c.Machine == m
	}
	if long {
		b = c.append32(b, uint32(p.UID), uint32(p.GID))
	} else {
		b = c.append16(b, uint16(p.UID), uint16(p.GID))
	}
	b = c.append32(b, uint32(p.PID), uint32(p.PPID), uint32(p.PGRP), uint32(p.SID))
	b = fixed(b, p.Name[:min(len(p.Name), 15)], 16)
	b = fixed(b, p.Args[:min(len(p.Args), 79)], 80)
	c.Note("CORE", PRPSInfo, b)
}

// AuxVector adds a NT_AUXV of alternating keys and values, with its terminator.
func (c *Core) AuxVector(kv ...uint64) {
	c.Note("CORE", Auxv, c.Word(c.Word(nil, kv...), 0, 0))
}

// A Mapping is one entry of NT_FILE; Offset in bytes.
type Mapping struct {
	Start, End, Offset uint64
	Path               string
}

// Files adds a NT_FILE, with offsets in pages of 4096 bytes.
func (c *Core) Files(list ...Mapping) {
	b := c.Word(nil, uint64(len(list)), 4096)
	for _, m := range list {
		b = c.Word(b, m.Start, m.End, m.Offset/4096)
	}
	for _, m := range list {
		b = append(append(b, m.Path...), 0)
	}
	c.Note("CORE", File, b)
}
