package corestate

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What follows decodes for live processes what cores and ptrace(2) have alike.

// ArchOf is the architecture of the processes that run a file; nil when their
// registers cannot be decoded.
func ArchOf(f *elffile.File) *arch.Arch { return supported(f) }

// DecodeSigInfo decodes a siginfo_t as programs of f's machine and class have it.
// Source is NoSignal when it is none.
func DecodeSigInfo(f *elffile.File, desc []byte) SignalInfo {
	c := &ELFCore{elf: f, anyDump: anyDump{wordSize: f.Class / 8, big: f.Order == binary.BigEndian}}
	if len(desc) < 12 {
		return SignalInfo{}
	}
	return c.sigInfo(desc)
}

// AddSegmentBases adds to regs of a little-endian i386 thread where its segments fs
// and gs begin, from the thread's NT_386_TLS.
func AddSegmentBases(tls []byte, regs *arch.RegSet) { addSegmentBases(binbuf.New(tls, 0, false), regs) }
