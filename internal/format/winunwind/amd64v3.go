package winunwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Version 3 of x64's unwind information is for code that uses Intel APX: push2, pop2 and the
// registers r16 to r31. It is a preview, specified by Microsoft in "x64 unwind information V3"
// (https://learn.microsoft.com/cpp/build/x64-unwind-information-v3). That leaves open which
// register of a push2 is where (the first is above the second: Win64UnwindV3.h of the .NET
// runtime) and the types of canonical frames (0 and 1 are machine frames without and with an
// error code: MASM's .PUSHFRAME). Dumps do not have the registers from r16 on; only their room
// on the stack counts.
//
// Operations are listed from the function's body outwards: those of the prologue in reverse
// order of execution, those of an epilogue in order.

// Operations of version 3 (WOD_...), by the bits of the first byte that tell them apart.
const (
	wodSetFPReg                         = 0
	wodAllocHuge                        = 1
	wodAllocBig                         = 2
	wodFrame                            = 3
	wodPush                             = 4
	wodSaveFar                          = 5
	wodSave                             = 6
	wodPushNext                         = 7 // a register and the one after it
	wodAlloc                            = 8
	wodSaveXMMFar, wodSaveXMM, wodPush2 = 9, 10, 32
)

// Flags of version 3.
const (
	flagLarge    = 8    // the prologue is longer than 255 bytes
	flagReserved = 0x10 // of UNWIND_INFO

	epilogToParent = 1 // the epilogue leads back to the parent fragment
	epilogLarge    = 2
	epilogReserved = 4
)

const (
	maxWODs = 31 // operations of a prologue or epilogue
	lastReg = 31 // r31
)

// A wod is an operation.
type wod struct {
	op        byte
	reg, reg2 byte
	n         uint64 // a size, displacement or offset in bytes; a type of frame
}

// taken is how much stack the operation takes, in bytes.
func (w *wod) taken() uint64 {
	switch w.op {
	case wodAlloc, wodAllocBig, wodAllocHuge:
		return w.n
	case wodPush:
		return 8
	case wodPush2:
		return 16
	}
	return 0
}

// decodeWOD decodes the first operation of b; size is 0 if b does not contain one.
func decodeWOD(b []byte) (w wod, size int) {
	if len(b) == 0 {
		return w, 0
	}
	c := b[0]
	switch {
	case c&4 != 0:
		w.op, w.reg = c&7, c>>3
		size = [...]int{1, 5, 3, 1}[c&3]
	case c&8 != 0:
		w.op, w.reg = c&15, c>>4
		size = [...]int{1, 5, 3, 0}[c&3]
	case c&0x3f == wodPush2:
		w.op, w.reg, size = wodPush2, c>>6, 2
	case c <= wodFrame:
		w.op = c
		size = [...]int{2, 5, 3, 2}[c]
	}
	if size == 0 || len(b) < size {
		return w, 0
	}
	switch size {
	case 3:
		w.n = uint64(le.Uint16(b[1:])) * 8
	case 5:
		w.n = uint64(le.Uint32(b[1:]))
	}
	switch w.op {
	case wodSetFPReg:
		w.reg, w.n = b[1]&15, uint64(b[1]>>4)*16
	case wodFrame:
		w.n = uint64(b[1])
	case wodAlloc:
		w.n = uint64(w.reg)*8 + 8
	case wodSaveXMM:
		w.n *= 2 // in units of 16 bytes
	case wodPush2:
		w.reg, w.reg2 = w.reg|b[1]&7<<2, b[1]>>3
	case wodPushNext:
		if w.reg == lastReg {
			return w, 0
		}
		w.op, w.reg2 = wodPush2, w.reg+1
	}
	return w, size
}

// A fragment is the payload of version 3.
type fragment struct {
	ops     int
	ips     []byte // of the prologue's operations
	wide    bool   // two bytes each
	count   int    // of epilogues
	epilogs []byte
	pool    []byte
}

// fragment reads what follows the header of version 3.
func (u *unwindInfo) fragment(ops byte, b []byte) error {
	f := &u.v3
	f.ops, f.count, f.wide = int(ops&31), int(ops>>5), u.flags&flagLarge != 0
	if u.flags&flagReserved != 0 {
		return fmt.Errorf("flags %#x: %w", u.flags, ErrUnsupported)
	}
	if f.wide {
		if len(b) < 1 {
			return fmt.Errorf("size of the prologue: %w", ErrMalformed)
		}
		u.prolog |= uint32(b[0]) << 8
		b = b[1:]
	}
	n := f.ops
	if f.wide {
		n *= 2
	}
	if n > len(b) {
		return fmt.Errorf("offsets of %d operations in %d bytes: %w", f.ops, len(b), ErrMalformed)
	}
	f.ips, f.epilogs = b[:n], b[n:]
	e, rest, err := epilogV3{}, f.epilogs, error(nil)
	for range f.count {
		if rest, err = e.next(rest); err != nil {
			return err
		}
	}
	f.epilogs, f.pool = f.epilogs[:len(f.epilogs)-len(rest)], rest
	return nil
}

// An epilogV3 describes an epilogue.
type epilogV3 struct {
	flags byte
	delta int // from the start of the epilogue before it; of the first, from the fragment's start or end
	ops   int // 0 before the first
	first int // offset of the first operation in the pool
	last  uint32
	ips   []byte
}

