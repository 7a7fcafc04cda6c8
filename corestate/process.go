package corestate

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Registers decodes a thread's general registers.
func (c *ELFCore) Registers(tid unwind.ThreadID) (arch.RegSet, error) {
	t, ok := c.thread(tid)
	if !ok {
		return arch.RegSet{}, fmt.Errorf("thread %d: %w", tid, unwind.ErrNoThread)
	}
	if c.arch == nil {
		return arch.RegSet{}, fmt.Errorf("thread %d: registers of %s: %w", t.id, machineName(c.elf), ErrUnsupportedArch)
	}
	decode := c.arch.DecodeGRegSet
	if c.os != osLinux && c.os != "" {
		decode = c.bsdRegisters
	}
	regs, err := decode(c.registerBlock(t))
	if err != nil {
		return regs, fmt.Errorf("thread %d: %w", t.id, err)
	}
	if block, ok := c.FPRegs(tid); ok {
		c.arch.DecodeFPRegSet(block, &regs)
	}
	switch {
	case c.os == osNetBSD:
		c.addThreadPointer(t, &regs)
	case c.os == osFreeBSD:
		c.addFreeBSDSegments(t, &regs)
	case c.arch == arch.X86:
		c.addSegmentBases(t, &regs)
	}
	return regs, nil
}

// CodeMask returns the bits of a pointer to code that hold a signature (pointer authentication) and not the address; 0 if
// the core does not say which.
func (c *ELFCore) CodeMask() arch.Address { return c.codeMask }

// findCodeMask reads the mask from NT_ARM_PAC_MASK, which has one for data and one for
// code.
func (c *ELFCore) findCodeMask() arch.Address {
	note, ok := c.ThreadNote(unwind.NullThread, "LINUX", ntARMPACMask)
	if !ok || c.elf.Machine != elffile.EM_AARCH64 {
		return 0
	}
	cur := binbuf.New(note, 8, c.big)
	return cur.U64()
}

// findTagBits returns how many top bits of addresses of data a RISC-V processor ignored (pointer masking, Smnpm and Ssnpm),
// from the process's PR_GET_TAGGED_ADDR_CTRL, which NT_RISCV_TAGGED_ADDR_CTRL has: the kernel sets 7 or 16. Without the
// note, which kernels write from 6.13 on, none.
func (c *ELFCore) findTagBits() uint {
	note, ok := c.ThreadNote(unwind.NullThread, "LINUX", ntRISCVTags)
	if !ok || c.elf.Machine != elffile.EM_RISCV || c.wordSize != 8 || len(note) < 8 {
		return 0
	}
	cur := binbuf.New(note, 0, c.big)
	if n := uint(cur.U64() >> 24 & 0x7f); n == 7 || n == 16 {
		return n
	}
	return 0
}

// FPRegs returns a thread's floating-point registers in the machine's layout (NT_FPREGSET,
// which on x86-64 is the FXSAVE area; on arm NT_ARM_VFP); false if the core has none.
func (c *ELFCore) FPRegs(tid unwind.ThreadID) ([]byte, bool) {
	t, ok := c.thread(tid)
	if !ok {
		return nil, false
	}
	switch {
	case c.os == osNetBSD:
		return c.noteOf(t, fmt.Sprintf("%s@%d", netBSDOwner, t.id), netBSDGetRegs(c.elf.Machine)+2)
	case c.os == osOpenBSD:
		return c.noteOf(t, fmt.Sprintf("%s@%d", osOpenBSD, t.id), openBSDFPRegs)
	case c.os == osFreeBSD:
		return c.noteOf(t, osFreeBSD, ntFPRegSet)
	case c.elf.Machine == elffile.EM_ARM:
		return c.noteOf(t, "LINUX", ntARMVFP)
	}
	return c.noteOf(t, "CORE", ntFPRegSet)
}

// XState returns a thread's extended state as XSAVE writes it (NT_X86_XSTATE, in
// the order that LINUX note 0x205 describes); false if the core has none.
func (c *ELFCore) XState(tid unwind.ThreadID) ([]byte, bool) {
	if c.os == osFreeBSD {
		return c.ThreadNote(tid, osFreeBSD, ntX86XState)
	}
	return c.ThreadNote(tid, "LINUX", ntX86XState)
}

// BuildLibraries finds the process's libraries, which LibraryTracker then returns. files
// has the files of libraries whose headers are not in the core; it may be nil, and is
// asked only for files that need no fetching. The warnings list contradictions.
func (c *ELFCore) BuildLibraries(files modules.Source) (*libstate.Table, []string) {
	a := c.arch
	if a == nil {
		a = wordOnly(c.elf)
	}
	src := libraries.Source{Arch: a, Mem: c.DumpMemory(), Mappings: c.maps, Auxv: c.Auxv(), Files: files}
	var table *libstate.Table
	var warnings []string
	switch {
	case c.mods == nil:
		table, warnings = libraries.Build(src)
	default:
		if !c.mods.Files {
			src.Mappings = nil
		}
		table, warnings = libraries.FromModules(src, c.modules())
	}
	c.libs.Store(table)
	return table, warnings
}

// ExecutablePath returns the path of the program: from its mapping, or else as it was
// executed, which may be a relative path; "" if not known.
func (c *ELFCore) ExecutablePath() string {
	if path := c.program(); path != "" {
		return path
	}
	aux := c.Auxv()
	for _, key := range []uint64{libstate.ATPhdr, libstate.ATEntry} {
		addr, _ := aux.Get(key)
		for i := range c.files {
			if f := &c.files[i]; addr >= f.Start && addr < f.End {
				return strings.TrimSuffix(f.Path, " (deleted)")
			}
		}
	}
	if addr, ok := aux.Get(libstate.ATExecFn); ok {
		if name, ended := procmem.Of(c).CString(addr, 4096); ended {
			return string(name)
		}
	}
	return ""
}
