package minidump

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Reasons why a thread has no registers.
var (
	ErrNoContext  = errors.New("no registers in the dump")
	ErrBadContext = errors.New("cannot decode registers")
)

// A Context is a decoded CONTEXT record.
type Context struct {
	Arch  *arch.Arch
	Flags uint32 // ContextFlags: which parts of the record are valid
	Regs  arch.RegSet
	// Vector is the floating-point and vector state as it is in the record: on x86 the
	// FXSAVE area. It is nil if its flag is not set.
	Vector []byte
	// XState is the extended state that follows the record, or nil.
	XState *XState
}

// A layout describes one kind of CONTEXT record.
type layout struct {
	arch func(big bool) *arch.Arch
	// flags is the offset of the flags. cpu is the set of flags that identify this kind of
	// record.
	flags int
	cpu   uint32
	wide  bool // the flags have 64 bits
	// need is the minimum size of a record: up to the program counter and the stack
	// pointer. size is the size of a complete one.
	need, size int
	parts      []part
	vector     part   // has no fields: where the vector state is
	vectorLen  int    // bytes
	xstate     uint32 // the flag for extended state after the record
}

// A part is the group of fields that are valid if one flag, or any of several, is set.
type part struct {
	flag   uint32
	fields []field
	off    int // offset of layout.vector
}

// A field is the position of a register in a record.
type field struct {
	reg       arch.Reg
	off, size int
}

// run lays out registers one after another.
func run(off, size int, regs ...arch.Reg) []field { return spread(off, size, size, regs...) }

// spread lays out registers of size bytes, stride bytes apart.
func spread(off, stride, size int, regs ...arch.Reg) []field {
	list := make([]field, len(regs))
	for i, r := range regs {
		list[i] = field{r, off + i*stride, size}
	}
	return list
}

// from lists n registers starting with first.
func from(first arch.Reg, n int) []arch.Reg {
	list := make([]arch.Reg, n)
	for i := range list {
		list[i] = first + arch.Reg(i)
	}
	return list
}

