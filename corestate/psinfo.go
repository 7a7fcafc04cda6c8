package corestate

import (
	"bytes"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A ProcessInfo is what NT_PRPSINFO has of a process.
type ProcessInfo struct {
	Name             string // up to 15 bytes of the executable's base name, or as set by the process
	Args             string // up to 79 bytes of the command line, joined by spaces
	State            byte   // as ps prints it: 'R', 'S', 'Z' ...; 0 when not known
	Nice             int
	Flags            uint64 // PF_... of the kernel
	PID, PPID        int
	PGRP, SID        int
	UID, GID         int
	known            bool
	ArgsMayBeCut     bool // Args fills its field
	ExecNameMayBeCut bool // Name fills its field
}

// Sizes of struct elf_prpsinfo (kernel, include/linux/elfcore.h): with 64-bit
// words; with 32-bit words and ids of 16 bits, as on i386, arm and m68k; with
// 32-bit words and ids of 32 bits.
const (
	psInfo64      = 136
	psInfo32Short = 124
	psInfo32Long  = 128
)

const (
	fnameSize  = 16
	psargsSize = 80
)

// processInfo decodes NT_PRPSINFO.
func (c *ELFCore) processInfo() ProcessInfo {
	switch c.os {
	case osNetBSD, osOpenBSD:
		return c.procInfoProcess()
	case osFreeBSD:
		return c.freeBSDProcess()
	}
	var p ProcessInfo
	cur := binbuf.New(c.psinfo, 0, c.big)
	cur.Skip(1)
	p.State = cur.U8()
	cur.Skip(1)
	p.Nice = int(int8(cur.U8()))
	idSize := 4
	switch {
	case len(c.psinfo) >= psInfo64 && c.elf.Class == 64:
		cur.Skip(4)
		p.Flags = cur.U64()
	case len(c.psinfo) >= psInfo32Long:
		p.Flags = uint64(cur.U32())
	case len(c.psinfo) >= psInfo32Short:
		p.Flags = uint64(cur.U32())
		idSize = 2
	default:
		return ProcessInfo{}
	}
	p.UID, p.GID = int(cur.Uint(idSize)), int(cur.Uint(idSize))
	for _, dst := range []*int{&p.PID, &p.PPID, &p.PGRP, &p.SID} {
		*dst = int(int32(cur.U32()))
	}
	p.Name, p.ExecNameMayBeCut = fixedString(cur.Bytes(fnameSize))
	p.Args, p.ArgsMayBeCut = fixedString(cur.Bytes(psargsSize))
	p.Args = strings.TrimRight(p.Args, " ") // each argument's NUL became a space
	p.known = cur.Error == nil
	return p
}

// fixedString returns the text in a field that is padded with NULs, and whether the
// text may have been cut to fit.
func fixedString(field []byte) (string, bool) {
	i := bytes.IndexByte(field, 0)
	if i < 0 {
		return string(field), len(field) > 0
	}
	return string(field[:i]), i == len(field)-1
}

// ProcessInfo returns what the core has of the process; false if it has no such note.
func (c *ELFCore) ProcessInfo() (ProcessInfo, bool) { return c.process, c.process.known }

// Name returns the process's short name (comm): up to 15 bytes.
func (c *ELFCore) Name() string { return c.process.Name }

// Command returns the start of the process's command line: up to 79 bytes.
func (c *ELFCore) Command() string { return c.process.Args }

// ProcessID returns the process's id; in a core without NT_PRPSINFO, that of its first
// thread.
func (c *ELFCore) ProcessID() int {
	if c.process.PID > 0 {
		return c.process.PID
	}
	if len(c.threads) > 0 && c.os == osLinux {
		return int(c.threads[0].id)
	}
	return 0
}
