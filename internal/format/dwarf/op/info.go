package op

// An operand is the encoding of an operator's operand.
type operand uint8

const (
	argNone    operand = iota
	argAddr            // an address
	argU8              // fixed-size unsigned and signed integers
	argS8              //
	argU16             //
	argS16             //
	argU32             //
	argS32             //
	argU64             //
	argS64             //
	argUleb            //
	argSleb            //
	argReg             // a register number, ULEB128
	argBranch          // a signed 16-bit distance from the next operator
	argRef             // an offset in .debug_info, of the unit's offset size
	argDie             // the offset of a DIE in the unit, ULEB128
	argBlock           // a ULEB128 length and that many bytes
	argBlock8          // a one-byte length and that many bytes
	argExpr            // a block that contains an expression
	argEncoded         // a pointer-encoding byte and a pointer
)

// An opInfo has an operator's name and operands. An empty name means that the operator is
// unknown.
type opInfo struct {
	name string
	args [2]operand
}

// info describes every operator except those in the numbered ranges.
var info = [256]opInfo{
	Addr:              {"addr", [2]operand{argAddr}},
	Deref:             {"deref", [2]operand{}},
	Const1u:           {"const1u", [2]operand{argU8}},
	Const1s:           {"const1s", [2]operand{argS8}},
	Const2u:           {"const2u", [2]operand{argU16}},
	Const2s:           {"const2s", [2]operand{argS16}},
	Const4u:           {"const4u", [2]operand{argU32}},
	Const4s:           {"const4s", [2]operand{argS32}},
	Const8u:           {"const8u", [2]operand{argU64}},
	Const8s:           {"const8s", [2]operand{argS64}},
	Constu:            {"constu", [2]operand{argUleb}},
	Consts:            {"consts", [2]operand{argSleb}},
	Dup:               {"dup", [2]operand{}},
	Drop:              {"drop", [2]operand{}},
	Over:              {"over", [2]operand{}},
	Pick:              {"pick", [2]operand{argU8}},
	Swap:              {"swap", [2]operand{}},
	Rot:               {"rot", [2]operand{}},
	Xderef:            {"xderef", [2]operand{}},
	Abs:               {"abs", [2]operand{}},
	And:               {"and", [2]operand{}},
	Div:               {"div", [2]operand{}},
	Minus:             {"minus", [2]operand{}},
	Mod:               {"mod", [2]operand{}},
	Mul:               {"mul", [2]operand{}},
	Neg:               {"neg", [2]operand{}},
	Not:               {"not", [2]operand{}},
	Or:                {"or", [2]operand{}},
	Plus:              {"plus", [2]operand{}},
	PlusUconst:        {"plus_uconst", [2]operand{argUleb}},
	Shl:               {"shl", [2]operand{}},
	Shr:               {"shr", [2]operand{}},
	Shra:              {"shra", [2]operand{}},
	Xor:               {"xor", [2]operand{}},
	Bra:               {"bra", [2]operand{argBranch}},
	Eq:                {"eq", [2]operand{}},
	Ge:                {"ge", [2]operand{}},
	Gt:                {"gt", [2]operand{}},
	Le:                {"le", [2]operand{}},
	Lt:                {"lt", [2]operand{}},
	Ne:                {"ne", [2]operand{}},
	Skip:              {"skip", [2]operand{argBranch}},
	Regx:              {"regx", [2]operand{argReg}},
	Fbreg:             {"fbreg", [2]operand{argSleb}},
	Bregx:             {"bregx", [2]operand{argReg, argSleb}},
	OpPiece:           {"piece", [2]operand{argUleb}},
	DerefSize:         {"deref_size", [2]operand{argU8}},
	XderefSize:        {"xderef_size", [2]operand{argU8}},
	Nop:               {"nop", [2]operand{}},
	PushObjectAddress: {"push_object_address", [2]operand{}},
	Call2:             {"call2", [2]operand{argU16}},
	Call4:             {"call4", [2]operand{argU32}},
	CallRef:           {"call_ref", [2]operand{argRef}},
	FormTLSAddress:    {"form_tls_address", [2]operand{}},
	CallFrameCFA:      {"call_frame_cfa", [2]operand{}},
	BitPiece:          {"bit_piece", [2]operand{argUleb, argUleb}},
	OpImplicitValue:   {"implicit_value", [2]operand{argBlock}},
	OpStackValue:      {"stack_value", [2]operand{}},
	OpImplicitPointer: {"implicit_pointer", [2]operand{argRef, argSleb}},
	Addrx:             {"addrx", [2]operand{argUleb}},
	Constx:            {"constx", [2]operand{argUleb}},
	EntryValue:        {"entry_value", [2]operand{argExpr}},
	ConstType:         {"const_type", [2]operand{argDie, argBlock8}},
	RegvalType:        {"regval_type", [2]operand{argReg, argDie}},
	DerefType:         {"deref_type", [2]operand{argU8, argDie}},
	XderefType:        {"xderef_type", [2]operand{argU8, argDie}},
	Convert:           {"convert", [2]operand{argDie}},
	Reinterpret:       {"reinterpret", [2]operand{argDie}},

	GNUPushTLSAddress:  {"GNU_push_tls_address", [2]operand{}},
	GNUUninit:          {"GNU_uninit", [2]operand{}},
	GNUEncodedAddr:     {"GNU_encoded_addr", [2]operand{argEncoded}},
	GNUImplicitPointer: {"GNU_implicit_pointer", [2]operand{argRef, argSleb}},
	GNUEntryValue:      {"GNU_entry_value", [2]operand{argExpr}},
	GNUConstType:       {"GNU_const_type", [2]operand{argDie, argBlock8}},
	GNURegvalType:      {"GNU_regval_type", [2]operand{argReg, argDie}},
	GNUDerefType:       {"GNU_deref_type", [2]operand{argU8, argDie}},
	GNUConvert:         {"GNU_convert", [2]operand{argDie}},
	GNUReinterpret:     {"GNU_reinterpret", [2]operand{argDie}},
	GNUParameterRef:    {"GNU_parameter_ref", [2]operand{argU32}},
	GNUAddrIndex:       {"GNU_addr_index", [2]operand{argUleb}},
	GNUConstIndex:      {"GNU_const_index", [2]operand{argUleb}},
	GNUVariableValue:   {"GNU_variable_value", [2]operand{argRef}},
}
