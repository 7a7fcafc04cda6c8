// Package cfitest builds call frame information for tests: programs, .eh_frame and
// .debug_frame sections, and .eh_frame_hdr. It shares no code with a reader, so that they
// do not share mistakes.
package cfitest

import "encoding/binary"

// A Program is a list of call frame instructions. Each method adds one and returns the
// Program. Operands are given as encoded, that is, offsets are not multiplied by an
// alignment factor. The zero Program is empty and little-endian.
type Program struct {
	Big bool
	B   []byte
}

func (p *Program) add(b ...byte) *Program {
	p.B = append(p.B, b...)
	return p
}

func (p *Program) uleb(v uint64) *Program { p.B = ULEB(p.B, v); return p }
func (p *Program) sleb(v int64) *Program  { p.B = SLEB(p.B, v); return p }

func (p *Program) block(b []byte) *Program {
	p.B = append(ULEB(p.B, uint64(len(b))), b...)
	return p
}

// Raw adds bytes unchanged.
func (p *Program) Raw(b ...byte) *Program { return p.add(b...) }

// Nop adds DW_CFA_nop.
func (p *Program) Nop() *Program { return p.add(0x00) }

// Advance adds the shortest DW_CFA_advance_loc for n code units.
func (p *Program) Advance(n uint32) *Program {
	switch {
	case n < 0x40:
		return p.add(0x40 | byte(n))
	case n < 1<<8:
		return p.add(0x02, byte(n))
	case n < 1<<16:
		p.add(0x03)
		p.B = Uint(p.B, uint64(n), 2, p.Big)
	default:
		p.add(0x04)
		p.B = Uint(p.B, uint64(n), 4, p.Big)
	}
	return p
}

// DefCFA adds DW_CFA_def_cfa.
func (p *Program) DefCFA(reg, off uint64) *Program { return p.add(0x0c).uleb(reg).uleb(off) }

// DefCFASF adds DW_CFA_def_cfa_sf.
func (p *Program) DefCFASF(reg uint64, off int64) *Program { return p.add(0x12).uleb(reg).sleb(off) }

// DefCFARegister adds DW_CFA_def_cfa_register.
func (p *Program) DefCFARegister(reg uint64) *Program { return p.add(0x0d).uleb(reg) }

// DefCFAOffset adds DW_CFA_def_cfa_offset.
func (p *Program) DefCFAOffset(off uint64) *Program { return p.add(0x0e).uleb(off) }

// DefCFAExpression adds DW_CFA_def_cfa_expression.
func (p *Program) DefCFAExpression(expr ...byte) *Program { return p.add(0x0f).block(expr) }

// Offset adds DW_CFA_offset, or DW_CFA_offset_extended for registers from 64 on.
func (p *Program) Offset(reg, off uint64) *Program {
	if reg < 64 {
		return p.add(0x80 | byte(reg)).uleb(off)
	}
	return p.add(0x05).uleb(reg).uleb(off)
}

// OffsetSF adds DW_CFA_offset_extended_sf.
func (p *Program) OffsetSF(reg uint64, off int64) *Program { return p.add(0x11).uleb(reg).sleb(off) }

// ValOffset adds DW_CFA_val_offset.
func (p *Program) ValOffset(reg, off uint64) *Program { return p.add(0x14).uleb(reg).uleb(off) }

// ValOffsetSF adds DW_CFA_val_offset_sf.
func (p *Program) ValOffsetSF(reg uint64, off int64) *Program { return p.add(0x15).uleb(reg).sleb(off) }

// Restore adds DW_CFA_restore, or DW_CFA_restore_extended for registers from 64 on.
func (p *Program) Restore(reg uint64) *Program {
	if reg < 64 {
		return p.add(0xc0 | byte(reg))
	}
	return p.add(0x06).uleb(reg)
}

// Undefined adds DW_CFA_undefined.
func (p *Program) Undefined(reg uint64) *Program { return p.add(0x07).uleb(reg) }

// SameValue adds DW_CFA_same_value.
func (p *Program) SameValue(reg uint64) *Program { return p.add(0x08).uleb(reg) }

// Register adds DW_CFA_register: reg is kept in from.
func (p *Program) Register(reg, from uint64) *Program { return p.add(0x09).uleb(reg).uleb(from) }

// Expression adds DW_CFA_expression.
func (p *Program) Expression(reg uint64, expr ...byte) *Program {
	return p.add(0x10).uleb(reg).block(expr)
}

// ValExpression adds DW_CFA_val_expression.
func (p *Program) ValExpression(reg uint64, expr ...byte) *Program {
	return p.add(0x16).uleb(reg).block(expr)
}

// RememberState adds DW_CFA_remember_state.
func (p *Program) RememberState() *Program { return p.add(0x0a) }

// RestoreState adds DW_CFA_restore_state.
func (p *Program) RestoreState() *Program { return p.add(0x0b) }

// ArgsSize adds DW_CFA_GNU_args_size.
func (p *Program) ArgsSize(n uint64) *Program { return p.add(0x2e).uleb(n) }

// NegateRAState adds opcode 0x2d: DW_CFA_AARCH64_negate_ra_state, or
// DW_CFA_GNU_window_save on SPARC.
func (p *Program) NegateRAState() *Program { return p.add(0x2d) }

// ULEB appends v as unsigned LEB128.
func ULEB(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// SLEB appends v as signed LEB128.
func SLEB(b []byte, v int64) []byte {
	for {
		c := byte(v) & 0x7f
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Uint appends the low size bytes of v; size is 1, 2, 4 or 8.
func Uint(b []byte, v uint64, size int, big bool) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if big {
		order = binary.BigEndian
	}
	switch size {
	case 1:
		return append(b, byte(v))
	case 2:
		return order.AppendUint16(b, uint16(v))
	case 4:
		return order.AppendUint32(b, uint32(v))
	}
	return order.AppendUint64(b, v)
}
