package op

import "fmt"

// An Op is an operator's opcode: DWARF 5, section 7.7.1, table 7.9.
type Op uint8

// The standard operators, with the specification's names after DW_OP_. Those whose name is
// also that of a kind of location begin with Op. Lit0 to Lit31, Reg0 to Reg31 and Breg0 to
// Breg31 are ranges of which only the first is named.
const (
	Addr              Op = 0x03
	Deref             Op = 0x06
	Const1u           Op = 0x08
	Const1s           Op = 0x09
	Const2u           Op = 0x0a
	Const2s           Op = 0x0b
	Const4u           Op = 0x0c
	Const4s           Op = 0x0d
	Const8u           Op = 0x0e
	Const8s           Op = 0x0f
	Constu            Op = 0x10
	Consts            Op = 0x11
	Dup               Op = 0x12
	Drop              Op = 0x13
	Over              Op = 0x14
	Pick              Op = 0x15
	Swap              Op = 0x16
	Rot               Op = 0x17
	Xderef            Op = 0x18
	Abs               Op = 0x19
	And               Op = 0x1a
	Div               Op = 0x1b
	Minus             Op = 0x1c
	Mod               Op = 0x1d
	Mul               Op = 0x1e
	Neg               Op = 0x1f
	Not               Op = 0x20
	Or                Op = 0x21
	Plus              Op = 0x22
	PlusUconst        Op = 0x23
	Shl               Op = 0x24
	Shr               Op = 0x25
	Shra              Op = 0x26
	Xor               Op = 0x27
	Bra               Op = 0x28
	Eq                Op = 0x29
	Ge                Op = 0x2a
	Gt                Op = 0x2b
	Le                Op = 0x2c
	Lt                Op = 0x2d
	Ne                Op = 0x2e
	Skip              Op = 0x2f
	Lit0              Op = 0x30
	Reg0              Op = 0x50
	Breg0             Op = 0x70
	Regx              Op = 0x90
	Fbreg             Op = 0x91
	Bregx             Op = 0x92
	OpPiece           Op = 0x93
	DerefSize         Op = 0x94
	XderefSize        Op = 0x95
	Nop               Op = 0x96
	PushObjectAddress Op = 0x97
	Call2             Op = 0x98
	Call4             Op = 0x99
	CallRef           Op = 0x9a
	FormTLSAddress    Op = 0x9b
	CallFrameCFA      Op = 0x9c
	BitPiece          Op = 0x9d
	OpImplicitValue   Op = 0x9e
	OpStackValue      Op = 0x9f
	OpImplicitPointer Op = 0xa0
	Addrx             Op = 0xa1
	Constx            Op = 0xa2
	EntryValue        Op = 0xa3
	ConstType         Op = 0xa4
	RegvalType        Op = 0xa5
	DerefType         Op = 0xa6
	XderefType        Op = 0xa7
	Convert           Op = 0xa8
	Reinterpret       Op = 0xa9
)

// The GNU operators. Most became standard operators in DWARF 5, with the same operands.
const (
	GNUPushTLSAddress  Op = 0xe0
	GNUUninit          Op = 0xf0
	GNUEncodedAddr     Op = 0xf1
	GNUImplicitPointer Op = 0xf2
	GNUEntryValue      Op = 0xf3
	GNUConstType       Op = 0xf4
	GNURegvalType      Op = 0xf5
	GNUDerefType       Op = 0xf6
	GNUConvert         Op = 0xf7
	GNUReinterpret     Op = 0xf9
	GNUParameterRef    Op = 0xfa
	GNUAddrIndex       Op = 0xfb
	GNUConstIndex      Op = 0xfc
	GNUVariableValue   Op = 0xfd
)

// canonical returns the standard operator equivalent to a GNU operator.
func (o Op) canonical() Op {
	switch o {
	case GNUPushTLSAddress:
		return FormTLSAddress
	case GNUImplicitPointer:
		return OpImplicitPointer
	case GNUEntryValue:
		return EntryValue
	case GNUConstType:
		return ConstType
	case GNURegvalType:
		return RegvalType
	case GNUDerefType:
		return DerefType
	case GNUConvert:
		return Convert
	case GNUReinterpret:
		return Reinterpret
	case GNUAddrIndex:
		return Addrx
	case GNUConstIndex:
		return Constx
	}
	return o
}

// String returns the specification's name ("DW_OP_breg7"), or DW_OP_0x.. for an unknown
// opcode.
func (o Op) String() string {
	switch {
	case o >= Lit0 && o < Lit0+32:
		return fmt.Sprintf("DW_OP_lit%d", o-Lit0)
	case o >= Reg0 && o < Reg0+32:
		return fmt.Sprintf("DW_OP_reg%d", o-Reg0)
	case o >= Breg0 && o < Breg0+32:
		return fmt.Sprintf("DW_OP_breg%d", o-Breg0)
	}
	if i := info[o]; i.name != "" {
		return "DW_OP_" + i.name
	}
	return fmt.Sprintf("DW_OP_%#02x", uint8(o))
}
