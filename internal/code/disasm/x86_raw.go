package disasm

import (
	"encoding/binary"
	"fmt"
)

// Encodings of opcodes.
const (
	encLegacy = iota
	encVEX    // Intel SDM volume 2, 2.3.5
	encEVEX   // 2.7
	encXOP    // AMD APM volume 6
)

// Opcode maps. Numbers up to map6 are those in the mmmmm field of VEX and EVEX.
const (
	mapOne = 0 // one-byte opcodes
	map0F  = 1
	map38  = 2
	map3A  = 3
	map5   = 5 // EVEX only: half precision
	map6   = 6
	map7   = 7  // VEX and EVEX, with imm32
	mapX8  = 8  // XOP, with imm8
	mapX9  = 9  // XOP
	mapXA  = 10 // XOP, with imm32
	map3DN = 16 // 3DNow!: 0F 0F modrm imm8
)

// Mandatory prefixes, numbered as in the VEX pp field.
const (
	ppNone = 0
	pp66   = 1
	ppF3   = 2
	ppF2   = 3
)

// Bits of a REX prefix.
const (
	rexB = 1 << iota
	rexX
	rexR
	rexW
)

// An x86Raw is a parsed instruction, before its meaning is determined.
type x86Raw struct {
	enc, opmap, op uint8
	pp             uint8 // mandatory prefix; for legacy encodings, what the prefixes would mean as one
	rex            uint8 // rexW..rexB, from whichever prefix contains them
	hasREX         bool  // a real REX prefix: spl instead of ah
	opsize, addr   bool  // prefixes 66 and 67
	lock           bool
	rep            uint8 // last of F2 and F3, or 0
	seg            uint8 // last segment prefix, or 0
	notrack        bool  // prefix 3E
	vl             uint8 // vector length: 0, 1, 2 for 16, 32, 64 bytes
	vvvv           uint8 // register in the VEX prefix, not inverted
	bcast          bool  // EVEX.b

	modrm, sib       uint8
	hasModRM, hasSIB bool
	dispLen          uint8
	immLen           uint8
	disp, imm        int64 // sign-extended
	imm2             uint16
	info             opInfo // for legacy maps one-byte and 0F
	len              int
}

func (r *x86Raw) mod() uint8     { return r.modrm >> 6 }
func (r *x86Raw) reg() uint8     { return r.modrm >> 3 & 7 } // opcode extension or register, without REX.R
func (r *x86Raw) rm() uint8      { return r.modrm & 7 }
func (r *x86Raw) regExt() uint8  { return r.reg() | r.rex&rexR<<1 }
func (r *x86Raw) rmExt() uint8   { return r.rm() | r.rex&rexB<<3 }
func (r *x86Raw) memForm() bool  { return r.hasModRM && r.modrm < 0xc0 }
func (r *x86Raw) w() bool        { return r.rex&rexW != 0 }
func (r *x86Raw) vlBytes() int   { return 16 << r.vl }
func (r *x86Raw) is66() bool     { return r.pp == pp66 }
func (r *x86Raw) legacy0F() bool { return r.enc == encLegacy && r.opmap == map0F }

// A codeReader reads the bytes of one instruction.
type codeReader struct {
	code []byte // at most MaxLen bytes
	pos  int
	full bool // code was cut at MaxLen: an instruction that needs more is invalid
}

// peek returns the byte n bytes after the next one.
func (c *codeReader) peek(n int) (uint8, bool) {
	if c.pos+n < len(c.code) {
		return c.code[c.pos+n], true
	}
	return 0, false
}

// over returns the error for an instruction that extends past the code.
func (c *codeReader) over() error {
	if c.full {
		return fmt.Errorf("instruction is longer than %d bytes: %w", MaxLen, ErrUnknown)
	}
	return fmt.Errorf("after %d bytes: %w", len(c.code), ErrTruncated)
}

