// Package winunwind finds the callers of frames with the unwind tables of Windows: .pdata
// and .xdata of x64 (UNWIND_INFO versions 1 to 3) and of arm64 (packed and full).
//
// The formats are specified by Microsoft's "x64 exception handling"
// (https://learn.microsoft.com/cpp/build/exception-handling-x64) and "ARM64 exception
// handling" (https://learn.microsoft.com/cpp/build/arm64-exception-handling). Addresses in
// tables are relative to the image's base (RVA), in bytes.
//
// Unwinding is exact at every instruction, including prologues and epilogues. A Table is
// immutable; it is safe for concurrent use if its Image is. Only errors are allocated.
package winunwind

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Reasons why a frame cannot be unwound. Every error of this package wraps one of these or
// an error of the process's memory.
var (
	// ErrNoFunction: the function table has no entry for the address.
	ErrNoFunction = errors.New("no function in the unwind table")
	// ErrTruncated: the unwind information is not in the available bytes of the image.
	ErrTruncated = errors.New("unwind information is not in the image")
	// ErrMalformed: the unwind information is inconsistent or violates the specification.
	ErrMalformed = errors.New("malformed unwind information")
	// ErrUnsupported: the information has an unknown version or code.
	ErrUnsupported = errors.New("unsupported unwind information")
	// ErrUnknownReg: a register that is needed has an unknown value.
	ErrUnknownReg = errors.New("register is unknown")
)

// An Image gives access to a module's bytes, in a file or in memory.
type Image interface {
	// At returns the contiguous bytes from rva on, or nothing if there are none.
	At(rva uint32) []byte
}

// A Table is the function table of an image.
type Table struct {
	arch  *arch.Arch
	pdata []byte
	image Image
}

// New makes a Table from the bytes of .pdata, which must be sorted by address, as it is in
// images. The architecture must be arch.AMD64 or arch.ARM64.
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

// A Function is an entry of the table: the code [Begin, End), which may be only a part of a
// function. Data is the entry's last word: on x64 the address of the unwind information, on
// arm64 either that or the information itself.
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

// Entry decodes the first entry in b. It returns false if b is too short, or, on arm64, the unwind
// information is not in the image.
func (t *Table) Entry(b []byte) (Function, bool) {
	if len(b) < t.entrySize() {
		return Function{}, false
	}
	fn, err := t.entry(b)
	return fn, err == nil
}

// Find returns the entry that covers rva, in time logarithmic in the number of functions.
// If the table is not sorted, it may miss some.
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

// entry decodes the entry at the start of b, which must contain it.
func (t *Table) entry(b []byte) (Function, error) {
	if t.arch == arch.ARM64 {
		return t.entryARM64(le.Uint32(b), le.Uint32(b[4:]))
	}
	return Function{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])}, nil
}

// A Frame has a frame's registers, and after Step those of its caller. The zero Frame with
// Regs set is ready for use.
type Frame struct {
	Regs arch.RegSet
	// CFA is the caller's stack pointer after the return.
	CFA uint64
	// Saved is the set of registers that Step read from the stack, At[r] their addresses;
	// PC stands for the return address.
	Saved arch.RegMask
	At    [arch.MaxRegs]uint64
	// SavedXMM is the set of x64 registers xmm0 to xmm15 that are saved, XMMAt their
	// addresses. Step does not read them.
	SavedXMM uint16
	XMMAt    [16]uint64
	// Interrupted says that the caller made no call: an exception or interrupt occurred,
	// and PC is the next instruction to execute.
	Interrupted bool
}

// Nonvolatile returns the callee-saved registers of the Windows ABI; on x64 there are more
// than on other systems.
func Nonvolatile(a *arch.Arch) arch.RegMask {
	if a == arch.AMD64 {
		return a.CalleeSaved | arch.Mask(arch.RSI, arch.RDI)
	}
	return a.CalleeSaved
}

// Step replaces f by the caller's frame. base is the image's address in memory. exact says
// that f was interrupted or is a thread's youngest frame: its pc is the next instruction,
// not a return address. If the table has no entry for an exact pc, the function is a leaf,
// which has not moved the stack pointer; otherwise the error is ErrNoFunction. After an
// error the contents of f are undefined.
func (t *Table) Step(f *Frame, mem arch.Memory, base uint64, exact bool) error {
	at, err := t.lookupRVA(f, base, exact)
	if err != nil {
		return err
	}
	fn, found := t.Find(at)
	if !found && !exact {
		return fmt.Errorf("RVA %#x: %w", at, ErrNoFunction)
	}
	return t.step(f, mem, base, exact, fn, found)
}

// StepIn is Step for a pc that fn is known to cover: the entry need not be in the table.
// Otherwise the error is ErrNoFunction.
func (t *Table) StepIn(fn Function, f *Frame, mem arch.Memory, base uint64, exact bool) error {
	at, err := t.lookupRVA(f, base, exact)
	if err == nil && (at < fn.Begin || at >= fn.End) {
		err = fmt.Errorf("RVA %#x is not in %#x..%#x: %w", at, fn.Begin, fn.End, ErrNoFunction)
	}
	if err != nil {
		return err
	}
	return t.step(f, mem, base, exact, fn, true)
}

// lookupRVA returns the address by which a frame is looked up: inside the call that it made.
func (t *Table) lookupRVA(f *Frame, base uint64, exact bool) (uint32, error) {
	pc, ok := f.Regs.Get(t.arch.PC)
	if _, ok2 := f.Regs.Get(t.arch.SP); !ok || !ok2 {
		return 0, fmt.Errorf("pc or stack pointer: %w", ErrUnknownReg)
	}
	at := pc - base
	if !exact {
		at-- // of a call at the function's end
	}
	if at > 0xffffffff {
		return 0, fmt.Errorf("pc %#x is not in the image at %#x: %w", pc, base, ErrNoFunction)
	}
	return uint32(at), nil
}

// step is Step in fn; in a leaf if no function was found.
func (t *Table) step(f *Frame, mem arch.Memory, base uint64, exact bool, fn Function, found bool) error {
	pc, _ := f.Regs.Get(t.arch.PC)
	sp, _ := f.Regs.Get(t.arch.SP)
	f.Saved, f.SavedXMM, f.Interrupted = 0, 0, false
	s := stepper{Table: t, f: f, mem: mem, base: base, rva: uint32(pc - base), sp: sp, exact: exact}
	var err error
	switch {
	case t.arch == arch.ARM64:
		err = s.stepARM64(fn, found)
	default:
		err = s.stepAMD64(fn, found)
	}
	if err != nil {
		at := s.rva
		if !exact {
			at--
		}
		return fmt.Errorf("RVA %#x: %w", at, err)
	}
	f.CFA = s.sp
	f.Regs.Set(t.arch.SP, s.sp)
	f.Regs.Valid &= Nonvolatile(t.arch) | f.Saved | arch.Mask(t.arch.SP, t.arch.PC)
	if !f.Interrupted {
		f.Regs.Clear(t.arch.RA) // overwritten by the call
	}
	return nil
}

// A stepper is a Step in progress.
type stepper struct {
	*Table
	f     *Frame
	mem   arch.Memory
	base  uint64
	rva   uint32 // RVA of pc; for callers, of the return address
	sp    uint64
	exact bool
	done  bool // pc and sp are already the caller's
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
