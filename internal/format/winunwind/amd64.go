package winunwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Unwind codes of x64 (UWOP_...).
const (
	opPushNonvol    = 0
	opAllocLarge    = 1
	opAllocSmall    = 2
	opSetFPReg      = 3
	opSaveNonvol    = 4
	opSaveNonvolFar = 5
	opEpilog        = 6 // version 2: epilogue; version 1: a code that no current tool writes
	opSpare         = 7
	opSaveXMM       = 8
	opSaveXMMFar    = 9
	opPushMachFrame = 10
)

// flagChained marks unwind information that continues in another function's
// (UNW_FLAG_CHAININFO).
const flagChained = 4

// maxChain limits the length of a chain of unwind information.
const maxChain = 32

// amd64Regs are the registers by their number in instructions.
var amd64Regs = [16]arch.Reg{arch.RAX, arch.RCX, arch.RDX, arch.RBX, arch.RSP, arch.RBP, arch.RSI, arch.RDI,
	arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15}

// An unwindInfo is one UNWIND_INFO of x64.
type unwindInfo struct {
	version, flags uint8
	prolog         uint32   // size in bytes
	frame          arch.Reg // frame register, or NoReg
	frameOff       uint64   // offset in bytes of the frame register from the stack pointer
	codes          []byte   // two bytes each, without those of epilogues
	epilogs        []byte
	v3             fragment // instead of codes and epilogs
	parent         Function // if chained
}

// info reads the unwind information of an entry.
func (t *Table) info(fn Function) (unwindInfo, error) {
	for hops := 0; fn.Data&1 != 0; hops++ { // the entry refers to another one
		b := t.image.At(fn.Data - 1)
		if len(b) < entryAMD64 {
			return unwindInfo{}, fmt.Errorf("entry at RVA %#x: %w", fn.Data-1, ErrTruncated)
		}
		if hops == maxChain {
			return unwindInfo{}, fmt.Errorf("chain of more than %d entries: %w", maxChain, ErrMalformed)
		}
		fn.Data = le.Uint32(b[8:])
	}
	b := t.image.At(fn.Data)
	if len(b) < 4 {
		return unwindInfo{}, fmt.Errorf("UNWIND_INFO at RVA %#x: %w", fn.Data, ErrTruncated)
	}
	u := unwindInfo{version: b[0] & 7, flags: b[0] >> 3, prolog: uint32(b[1]), frame: arch.NoReg, frameOff: uint64(b[3]>>4) * 16}
	if u.version < 1 || u.version > 3 {
		return u, fmt.Errorf("UNWIND_INFO of version %d at RVA %#x, want 1, 2 or 3: %w", u.version, fn.Data, ErrUnsupported)
	}
	n := 2 * int(b[2])
	if len(b) < 4+n {
		return u, fmt.Errorf("%d unwind codes at RVA %#x: %w", b[2], fn.Data, ErrTruncated)
	}
	if u.version == 3 {
		if err := u.fragment(b[3], b[4:4+n]); err != nil {
			return u, fmt.Errorf("UNWIND_INFO of version 3 at RVA %#x: %w", fn.Data, err)
		}
	} else {
		u.codes = b[4 : 4+n]
		if n := b[3] & 15; n != 0 {
			u.frame = amd64Regs[n]
		}
	}
	if u.flags&flagChained != 0 {
		if b = b[min(len(b), 4+(n+3)&^3):]; len(b) < entryAMD64 {
			return u, fmt.Errorf("chained entry after RVA %#x: %w", fn.Data, ErrTruncated)
		}
		u.parent = Function{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:])}
	}
	if u.version == 2 {
		n = 0
		for n < len(u.codes) && u.codes[n+1]&15 == opEpilog {
			n += 2
		}
		u.epilogs, u.codes = u.codes[:n], u.codes[n:]
	}
	return u, nil
}

func (s *stepper) stepAMD64(fn Function, found bool) error {
	if !found {
		return s.popReturn()
	}
	u, err := s.info(fn)
	if err != nil {
		return err
	}
	off := s.rva - fn.Begin
	undone := false
	switch {
	case u.version == 3:
		found, toParent, err := s.epilogueV3(fn, &u)
		if err != nil || s.done {
			return err
		}
		if found && !toParent {
			return s.popReturn()
		}
		undone = found
	case s.exact && off >= u.prolog:
		if done, err := s.epilogue(fn, &u); done || err != nil {
			return err
		}
	}
	for hops := 0; ; hops++ {
		if !undone {
			if err := s.undo(&u, off, hops > 0); err != nil || s.done {
				return err
			}
		}
		undone = false
		if u.flags&flagChained == 0 {
			return s.popReturn()
		}
		if hops == maxChain {
			return fmt.Errorf("more than %d chained entries: %w", maxChain, ErrMalformed)
		}
		if u, err = s.info(u.parent); err != nil {
			return err
		}
	}
}