func (c *codeReader) u8() (uint8, error) {
	if c.pos >= len(c.code) {
		return 0, c.over()
	}
	b := c.code[c.pos]
	c.pos++
	return b, nil
}

// signed reads a little-endian integer of n bytes: 0, 1, 2, 4 or 8.
func (c *codeReader) signed(n uint8) (int64, error) {
	if c.pos+int(n) > len(c.code) {
		return 0, c.over()
	}
	b := c.code[c.pos:]
	c.pos += int(n)
	switch n {
	case 1:
		return int64(int8(b[0])), nil
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b))), nil
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b))), nil
	case 8:
		return int64(binary.LittleEndian.Uint64(b)), nil
	}
	return 0, nil
}

// takeApart parses the instruction at the start of code into fields.
func (m *x86Mode) takeApart(r *x86Raw, code []byte) error {
	c := codeReader{code: code}
	if len(code) > MaxLen {
		c.code, c.full = code[:MaxLen], true
	}
	op, err := m.prefixes(r, &c)
	if err != nil {
		return err
	}
	if err := m.opcode(r, &c, op); err != nil {
		return err
	}
	if r.hasModRM {
		if err := m.address(r, &c); err != nil {
			return err
		}
	}
	if err := m.immediate(r, &c); err != nil {
		return err
	}
	r.len = c.pos
	return nil
}

// prefixes reads legacy prefixes and REX, and returns the byte after them.
func (m *x86Mode) prefixes(r *x86Raw, c *codeReader) (uint8, error) {
	for {
		b, err := c.u8()
		if err != nil {
			return 0, err
		}
		switch b {
		case 0x66:
			r.opsize = true
		case 0x67:
			r.addr = true
		case 0xf0:
			r.lock = true
		case 0xf2, 0xf3:
			r.rep = b
		case 0x26, 0x2e, 0x36, 0x64, 0x65:
			r.seg = b
		case 0x3e:
			r.notrack = true
			r.seg = b
		default:
			if m.bits != 64 || b&0xf0 != 0x40 {
				r.pp = r.mandatory()
				return b, nil
			}
			// REX counts only directly before the opcode.
			r.rex, r.hasREX = b&15, true
			continue
		}
		r.rex, r.hasREX = 0, false
	}
}

// mandatory returns the meaning of the legacy prefixes as part of the opcode.
func (r *x86Raw) mandatory() uint8 {
	switch {
	case r.rep == 0xf3:
		return ppF3
	case r.rep == 0xf2:
		return ppF2
	case r.opsize:
		return pp66
	}
	return ppNone
}

// opcode reads the opcode, beginning with b, and determines what follows.
func (m *x86Mode) opcode(r *x86Raw, c *codeReader, b uint8) error {
	if handled, err := m.vexLike(r, c, b); handled || err != nil {
		return err
	}
	var err error
	r.op = b
	if b != 0x0f {
		r.info = oneByteOps[b]
		if m.bits == 64 && r.info&oiNot64 != 0 {
			return fmt.Errorf("opcode %#02x in 64-bit mode: %w", b, ErrUnknown)
		}
		r.hasModRM = r.info&oiModRM != 0
		return nil
	}
	if r.op, err = c.u8(); err != nil {
		return err
	}
	switch r.op {
	case 0x38, 0x3a:
		r.opmap, r.hasModRM = map38, true
		if r.op == 0x3a {
			r.opmap = map3A
		}
		r.op, err = c.u8()
		return err
	case 0x0f: // 3DNow!: the opcode is the last byte
		r.opmap, r.hasModRM = map3DN, true
		return nil
	}
	r.opmap = map0F
	r.info = twoByteOps[r.op]
	if r.info&oiInvalid != 0 {
		return fmt.Errorf("opcode 0f %02x: %w", r.op, ErrUnknown)
	}
	r.hasModRM = r.info&oiModRM != 0
	return nil
}