func join(lists ...[]field) []field {
	var all []field
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// layouts lists the kinds of records that dumps of a processor may have, likeliest first.
func layouts(c CPU) []*layout {
	switch c {
	case CPUX86, CPUX86Win64:
		return []*layout{contextX86.Get()}
	case CPUAMD64:
		return []*layout{contextAMD64.Get(), contextX86.Get()}
	case CPUARM:
		return []*layout{contextARM.Get(), contextARMWindows.Get()}
	case CPUARM64, CPUARM64Old:
		return []*layout{contextARM64.Get(), contextARM64Old.Get()}
	case CPUPPC:
		return []*layout{contextPPC.Get()}
	case CPUPPC64:
		return []*layout{contextPPC64.Get()}
	case CPUMIPS:
		return []*layout{contextMIPS.Get()}
	case CPUMIPS64:
		return []*layout{contextMIPS64.Get(), contextMIPS64Breakpad.Get()}
	case CPUSPARC:
		return []*layout{contextSPARC.Get()}
	case CPURISCV64:
		return []*layout{contextRISCV64.Get()}
	}
	return nil
}

// flagsOf reads a record's flags, or returns false if it is too short.
func (l *layout) flagsOf(rec []byte, order binary.ByteOrder) (uint32, bool) {
	size := 4
	if l.wide {
		size = 8
	}
	if l.flags+size > len(rec) {
		return 0, false
	}
	return uint32(uintAt(rec[l.flags:], size, order)), true
}

// DecodeContext decodes the CONTEXT record of a thread. It accepts a record longer than its
// kind, and a shorter one if it contains the program counter and the stack pointer. Parts
// whose flags are not set stay unknown.
//
// The record's own flags determine its kind: dumps of 32-bit processes may have records of
// both kinds.
func (f *File) DecodeContext(rec []byte) (Context, error) {
	if len(rec) == 0 {
		return Context{}, ErrNoContext
	}
	if l, flags, ok := f.layoutOf(rec); ok {
		return f.decode(l, rec, flags, f.order()), nil
	}
	kinds := layouts(f.System.CPU)
	if len(kinds) == 0 {
		return Context{}, fmt.Errorf("context of %d bytes: unsupported processor %v: %w", len(rec), f.System.CPU, ErrBadContext)
	}
	l := kinds[0]
	flags, _ := l.flagsOf(rec, f.order())
	if len(rec) < l.need {
		return Context{}, fmt.Errorf("context has %d bytes, need at least %d for %v: %w", len(rec), l.need, f.System.CPU, ErrBadContext)
	}
	return Context{}, fmt.Errorf("context of %d bytes: flags %#x are not those of %v: %w", len(rec), flags, f.System.CPU, ErrBadContext)
}

// layoutOf returns what kind of record rec is, and its flags.
func (f *File) layoutOf(rec []byte) (*layout, uint32, bool) {
	kinds := layouts(f.System.CPU)
	for _, l := range kinds {
		flags, ok := l.flagsOf(rec, f.order())
		if ok && flags&l.cpu != 0 && len(rec) >= l.need && l.arch(f.Big) != nil && !l.mistaken(rec, kinds, f.order()) {
			return l, flags, true
		}
	}
	return nil, 0, false
}

// mistaken reports whether a record that looks like kind l is really of another kind that
// has its flags elsewhere: kind l has an argument's home space there.
func (l *layout) mistaken(rec []byte, kinds []*layout, order binary.ByteOrder) bool {
	for _, other := range kinds {
		if other.flags == l.flags || other.size == l.size {
			continue
		}
		flags, ok := other.flagsOf(rec, order)
		if ok && flags&other.cpu != 0 && flags&^0xff == other.cpu && len(rec) >= other.need && len(rec) <= other.size && len(rec) < l.size {
			return true
		}
	}
	return false
}

// decode reads the parts whose flags are set.
func (f *File) decode(l *layout, rec []byte, flags uint32, order binary.ByteOrder) Context {
	a := l.arch(f.Big)
	c := Context{Arch: a, Flags: flags}
	if flags == l.cpu && f.System.Platform.Apple() {
		// Breakpad's client of macOS fills the whole record and sets no part's flag.
		for _, p := range l.parts {
			flags |= p.flag
		}
		flags |= l.vector.flag
	}
	for _, p := range l.parts {
		if flags&p.flag == 0 {
			continue
		}
		for _, fd := range p.fields {
			if fd.off+fd.size <= len(rec) {
				c.Regs.Set(fd.reg, uintAt(rec[fd.off:], fd.size, order))
			}
		}
	}
	if l.vectorLen > 0 && flags&l.vector.flag != 0 && l.vector.off+l.vectorLen <= len(rec) {
		c.Vector = rec[l.vector.off : l.vector.off+l.vectorLen : l.vector.off+l.vectorLen]
	}
	if l.xstate != 0 && flags&l.xstate&0xff != 0 && len(rec) > l.size {
		c.XState = f.xstate(rec, l.size)
	}
	settlePC(a, &c.Regs)
	return c
}

func uintAt(b []byte, size int, order binary.ByteOrder) uint64 {
	switch size {
	case 2:
		return uint64(order.Uint16(b))
	case 4:
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// settlePC strips from the program counter the bits that are not part of the address, and
// sets the register for the instruction set from the processor's status or, if a writer
// left it there, from the lowest bit of the program counter.
func settlePC(a *arch.Arch, regs *arch.RegSet) {
	pc, ok := regs.Get(a.PC)
	if a.Mode != arch.NoReg {
		status, known := regs.Get(a.ModeFrom)
		if mode := status>>a.ModeBit&1 | pc&1; known || ok {
			regs.Set(a.Mode, mode)
		}
	}
	if ok {
		regs.Set(a.PC, a.CodeAddress(pc))
	}
}
