// Package corebuild makes core files and ELF headers in memory for tests, of both classes
// and byte orders. It checks nothing; a test that needs a damaged file damages it. Package
// corewrite lays out the files; this package makes up their contents.
package corebuild

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Note types that tests use most.
const (
	PRStatus = corewrite.PRStatus
	FPRegSet = corewrite.FPRegSet
	PRPSInfo = corewrite.PRPSInfo
	Auxv     = corewrite.Auxv
	File     = corewrite.File
	SigInfo  = corewrite.SigInfo
	XState   = corewrite.XState
)

// A Core is a core file being built. Its fields may be changed before Bytes is called.
type Core struct{ corewrite.Core }

// New returns a core of 64-bit little-endian x86-64 Linux.
func New() *Core {
	c := New32(elffile.EM_X86_64, binary.LittleEndian)
	c.Class = 64
	return c
}

// New32 returns a core of a 32-bit machine.
func New32(machine uint16, order binary.ByteOrder) *Core {
	return &Core{corewrite.Core{Class: 32, Order: order, Type: elffile.ET_CORE, Machine: machine, NoteAlign: 4}}
}

// Status makes the descriptor of an NT_PRSTATUS note. Everything but the signal, the thread
// id and the register block is zero.
func (c *Core) Status(tid int, signal int, regs []byte) []byte {
	return c.Core.Status(corewrite.Status{TID: tid, Signal: signal, Regs: regs})
}

// Thread adds an NT_PRSTATUS note.
func (c *Core) Thread(tid int, signal int, regs []byte) {
	c.Note("CORE", PRStatus, c.Status(tid, signal, regs))
}

// userRegs is the order of registers in x86-64's struct user_regs_struct.
var userRegs = [...]arch.Reg{
	arch.R15, arch.R14, arch.R13, arch.R12, arch.RBP, arch.RBX, arch.R11, arch.R10, arch.R9, arch.R8, arch.RAX, arch.RCX,
	arch.RDX, arch.RSI, arch.RDI, arch.OrigRAX, arch.RIP, arch.CS, arch.EFLAGS, arch.RSP, arch.SS, arch.FSBase, arch.GSBase,
	arch.DS, arch.ES, arch.FS, arch.GS,
}

// AMD64Regs makes an x86-64 register block; registers not in values are zero.
func AMD64Regs(values map[arch.Reg]uint64) []byte {
	b := make([]byte, 8*len(userRegs))
	for i, r := range userRegs {
		binary.LittleEndian.PutUint64(b[8*i:], values[r])
	}
	return b
}

// PSInfo adds an NT_PRPSINFO note of a running process.
func (c *Core) PSInfo(pid int, name, args string) {
	c.Core.PSInfo(corewrite.PSInfo{State: 'R', Flags: 0x400600, UID: 1000, GID: 1001, PID: pid, PPID: pid - 1, PGRP: pid, SID: 1, Name: name, Args: args})
}

// SignalInfo adds an NT_SIGINFO note; union holds the bytes of siginfo_t's union.
func (c *Core) SignalInfo(signo, code int, union []byte) {
	b := c.Ints(uint32(signo), 0, uint32(int32(code)))
	if c.Class == 64 {
		b = append(b, 0, 0, 0, 0)
	}
	b = append(b, union...)
	c.Note("CORE", SigInfo, append(b, make([]byte, max(0, 128-len(b)))...))
}

// Ints encodes 32-bit integers.
func (c *Core) Ints(vs ...uint32) []byte {
	b := make([]byte, 4*len(vs))
	for i, v := range vs {
		c.Order.PutUint32(b[4*i:], v)
	}
	return b
}

// A Mapping is one entry of NT_FILE; Offset is in bytes.
type Mapping = corewrite.Mapping