// vexLike reads a VEX, EVEX or XOP prefix that begins with b, and the opcode after it. It
// returns false if b begins no such prefix.
func (m *x86Mode) vexLike(r *x86Raw, c *codeReader, b uint8) (bool, error) {
	if b != 0xc4 && b != 0xc5 && b != 0x62 && b != 0x8f {
		return false, nil
	}
	next, ok := c.peek(0)
	if !ok {
		return false, c.over()
	}
	if b == 0x8f {
		if next&0x1f < 8 { // pop
			return false, nil
		}
	} else if m.bits != 64 && next < 0xc0 { // les, lds, bound
		return false, nil
	}
	if r.lock || r.hasREX || r.opsize || r.rep != 0 {
		return true, fmt.Errorf("prefix before %02x: %w", b, ErrUnknown)
	}
	var err error
	switch b {
	case 0xc5:
		err = m.vex2(r, c)
	case 0x62:
		err = m.evex(r, c)
	default:
		err = m.vex3(r, c, b == 0x8f)
	}
	if err != nil {
		return true, err
	}
	r.op, err = c.u8()
	// Only vzeroupper and vzeroall have no modrm byte.
	r.hasModRM = !(r.enc == encVEX && r.opmap == map0F && r.op == 0x77)
	return true, err
}

func (m *x86Mode) vex2(r *x86Raw, c *codeReader) error {
	b, err := c.u8()
	if err != nil {
		return err
	}
	r.enc, r.opmap = encVEX, map0F
	r.rex = ^b >> 7 * rexR
	r.vexTail(m, b)
	return nil
}

// vexTail decodes the last fields of XOP and both forms of VEX: vvvv, L, pp.
func (r *x86Raw) vexTail(m *x86Mode, b uint8) {
	r.vvvv = ^b >> 3 & 15
	r.vl = b >> 2 & 1
	r.pp = b & 3
	if m.bits != 64 {
		r.vvvv &= 7
		r.rex &= rexW
	}
}

func (m *x86Mode) vex3(r *x86Raw, c *codeReader, xop bool) error {
	b1, err := c.u8()
	if err != nil {
		return err
	}
	b2, err := c.u8()
	if err != nil {
		return err
	}
	r.enc, r.opmap = encVEX, b1&31
	r.rex = ^b1>>5&7 | b2>>7*rexW
	r.vexTail(m, b2)
	ok := r.opmap == map0F || r.opmap == map38 || r.opmap == map3A || r.opmap == map7
	if xop {
		r.enc = encXOP
		ok = r.opmap == mapX8 || r.opmap == mapX9 || r.opmap == mapXA
	}
	if !ok {
		return fmt.Errorf("opcode map %d: %w", r.opmap, ErrUnknown)
	}
	return nil
}

func (m *x86Mode) evex(r *x86Raw, c *codeReader) error {
	var p [3]uint8
	for i := range p {
		var err error
		if p[i], err = c.u8(); err != nil {
			return err
		}
	}
	r.enc, r.opmap = encEVEX, p[0]&7
	r.rex = ^p[0]>>5&7 | p[1]>>7*rexW
	r.vvvv = ^p[1] >> 3 & 15
	r.pp = p[1] & 3
	r.bcast = p[2]&0x10 != 0
	r.vl = p[2] >> 5 & 3
	if m.bits != 64 {
		r.vvvv &= 7
		r.rex &= rexW
	}
	if p[0]&8 != 0 || p[1]&4 == 0 || r.opmap == mapOne || r.opmap == 4 {
		return fmt.Errorf("EVEX prefix %02x %02x %02x: %w", p[0], p[1], p[2], ErrUnknown)
	}
	return nil
}

