package cfi

import "fmt"

// Call frame instructions: DWARF 5, section 7.24, table 7.29, and vendor extensions.
const (
	cfaAdvanceLoc = 0x40 // the low six bits are the distance
	cfaOffset     = 0x80 // the low six bits are the register
	cfaRestore    = 0xc0 // the low six bits are the register

	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvanceLoc1      = 0x02
	cfaAdvanceLoc2      = 0x03
	cfaAdvanceLoc4      = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16

	cfaMIPSAdvanceLoc8                 = 0x1d
	cfaAArch64NegateRAStateWithPC      = 0x2c
	cfaGNUWindowSave                   = 0x2d // DW_CFA_AARCH64_negate_ra_state on AArch64
	cfaGNUArgsSize                     = 0x2e
	cfaGNUNegativeOffsetExtended       = 0x2f
	sparcO0, sparcO7, sparcL0, sparcI7 = 8, 15, 16, 31 // DWARF numbers of SPARC's window registers
)

// extended executes an instruction whose opcode occupies the whole byte.
func (p *program) extended(b byte) error {
	c, k := &p.c, p.f.cie
	switch b {
	case cfaNop:
	case cfaAdvanceLoc1:
		return p.move(p.row.Start + uint64(c.U8())*k.codeAlign)
	case cfaAdvanceLoc2:
		return p.move(p.row.Start + uint64(c.U16())*k.codeAlign)
	case cfaAdvanceLoc4:
		return p.move(p.row.Start + uint64(c.U32())*k.codeAlign)
	case cfaMIPSAdvanceLoc8:
		return p.move(p.row.Start + c.U64()*k.codeAlign)
	case cfaSetLoc:
		bases := p.t.bases(k, p.f.begin)
		return p.move(k.enc.read(c, &bases))
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAOffsetSF:
		p.defCFA(b)
	case cfaDefCFAExpression:
		p.row.cfa = p.expression(Expression)
	case cfaRememberState:
		return p.remember()
	case cfaRestoreState:
		return p.recall()
	case cfaRestoreExtended:
		return p.restore(c.ULEB())
	case cfaGNUArgsSize:
		p.row.ArgsSize = c.ULEB()
	case cfaAArch64NegateRAStateWithPC:
		p.row.RASigned = !p.row.RASigned
	case cfaGNUWindowSave:
		if !p.t.cfg.AArch64 {
			return p.windowSave()
		}
		p.row.RASigned = !p.row.RASigned
	default:
		return p.registerRule(b)
	}
	return nil
}

// defCFA executes the instructions that set the CFA to a register and an offset. If they
// set only one of them, the other stays.
func (p *program) defCFA(b byte) {
	c, cfa := &p.c, &p.row.cfa
	if cfa.kind != Register && (b == cfaDefCFAOffset || b == cfaDefCFAOffsetSF) {
		c.Fail(fmt.Errorf("CFA offset without a CFA register"))
		return
	}
	if cfa.kind != Register {
		*cfa = rule{}
	}
	cfa.kind = Register
	if b == cfaDefCFA || b == cfaDefCFASF || b == cfaDefCFARegister {
		cfa.from = uint32(p.register())
	}
	switch b {
	case cfaDefCFA, cfaDefCFAOffset:
		cfa.n = int64(c.ULEB())
	case cfaDefCFASF, cfaDefCFAOffsetSF:
		cfa.n = c.SLEB() * p.f.cie.dataAlign
	}
}

// registerRule executes the instructions that set a register's rule and begin with its
// number.
func (p *program) registerRule(b byte) error {
	c, align := &p.c, p.f.cie.dataAlign
	switch b {
	case cfaOffsetExtended, cfaOffsetExtendedSF, cfaUndefined, cfaSameValue, cfaRegister, cfaExpression,
		cfaValOffset, cfaValOffsetSF, cfaValExpression, cfaGNUNegativeOffsetExtended:
	default:
		return fmt.Errorf("unknown opcode %#02x", b)
	}
	r := rule{}
	reg := p.register()
	switch b {
	case cfaOffsetExtended:
		r = rule{kind: Offset, n: int64(c.ULEB()) * align}
	case cfaOffsetExtendedSF:
		r = rule{kind: Offset, n: c.SLEB() * align}
	case cfaGNUNegativeOffsetExtended:
		r = rule{kind: Offset, n: -int64(c.ULEB()) * align}
	case cfaValOffset:
		r = rule{kind: ValOffset, n: int64(c.ULEB()) * align}
	case cfaValOffsetSF:
		r = rule{kind: ValOffset, n: c.SLEB() * align}
	case cfaUndefined:
		r.kind = Undefined
	case cfaSameValue:
		r.kind = SameValue
	case cfaRegister:
		r = rule{kind: Register, from: uint32(p.register())}
	case cfaExpression:
		r = p.expression(Expression)
	case cfaValExpression:
		r = p.expression(ValExpression)
	}
	if c.Error != nil {
		return c.Error
	}
	r.reg = reg
	return p.put(r)
}

// windowSave executes the effect of a SPARC save instruction: the caller's out registers
// are this function's in registers, and its local and in registers are in the 16 words at
// the CFA.
func (p *program) windowSave() error {
	for r := uint16(sparcO0); r <= sparcO7; r++ {
		if err := p.put(rule{reg: r, kind: Register, from: uint32(r) + 16}); err != nil {
			return err
		}
	}
	for r := uint16(sparcL0); r <= sparcI7; r++ {
		if err := p.put(rule{reg: r, kind: Offset, n: int64(r-sparcL0) * int64(p.f.cie.addrSize)}); err != nil {
			return err
		}
	}
	return nil
}
