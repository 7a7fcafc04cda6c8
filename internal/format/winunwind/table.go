// Package winunwind finds the callers of frames by the unwind tables of Windows:
// .pdata and .xdata of x64 (UNWIND_INFO versions 1 and 2) and of arm64 (packed and
// full).
//
// The formats are specified by Microsoft's "x64 exception handling"
// (https://learn.microsoft.com/cpp/build/exception-handling-x64) and "ARM64
// exception handling" (https://learn.microsoft.com/cpp/build/arm64-exception-handling).
// Addresses in tables are relative to the image's base (RVA), in bytes.
//
// Unwinding is exact at every instruction, in prologues and epilogues too. A Table
// is immutable and may be shared between goroutines, as far as its Image may;
// nothing here allocates but errors.
package winunwind

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Why a frame could not be unwound. Every error of this package wraps one of
// these, or is of reading the process's memory.
var (
	// ErrNoFunction: the function table says nothing about the address.
	ErrNoFunction = errors.New("no function in the unwind table")
	// ErrTruncated: the unwind information is not in the image's bytes at hand.
	ErrTruncated = errors.New("unwind information is not in the image")
	// ErrMalformed: the unwind information contradicts itself or the specification.
	ErrMalformed = errors.New("malformed unwind information")
	// ErrUnsupported: the information has a version, or a code, that is not known
	// here.
	ErrUnsupported = errors.New("unsupported unwind information")
	// ErrUnknownReg: the information needs a register whose value is not known.
	ErrUnknownReg = errors.New("register is not known")
)

// An Image is what is known of a module's bytes: a file, or memory.
type Image interface {
	// At returns the bytes from rva on, as many as there are in one piece; nothing
	// where there are none.
	At(rva uint32) []byte
}

// A Table is the function table of an image.
type Table struct {
	arch  *arch.Arch
	pdata []byte
	image Image
}

// New makes a Table of the bytes of .pdata, which must be sorted by address as
// images have it. The architecture must be arch.AMD64 or arch.ARM64.
func New(a *arch.Arch, pdata []byte, image Image) (*Table, error) {
	if a != arch.AMD64 && a != arch.ARM64 {
		name := "no architecture"
		if a != nil {
			name = a.Name
		}
		return nil, fmt.Errorf("%s: %w", name, ErrUnsupported)
	}
	return &Table{arch: a, pdata: pdata, image: image}, nil
}

// A Function is an entry of the table: the code [Begin, End), which may be a part
// of a function only. Data is the entry's last word: of x64 the address of the
// unwind information, of arm64 that or the information itself.
type Function struct{ Begin, End, Data uint32 }

var le = binary.LittleEndian

// Sizes of entries of .pdata.
const (
	entryAMD64 = 12
	entryARM64 = 8
)

func (t *Table) entrySize() int {
	if t.arch == arch.ARM64 {
		return entryARM64
	}
	return entryAMD64
}

// Find returns the entry that covers rva. It takes time logarithmic in the number
// of functions. Of a table that is not sorted it may miss some.
func (t *Table) Find(rva uint32) (Function, bool) {
	size := t.entrySize()
	lo, hi := 0, len(t.pdata)/size
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		// Linkers pad the end of the table with zeros.
		if begin := le.Uint32(t.pdata[mid*size:]); begin <= rva && begin != 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return Function{}, false
	}
	fn, err := t.entry(t.pdata[(lo-1)*size:])
	return fn, err == nil && rva >= fn.Begin && rva < fn.End
}

// entry decodes the entry at the start of b, which must hold it.
func (t *Table) entry(b []byte) (Function, error) {
	if t.arch == arch.ARM64 {
		return t.entryARM64(le.Uint32(b), le.Uint32(b[4:]))
	}
	return Function{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])}, nil
}

// A Frame is a frame's registers, and after Step those of its caller. The zero
// Frame with Regs set is ready for use.
type Frame struct {
	Regs arch.RegSet
	// CFA is the caller's stack pointer as it is after the return.
	CFA uint64
	// Saved are the registers that Step read from the stack, and At[r] is where;
	// the return address stands for PC.
	Saved arch.RegMask
	At    [arch.MaxRegs]uint64
	// SavedXMM says of which of x64's registers xmm0 to xmm15 the caller's values
	// are saved, XMMAt where. Step does not read them.
	SavedXMM uint16
	XMMAt    [16]uint64
	// Interrupted says that the caller did not call: an exception or an interrupt
	// was taken, and PC is what would have been executed next.
	Interrupted bool
}

// Nonvolatile returns the registers that a called function leaves as it found
// them by the conventions of Windows; those of x64 are more than elsewhere.
func Nonvolatile(a *arch.Arch) arch.RegMask {
	if a == arch.AMD64 {
		return a.CalleeSaved | arch.Mask(arch.RSI, arch.RDI)
	}
	return a.CalleeSaved
}

// Step makes f the caller's frame. base is where the image lies in memory. exact
// says that f was interrupted, or is a thread's youngest: its pc is the next
// instruction, not where a call will return to. Where the table has nothing for an
// exact pc the function is a leaf, which has moved nothing; for others that is
// ErrNoFunction. After an error f means nothing.
func (t *Table) Step(f *Frame, mem arch.Memory, base uint64, exact bool) error {
	pc, ok := f.Regs.Get(t.arch.PC)
	sp, ok2 := f.Regs.Get(t.arch.SP)
	if !ok || !ok2 {
		return fmt.Errorf("pc or stack pointer: %w", ErrUnknownReg)
	}
	at := pc - base
	if !exact {
		at-- // of a call at the function's end
	}
	if at > 0xffffffff {
		return fmt.Errorf("pc %#x is not in the image at %#x: %w", pc, base, ErrNoFunction)
	}
	f.Saved, f.SavedXMM, f.Interrupted = 0, 0, false
	s := stepper{Table: t, f: f, mem: mem, base: base, rva: uint32(pc - base), sp: sp, exact: exact}
	fn, found := t.Find(uint32(at))
	if !found && !exact {
		return fmt.Errorf("RVA %#x: %w", at, ErrNoFunction)
	}
	var err error
	switch {
	case t.arch == arch.ARM64:
		err = s.stepARM64(fn, found)
	default:
		err = s.stepAMD64(fn, found)
	}
	if err != nil {
		return fmt.Errorf("RVA %#x: %w", at, err)
	}
	f.CFA = s.sp
	f.Regs.Set(t.arch.SP, s.sp)
	f.Regs.Valid &= Nonvolatile(t.arch) | f.Saved | arch.Mask(t.arch.SP, t.arch.PC)
	if !f.Interrupted {
		f.Regs.Clear(t.arch.RA) // the call overwrote it
	}
	return nil
}

// A stepper is one Step under way.
type stepper struct {
	*Table
	f     *Frame
	mem   arch.Memory
	base  uint64
	rva   uint32 // of pc; of callers, of what they return to
	sp    uint64
	exact bool
	done  bool // pc and sp are the caller's
}

// restore reads the caller's value of r at addr.
func (s *stepper) restore(r arch.Reg, addr uint64) error {
	v, err := s.mem.ReadWord(addr)
	if err != nil {
		return fmt.Errorf("saved %s: %w", s.arch.RegName(r), err)
	}
	s.f.Regs.Set(r, v)
	s.f.Saved |= arch.Mask(r)
	s.f.At[r] = addr
	return nil
}

func (s *stepper) reg(r arch.Reg) (uint64, error) {
	v, ok := s.f.Regs.Get(r)
	if !ok {
		return 0, fmt.Errorf("%s: %w", s.arch.RegName(r), ErrUnknownReg)
	}
	return v, nil
}
