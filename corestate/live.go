package corestate

import (
	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The functions below decode, for live processes, the structures that cores and
// ptrace(2) share.

// DecodeSigInfo decodes the siginfo_t of a Linux program on an architecture. Source is
// NoSignal if it is not valid.
func DecodeSigInfo(a *arch.Arch, desc []byte) SignalInfo {
	f := &elffile.File{Class: 8 * a.WordSize, Order: a.ByteOrder, Machine: signalMachine(a)}
	c := &ELFCore{elf: f, anyDump: anyDump{wordSize: a.WordSize, big: a.Big()}}
	if len(desc) < 12 {
		return SignalInfo{}
	}
	return c.sigInfo(desc)
}

// AddSegmentBases adds the bases of the segments fs and gs to the registers of an i386
// thread. tls is its NT_386_TLS.
func AddSegmentBases(tls []byte, regs *arch.RegSet) { addSegmentBases(binbuf.New(tls, 0, false), regs) }