// address reads modrm and what it requires: SIB and displacement.
func (m *x86Mode) address(r *x86Raw, c *codeReader) (err error) {
	if r.modrm, err = c.u8(); err != nil {
		return err
	}
	if r.mod() == 3 || r.legacy0F() && r.op >= 0x20 && r.op <= 0x23 {
		r.modrm |= 0xc0 // moves of control registers have no memory form, whatever mod is
		return nil
	}
	if m.bits == 32 && r.addr {
		return r.address16(c)
	}
	switch r.mod() {
	case 0:
		if r.rm() == 5 {
			r.dispLen = 4
		}
	case 1:
		r.dispLen = 1
	case 2:
		r.dispLen = 4
	}
	if r.rm() == 4 {
		r.hasSIB = true
		if r.sib, err = c.u8(); err != nil {
			return err
		}
		if r.mod() == 0 && r.sib&7 == 5 {
			r.dispLen = 4
		}
	}
	r.disp, err = c.signed(r.dispLen)
	return err
}

// address16 reads the displacement of a 16-bit address.
func (r *x86Raw) address16(c *codeReader) (err error) {
	switch {
	case r.mod() == 1:
		r.dispLen = 1
	case r.mod() == 2, r.rm() == 6:
		r.dispLen = 2
	}
	r.disp, err = c.signed(r.dispLen)
	return err
}

// immediate reads what follows the operand bytes.
func (m *x86Mode) immediate(r *x86Raw, c *codeReader) (err error) {
	kind := m.immKind(r)
	switch kind {
	case immNone:
		return nil
	case imm16and8: // enter
		if r.imm, err = c.signed(2); err != nil {
			return err
		}
		r.imm &= 0xffff
		var level uint8
		level, err = c.u8()
		r.imm2 = uint16(level)
		r.immLen = 3
		return err
	case immFar: // selector after the offset
		n := m.sizeZ(r)
		if r.imm, err = c.signed(n); err != nil {
			return err
		}
		var sel int64
		sel, err = c.signed(2)
		r.imm2 = uint16(sel)
		r.immLen = n + 2
		return err
	}
	r.immLen = m.immSize(r, kind)
	r.imm, err = c.signed(r.immLen)
	return err
}

// immSize returns the size in bytes of an immediate of a simple kind.
func (m *x86Mode) immSize(r *x86Raw, kind opInfo) uint8 {
	switch kind {
	case imm8:
		return 1
	case imm16:
		return 2
	case imm32:
		return 4
	case immZ:
		return m.sizeZ(r)
	case immRel: // in 64-bit mode Intel's processors ignore prefix 66 here
		if m.bits == 64 {
			return 4
		}
		return m.sizeZ(r)
	case immV:
		if r.w() {
			return 8
		}
		return m.sizeZ(r)
	case immAddr:
		return m.addrSize(r)
	}
	return 0
}

// sizeZ returns the operand size, with 8 reduced to 4.
func (m *x86Mode) sizeZ(r *x86Raw) uint8 {
	if r.opsize && !r.w() {
		return 2
	}
	return 4
}

// addrSize returns the address size in bytes.
func (m *x86Mode) addrSize(r *x86Raw) uint8 {
	switch {
	case m.bits == 64 && !r.addr:
		return 8
	case m.bits == 64 || !r.addr:
		return 4
	}
	return 2
}

// immKind returns the kind of the instruction's immediate.
func (m *x86Mode) immKind(r *x86Raw) opInfo {
	switch r.opmap {
	case mapOne:
		if r.op == 0xf6 && r.reg() < 2 {
			return imm8
		}
		if r.op == 0xf7 && r.reg() < 2 {
			return immZ
		}
		return r.info & oiImm
	case map0F:
		if r.op == 0x78 && r.enc == encLegacy && (r.pp == ppF2 || r.pp == pp66) {
			return imm16 // extrq and insertq with two one-byte immediates
		}
		if r.enc != encLegacy {
			switch r.op {
			case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
				return imm8
			}
			return immNone
		}
		return r.info & oiImm
	case map3A, map3DN, mapX8:
		return imm8
	case map7, mapXA:
		return imm32
	}
	return immNone
}
