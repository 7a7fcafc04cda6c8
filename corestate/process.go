package corestate

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Arch is the process's architecture, nil when Open said ErrUnsupportedArch.
func (c *ELFCore) Arch() *arch.Arch { return c.arch }

// ThreadIDs lists the threads: the one that died, then the others in the core's
// order.
func (c *ELFCore) ThreadIDs() ([]unwind.ThreadID, error) {
	if len(c.threads) == 0 {
		return nil, ErrNoThreads
	}
	ids := make([]unwind.ThreadID, 0, len(c.threads))
	ids = append(ids, c.threads[c.crashed].id)
	for i := range c.threads {
		if i != c.crashed {
			ids = append(ids, c.threads[i].id)
		}
	}
	return ids, nil
}

// DefaultThread is the thread that died.
func (c *ELFCore) DefaultThread() (unwind.ThreadID, error) {
	if len(c.threads) == 0 {
		return 0, ErrNoThreads
	}
	return c.threads[c.crashed].id, nil
}

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

// CodeMask is the mask of the bits of code pointers that hold a signature; 0 when
// the core does not say.
func (c *ELFCore) CodeMask() arch.Address { return c.codeMask }

// findCodeMask reads it from NT_ARM_PAC_MASK: the masks for data and for code.
func (c *ELFCore) findCodeMask() arch.Address {
	note, ok := c.ThreadNote(unwind.NullThread, "LINUX", ntARMPACMask)
	if !ok || c.elf.Machine != elffile.EM_AARCH64 {
		return 0
	}
	cur := binbuf.New(note, 8, c.big)
	return cur.U64()
}

// FPRegs returns a thread's floating-point registers as the machine lays them out
// (NT_FPREGSET, which on x86-64 is the FXSAVE area; on arm NT_ARM_VFP); false when
// the core has none.
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
// the order that LINUX note 0x205 describes); false when the core has none.
func (c *ELFCore) XState(tid unwind.ThreadID) ([]byte, bool) {
	if c.os == osFreeBSD {
		return c.ThreadNote(tid, osFreeBSD, ntX86XState)
	}
	return c.ThreadNote(tid, "LINUX", ntX86XState)
}

// PreStackwalk does nothing: the process is dead.
func (c *ELFCore) PreStackwalk(unwind.ThreadID) error { return nil }

// PostStackwalk does nothing.
func (c *ELFCore) PostStackwalk(unwind.ThreadID) error { return nil }

// IsFirstParty is false.
func (c *ELFCore) IsFirstParty() bool { return false }

// PostMortem is true: nothing of the process changes any more.
func (c *ELFCore) PostMortem() bool { return true }

// LibraryTracker is the process's libraries, nil before BuildLibraries.
func (c *ELFCore) LibraryTracker() libstate.LibraryState {
	if t := c.libs.Load(); t != nil {
		return t
	}
	return nil
}

func (c *ELFCore) libraryAt(addr arch.Address) (*libstate.Library, bool) {
	t := c.libs.Load()
	if t == nil {
		return nil, false
	}
	return t.Known(addr)
}

// SetExecutable says which file the process executed, for cores that do not tell
// where it was mapped or what it was called. f may be nil. It takes effect in
// BuildLibraries, which uses f only if its entry point and segments fit the
// process.
func (c *ELFCore) SetExecutable(path string, f *elffile.File) { c.execPath, c.execFile = path, f }

// BuildLibraries finds the process's libraries and makes them what LibraryTracker
// answers. file finds the file of a library whose headers are not in the dump; it
// may be nil (see libstate.Source). The warnings say what was contradictory.
func (c *ELFCore) BuildLibraries(file func(*libstate.Library) *elffile.File) (*libstate.Table, []string) {
	a := c.arch
	if a == nil {
		a = wordOnly(c.elf)
	}
	src := libstate.Source{
		Arch: a, Mem: rawMemory{c}, Mappings: c.maps, Auxv: c.Auxv(), ExecPath: c.execPath,
		ELF: func(l *libstate.Library) *elffile.File {
			if l.Kind == libstate.Executable && c.execFile != nil {
				return c.execFile
			}
			if file == nil {
				return nil
			}
			return file(l)
		},
	}
	table, warnings := libstate.Build(src)
	c.libs.Store(table)
	return table, warnings
}

// ExecutablePath is the path of the program, as its mapping names it; else as it
// was executed, which may be relative; else "".
func (c *ELFCore) ExecutablePath() string {
	if t := c.libs.Load(); t != nil {
		if l, ok := t.AOut(); ok && l.Path != "" {
			return l.Path
		}
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
		var buf [4096]byte
		n, _ := c.ReadMem(addr, buf[:])
		if i := bytes.IndexByte(buf[:n], 0); i > 0 {
			return string(buf[:i])
		}
	}
	return c.execPath
}