// next reads the description at the start of b over the one before it, from which it may
// inherit, and returns the rest of b.
func (e *epilogV3) next(b []byte) ([]byte, error) {
	if len(b) < 3 {
		return nil, fmt.Errorf("epilogue in %d bytes: %w", len(b), ErrMalformed)
	}
	flags, ops := b[0]&7, int(b[0]>>3)
	e.delta = int(int16(le.Uint16(b[1:])))
	b = b[3:]
	switch {
	case flags&epilogReserved != 0:
		return nil, fmt.Errorf("flags %#x of an epilogue: %w", flags, ErrUnsupported)
	case ops == 0 && e.ops == 0:
		return nil, fmt.Errorf("the first epilogue has no operations: %w", ErrMalformed)
	case ops == 0:
		return b, nil
	}
	e.flags, e.ops = flags, ops
	head, size := 3, ops
	if flags&epilogLarge != 0 {
		head, size = 4, 2*ops
	}
	if len(b) < head+size {
		return nil, fmt.Errorf("epilogue of %d operations in %d bytes: %w", ops, len(b), ErrMalformed)
	}
	e.first, e.last = int(le.Uint16(b)), uint32(b[2])
	if flags&epilogLarge != 0 {
		e.last = uint32(le.Uint16(b[2:]))
	}
	e.ips = b[head : head+size]
	return b[head+size:], nil
}

// ipAt returns the offset of an operation's instruction.
func ipAt(ips []byte, wide bool, i int) uint32 {
	if wide {
		return uint32(le.Uint16(ips[2*i:]))
	}
	return uint32(ips[i])
}

// epilogueV3 undoes the rest of an epilogue, if pc is in one: then found is true. toParent says
// that the epilogue leads to the parent fragment, not to the caller.
func (s *stepper) epilogueV3(fn Function, u *unwindInfo) (found, toParent bool, err error) {
	f := &u.v3
	e, rest, start := epilogV3{}, f.epilogs, int64(0)
	for i := range f.count {
		if rest, err = e.next(rest); err != nil {
			return false, false, err
		}
		if i == 0 {
			start = int64(fn.Begin)
			if e.delta < 0 {
				start = int64(fn.End)
			}
		}
		start += int64(e.delta)
		off := int64(s.rva) - start
		if off < 0 || off > int64(e.last) {
			continue
		}
		if e.first > len(f.pool) {
			return true, false, fmt.Errorf("operations of an epilogue at %d of %d bytes: %w", e.first, len(f.pool), ErrMalformed)
		}
		wide := e.flags&epilogLarge != 0
		err = s.undoWODs(f.pool[e.first:], e.ops, func(i int) bool { return int64(ipAt(e.ips, wide, i)) >= off })
		return true, e.flags&epilogToParent != 0, err
	}
	return false, false, nil
}

// undoV3 is undo for version 3, whose offsets are those of the instructions, not of what comes
// after them.
func (s *stepper) undoV3(u *unwindInfo, off uint32, whole bool) error {
	f := &u.v3
	whole = whole || off >= u.prolog
	return s.undoWODs(f.pool, f.ops, func(i int) bool { return whole || off > ipAt(f.ips, f.wide, i) })
}

// undoWODs undoes those of the first n operations in b for which undo is true.
func (s *stepper) undoWODs(b []byte, n int, undo func(i int) bool) error {
	var list [maxWODs]wod
	ops := list[:0]
	for i := range n {
		w, size := decodeWOD(b)
		if size == 0 {
			return fmt.Errorf("operation %d of %d, %#x: %w", i, n, b[:min(len(b), 1)], ErrMalformed)
		}
		b = b[size:]
		if undo(i) {
			ops = append(ops, w)
		}
	}
	// With a frame pointer the stack pointer may have moved since.
	below := uint64(0)
	for i := range ops {
		if ops[i].op == wodSetFPReg {
			v, err := s.reg(amd64Regs[ops[i].reg])
			if err != nil {
				return err
			}
			s.sp = v - ops[i].n - below
			break
		}
		below += ops[i].taken()
	}
	for i := range ops {
		if err := s.undoWOD(&ops[i]); err != nil || s.done {
			return err
		}
	}
	return nil
}

func (s *stepper) undoWOD(w *wod) error {
	switch w.op {
	case wodSetFPReg: // undoWODs has done it
	case wodPush:
		if err := s.pushed(w.reg, s.sp); err != nil {
			return err
		}
	case wodPush2:
		if err := s.pushed(w.reg2, s.sp); err != nil {
			return err
		}
		if err := s.pushed(w.reg, s.sp+8); err != nil {
			return err
		}
	case wodSave, wodSaveFar:
		return s.pushed(w.reg, s.sp+w.n)
	case wodSaveXMM, wodSaveXMMFar:
		s.f.SavedXMM |= 1 << w.reg
		s.f.XMMAt[w.reg] = s.sp + w.n
	case wodFrame:
		if w.n > 1 {
			return fmt.Errorf("canonical frame of type %d: %w", w.n, ErrUnsupported)
		}
		return s.machineFrame(byte(w.n))
	}
	s.sp += w.taken()
	return nil
}

// pushed restores a register by its number.
func (s *stepper) pushed(reg byte, at uint64) error {
	switch {
	case int(reg) >= len(amd64Regs):
		return nil
	case amd64Regs[reg] == arch.RSP:
		return fmt.Errorf("rsp among the saved registers: %w", ErrMalformed)
	}
	return s.restore(amd64Regs[reg], at)
}
