package corestate

import (
	"fmt"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Operating systems of cores.
const (
	osLinux   = "Linux"
	osNetBSD  = "NetBSD"
	osOpenBSD = "OpenBSD"
	osFreeBSD = "FreeBSD"
)

// A Kind is the program that wrote a core.
type Kind uint8

const (
	KernelCore Kind = iota
	GCore           // gdb's gcore and generate-core-file
	QemuCore        // qemu-user: no names of files, no read-only pages, no siginfo
)

func (k Kind) String() string {
	switch k {
	case GCore:
		return "gcore"
	case QemuCore:
		return "qemu-user"
	}
	return "kernel"
}

// An ELFCore is an open core file. Everything but SetExecutable, BuildLibraries
// and Close may be used by several goroutines.
type ELFCore struct {
	anyDump
	data     []byte // the whole file
	elf      *elffile.File
	codeMask arch.Address // of code pointers; 0 for not known
	os       string
	kind     Kind
	kernel   string // owner of the note that only kernel dumps have

	noteProgs []int // the PT_NOTE segments

	segs  []segment
	whole []segment // before memory was left out of the core (slim.go); else segs
	slim  *slimnote.Note
	mods  *slimnote.Modules // of the minidump of which the core was made; nil of others
	last  atomic.Uint32     // index of the last segment found
	files []libstate.Mapping

	threads   []thread        // as anyDump.ids
	siglwp    unwind.ThreadID // NetBSD: who got the signal, 0 for the process
	hasFPRegs bool
	// blankNotes says that a segment has zeros where its notes should be.
	blankNotes bool
	psinfo     []byte
	kinfoProc  []byte // FreeBSD's NT_PROCSTAT_PROC
	auxv       []byte
	fileNote   []byte
	process    ProcessInfo
}

var (
	_ unwind.ProcessState = (*ELFCore)(nil)
	_ unwind.TrapState    = (*ELFCore)(nil)
	_ unwind.TrapState    = (*Minidump)(nil)
)

// parse makes an ELFCore from the bytes of a core. With some errors, parts of it are
// usable (see the list of errors).
func parse(data []byte) (*ELFCore, *OpenError) {
	if err := sniff(data); err != nil {
		return nil, err
	}
	f, err := elffile.Parse(data)
	if err != nil {
		return nil, badHeader(data)
	}
	if f.Type != elffile.ET_CORE {
		return nil, notCore(f)
	}
	c := &ELFCore{data: data, elf: f}
	c.memory, c.size = c, len(data)
	c.arch, c.wordSize, c.big = f.Arch(), f.PtrSize(), f.Big()
	c.unknown = libstate.Read | libstate.Exec
	if len(f.Progs) == 0 {
		return nil, noProgramHeaders(f)
	}
	c.warnings = append(c.warnings, f.Warnings[:min(len(f.Warnings), maxWarnings)]...)
	c.segs = segments(f)
	for i := range f.Progs {
		if f.Progs[i].Type == elffile.PT_NOTE {
			c.noteProgs = append(c.noteProgs, i)
		}
	}
	c.whole = c.segs
	c.scanNotes()
	c.applySlim()
	c.tellMIPSABIs()
	c.process = c.processInfo()
	c.files = c.parseFiles()
	c.maps = mergeMappings(c.whole, c.files)
	c.chooseCrashed()
	c.codeMask = c.findCodeMask()
	c.tagBits = c.findTagBits()
	return c, c.verdict()
}

// verdict returns why a core cannot be analysed; nil if it can.
func (c *ELFCore) verdict() *OpenError {
	fail := func(err error, format string, args ...any) *OpenError {
		return &OpenError{Text: fmt.Sprintf(format, args...), Err: err}
	}
	name := machineName(c.elf)
	switch {
	case c.kernel == "VMCOREINFO":
		return fail(ErrKernelDump, "is a kernel crash dump (vmcore), not the core of a process: use the crash utility or drgn")
	case c.kernel != "":
		return fail(ErrKernelDump, "is a dump of a %s guest's whole memory, not the core of a process: use the crash utility", c.kernel)
	case c.os != "" && c.os != osLinux && c.arch != nil && bsdRegs(c.os, c.arch) == nil:
		return fail(ErrUnsupportedOS, "is a core of %s for %s, which is not supported: for this system, only cores for %s are", c.os, name, bsdMachines)
	case len(c.threads) == 0 && c.blankNotes:
		return fail(ErrNoThreads, "has zeros where its notes should be, so it has neither threads nor registers: the dump was not completely written, or part of it was lost; copy it again")
	case len(c.threads) == 0 && c.countNotes() == 0:
		return fail(ErrNoThreads, "has no notes, so it has neither threads nor registers: nothing to walk (it has %d segments of memory)", len(c.segs))
	case len(c.threads) == 0:
		return fail(ErrNoThreads, "has notes, but none with a thread's registers (NT_PRSTATUS): nothing to walk")
	case c.arch == nil:
		return fail(ErrUnsupportedArch, "is a core of %s on %s: stacks of this architecture cannot be walked", c.os, name)
	}
	return nil
}

func (c *ELFCore) countNotes() int {
	n := 0
	for range c.rawNotes(notePos{}) {
		n++
	}
	return n
}

// guessKind guesses which program wrote the core. first is the name of its first note.
func (c *ELFCore) guessKind(first string) {
	switch {
	case c.kind != KernelCore || c.os != osLinux:
	case first == "NT_PRPSINFO" || len(c.elf.Sections()) > 1:
		// Kernels write the thread that died first, and a section header only to count
		// more than 65,534 segments.
		c.kind = GCore
	case len(c.fileNote) == 0 && !c.hasFPRegs && len(c.auxv) > 0 && c.noCode():
		c.kind = QemuCore
	}
}

// noCode reports whether the core has no bytes of read-only executable memory. Kernels
// write at least the vDSO.
func (c *ELFCore) noCode() bool {
	for i := range c.segs {
		s := &c.segs[i]
		if s.perm&libstate.Exec != 0 && s.perm&libstate.Write == 0 && s.claim > s.start {
			return false
		}
	}
	return true
}

// Kind guesses who wrote the core.
func (c *ELFCore) Kind() Kind { return c.kind }

// Bytes returns the core file, decompressed. Do not change it, and do not use it after Close.
func (c *ELFCore) Bytes() []byte { return c.data }

// OS returns the operating system's name: "Linux", "NetBSD" ...; "" if no note says it.
func (c *ELFCore) OS() string { return c.os }

// ArchName returns the architecture's name, even if it is not supported.
func (c *ELFCore) ArchName() string { return machineName(c.elf) }

// Truncated reports whether part of the core is missing. have is the size of the file, and
// want is the size that its headers need, both in bytes and decompressed.
func (c *ELFCore) Truncated() (cut bool, have, want int64) {
	var end uint64
	for i := range c.elf.Progs {
		p := &c.elf.Progs[i]
		if p.Type != elffile.PT_LOAD && p.Type != elffile.PT_NOTE || p.Filesz == 0 || p.Off+p.Filesz < p.Off {
			continue
		}
		end = max(end, p.Off+p.Filesz)
	}
	cut, have, want = c.truncated(end)
	if !cut && c.slim != nil && c.slim.Want > c.slim.Have {
		return true, int64(min(c.slim.Have, 1<<62)), int64(min(c.slim.Want, 1<<62))
	}
	return cut, have, want
}
