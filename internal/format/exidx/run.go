package exidx

import (
	"errors"
	"fmt"
)

// Reasons why instructions cannot be executed. Every error of Run wraps one of them or is
// an error of the memory.
var (
	// ErrRefused: the instructions say that the function cannot be unwound (refuse to
	// unwind).
	ErrRefused = errors.New("unwinding instructions refuse to unwind")
	// ErrSpare: an instruction that the ABI does not define.
	ErrSpare = errors.New("undefined unwinding instruction")
	// ErrUnknownReg: the stack pointer is set from a register whose value is unknown.
	ErrUnknownReg = errors.New("unwinding needs an unknown register")
)

// Numbers of general registers.
const (
	sp = 13
	lr = 14
	pc = 15
)

// Memory reads the word at an address.
type Memory func(addr uint32) (uint32, error)

// A Frame is a function's frame: both input and result of Run.
type Frame struct {
	// Reg holds r0 to r15 in the function, if Known includes them. Run replaces those that
	// it restores by the caller's; SP then is the caller's and PC the return address.
	Reg   [16]uint32
	Known uint16
	// Saved are the addresses from which the registers in Restored were read.
	Saved    [16]uint32
	Restored uint16
	// SavedD are the addresses at which d0 to d31 are saved, for those in RestoredD.
	SavedD    [32]uint32
	RestoredD uint32
}

// know sets a register.
func (f *Frame) know(r int, v uint32) {
	f.Reg[r] = v
	f.Known |= 1 << r
}

// A machine executes instructions.
type machine struct {
	*Frame
	ops []byte
	mem Memory
	vsp uint32
}

// Run executes the instructions of an entry, which turns f into the caller's frame. After
// an error, f must not be used.
func Run(ops []byte, f *Frame, mem Memory) error {
	if f.Known>>sp&1 == 0 {
		return ErrUnknownReg
	}
	f.Restored, f.RestoredD = 0, 0
	m := machine{f, ops, mem, f.Reg[sp]}
	for len(m.ops) > 0 {
		op := m.next()
		if op == 0xb0 { // finish
			break
		}
		if err := m.step(op); err != nil {
			return err
		}
	}
	if f.Restored>>pc&1 == 0 {
		if f.Known>>lr&1 == 0 {
			return ErrUnknownReg
		}
		f.know(pc, f.Reg[lr])
		f.Saved[pc] = f.Saved[lr]
	}
	f.know(sp, m.vsp)
	return nil
}

// next returns the next byte; the end of the instructions counts as finish.
func (m *machine) next() byte {
	if len(m.ops) == 0 {
		return 0xb0
	}
	op := m.ops[0]
	m.ops = m.ops[1:]
	return op
}

// step executes one instruction (EHABI32, 10.3, table 4).
func (m *machine) step(op byte) error {
	switch {
	case op < 0x40:
		m.vsp += uint32(op)<<2 + 4
	case op < 0x80:
		m.vsp -= uint32(op&0x3f)<<2 + 4
	case op < 0x90:
		mask := uint16(op&15)<<8 | uint16(m.next())
		if mask == 0 {
			return ErrRefused
		}
		return m.pop(mask << 4)
	case op == 0x9d || op == 0x9f:
		return m.spare(op)
	case op < 0xa0:
		r := int(op & 15)
		if m.Known>>r&1 == 0 {
			return fmt.Errorf("r%d: %w", r, ErrUnknownReg)
		}
		m.vsp = m.Reg[r]
	case op < 0xb0:
		mask := uint16(2)<<(op&7) - 1
		if mask <<= 4; op&8 != 0 {
			mask |= 1 << lr
		}
		return m.pop(mask)
	case op < 0xc0:
		return m.misc(op)
	default:
		return m.vectors(op)
	}
	return nil
}

func (m *machine) spare(op byte) error { return fmt.Errorf("%#02x: %w", op, ErrSpare) }

// misc executes the instructions from 0xb1 on.
func (m *machine) misc(op byte) error {
	switch {
	case op == 0xb1:
		mask := m.next()
		if mask == 0 || mask > 15 {
			return m.spare(op)
		}
		return m.pop(uint16(mask))
	case op == 0xb2:
		m.vsp += 0x204 + m.uleb()<<2
	case op == 0xb3: // fstmfdx stores an extra word
		err := m.popRange(0)
		m.vsp += 4
		return err
	case op == 0xb4: // return address authentication code
		m.vsp += 4
	case op == 0xb5: // vsp is the modifier of the authentication code
	case op < 0xb8:
		return m.spare(op)
	default:
		m.popD(8, int(op&7)+1)
		m.vsp += 4
	}
	return nil
}

// uleb reads a number; bits above the 32nd are lost.
func (m *machine) uleb() (v uint32) {
	for shift := uint(0); len(m.ops) > 0; shift += 7 {
		b := m.next()
		v |= uint32(b&0x7f) << min(shift, 32)
		if b&0x80 == 0 {
			break
		}
	}
	return v
}

// vectors executes the instructions from 0xc0 on.
func (m *machine) vectors(op byte) error {
	switch {
	case op < 0xc6:
		m.vsp += 8 * (uint32(op&7) + 1) // wR10 and up
	case op == 0xc6:
		m.vsp += 8 * (uint32(m.next()&15) + 1)
	case op == 0xc7:
		mask := m.next()
		if mask == 0 || mask > 15 {
			return m.spare(op)
		}
		for ; mask != 0; mask &= mask - 1 {
			m.vsp += 4
		}
	case op == 0xc8:
		return m.popRange(16)
	case op == 0xc9:
		return m.popRange(0)
	case op >= 0xd0 && op < 0xd8:
		m.popD(8, int(op&7)+1)
	default:
		return m.spare(op)
	}
	return nil
}

// popRange pops the double registers given by the next byte, counted from base.
func (m *machine) popRange(base int) error {
	b := m.next()
	first, n := base+int(b>>4), int(b&15)+1
	if first+n > len(m.SavedD) {
		return m.spare(b)
	}
	m.popD(first, n)
	return nil
}

func (m *machine) popD(first, n int) {
	for r := first; r < first+n; r++ {
		m.SavedD[r] = m.vsp
		m.RestoredD |= 1 << r
		m.vsp += 8
	}
}

// pop restores general registers. A stack pointer among them takes effect at the end.
func (m *machine) pop(mask uint16) error {
	for r := range 16 {
		if mask>>r&1 == 0 {
			continue
		}
		v, err := m.mem(m.vsp)
		if err != nil {
			return fmt.Errorf("saved r%d: %w", r, err)
		}
		m.know(r, v)
		m.Saved[r] = m.vsp
		m.Restored |= 1 << r
		m.vsp += 4
	}
	if mask>>sp&1 != 0 {
		m.vsp = m.Reg[sp]
	}
	return nil
}
