package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What follows decodes for live processes what cores and ptrace(2) have alike.

// DecodeSigInfo decodes a siginfo_t as Linux programs of an architecture have it. Source
// is NoSignal when it is none.
func DecodeSigInfo(a *arch.Arch, desc []byte) SignalInfo {
	f := &elffile.File{Class: 8 * a.WordSize, Order: a.ByteOrder, Machine: signalMachine(a)}
	c := &ELFCore{elf: f, anyDump: anyDump{wordSize: a.WordSize, big: a.Big()}}
	if len(desc) < 12 {
		return SignalInfo{}
	}
	return c.sigInfo(desc)
}

// AddSegmentBases adds to regs of a little-endian i386 thread where its segments fs
// and gs begin, from the thread's NT_386_TLS.
func AddSegmentBases(tls []byte, regs *arch.RegSet) { addSegmentBases(binbuf.New(tls, 0, false), regs) }