func (s *stepper) popReturn() error {
	if err := s.restore(arch.RIP, s.sp); err != nil {
		return err
	}
	s.sp += 8
	return nil
}

// undo undoes what one UNWIND_INFO describes, as far as it has been executed off bytes into
// the code; for a parent, all of it. This applies to every frame, not only the youngest:
// prologues of large frames call __chkstk before they allocate.
func (s *stepper) undo(u *unwindInfo, off uint32, whole bool) error {
	if u.version == 3 {
		return s.undoV3(u, off, whole)
	}
	base, err := s.frameBase(u, off, whole)
	if err != nil {
		return err
	}
	for c := u.codes; len(c) > 0 && !s.done; {
		n := slots(c[1])
		if n == 0 {
			return fmt.Errorf("unknown unwind code %d: %w", c[1]&15, ErrUnsupported)
		}
		if len(c) < 2*n {
			return fmt.Errorf("unwind code %d has %d slots, but only %d are left: %w", c[1]&15, n, len(c)/2, ErrMalformed)
		}
		if whole || off >= uint32(c[0]) {
			if err := s.execute(c[:2*n], base); err != nil {
				return err
			}
		}
		c = c[2*n:]
	}
	return nil
}

// frameBase returns the base of the offsets in u's codes: the stack pointer at the end of
// the prologue, or the current one if the frame register is not set yet.
func (s *stepper) frameBase(u *unwindInfo, off uint32, whole bool) (uint64, error) {
	if u.frame == arch.NoReg {
		return s.sp, nil
	}
	set := whole || off >= u.prolog || u.flags&flagChained != 0
	for c := u.codes; len(c) > 0 && !set; {
		n := slots(c[1])
		if n == 0 || len(c) < 2*n {
			break // undo reports the error
		}
		set = c[1]&15 == opSetFPReg && uint32(c[0]) <= off
		c = c[2*n:]
	}
	if !set {
		return s.sp, nil
	}
	v, err := s.reg(u.frame)
	return v - u.frameOff, err
}

// slots returns how many slots of two bytes a code takes, or 0 if it is unknown.
func slots(op byte) int {
	switch op & 15 {
	case opPushNonvol, opAllocSmall, opSetFPReg, opPushMachFrame:
		return 1
	case opAllocLarge:
		if op>>4 == 0 {
			return 2
		}
		return 3
	case opSaveNonvol, opSaveXMM, opEpilog:
		return 2
	case opSaveNonvolFar, opSaveXMMFar, opSpare:
		return 3
	}
	return 0
}

// execute undoes one code; all its slots are in c.
func (s *stepper) execute(c []byte, base uint64) error {
	info := c[1] >> 4
	operand := func(scale uint64) uint64 {
		if len(c) == 6 {
			return uint64(le.Uint32(c[2:]))
		}
		return uint64(le.Uint16(c[2:])) * scale
	}
	switch c[1] & 15 {
	case opPushNonvol:
		if amd64Regs[info] == arch.RSP {
			return fmt.Errorf("rsp among the saved registers: %w", ErrMalformed)
		}
		if err := s.restore(amd64Regs[info], s.sp); err != nil {
			return err
		}
		s.sp += 8
	case opAllocLarge:
		s.sp += operand(8)
	case opAllocSmall:
		s.sp += uint64(info)*8 + 8
	case opSetFPReg:
		s.sp = base
	case opSaveNonvol, opSaveNonvolFar:
		if amd64Regs[info] == arch.RSP {
			return fmt.Errorf("rsp among the saved registers: %w", ErrMalformed)
		}
		return s.restore(amd64Regs[info], base+operand(8))
	case opSaveXMM, opSaveXMMFar:
		s.f.SavedXMM |= 1 << info
		s.f.XMMAt[info] = base + operand(16)
	case opPushMachFrame:
		return s.machineFrame(info)
	}
	return nil
}

// machineFrame restores what the processor pushed at an exception or interrupt: possibly an
// error code, then rip, cs, eflags, rsp and ss.
func (s *stepper) machineFrame(withError byte) error {
	if withError == 1 {
		s.sp += 8
	}
	at := s.sp
	if err := s.restore(arch.RIP, at); err != nil {
		return err
	}
	if err := s.restore(arch.RSP, at+24); err != nil {
		return err
	}
	s.sp, _ = s.f.Regs.Get(arch.RSP)
	s.done, s.f.Interrupted = true, true
	return nil
}
