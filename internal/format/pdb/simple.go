package pdb

// simpleType returns a type without a record. The names are those used by Microsoft's
// compiler.
func simpleType(id uint32, machine uint16) (Type, bool) {
	word := wordSize(machine)
	if mode := id >> 8 & 7; mode != 0 {
		t := Type{Kind: TypePointer, Elem: TypeID(id & 0xff)}
		switch mode {
		case 4:
			t.Size = 4
		case 6:
			t.Size = 8
		default: // 16-bit pointers
			t.Size = 2
			if mode != 1 {
				t.Size = 4
			}
		}
		if id == 0x103 { // T_PVOID, which compilers use for the type of nullptr
			return Type{Kind: TypeNullptr, Size: word, Name: "std::nullptr_t"}, true
		}
		return t, id < 0x800
	}
	base := func(name string, size uint64, b Base) (Type, bool) {
		return Type{Kind: TypeBase, Name: name, Size: size, Base: b}, true
	}
	switch id {
	case 0x00, 0x03:
		return Type{Kind: TypeVoid}, true
	case 0x08:
		return base("HRESULT", 4, BaseSigned)
	case 0x10:
		return base("signed char", 1, BaseSignedChar)
	case 0x20:
		return base("unsigned char", 1, BaseUnsignedChar)
	case 0x68:
		return base("__int8", 1, BaseSigned)
	case 0x69:
		return base("unsigned __int8", 1, BaseUnsigned)
	case 0x70:
		return base("char", 1, BaseSignedChar)
	case 0x71:
		return base("wchar_t", 2, BaseUTF)
	case 0x7a:
		return base("char16_t", 2, BaseUTF)
	case 0x7b:
		return base("char32_t", 4, BaseUTF)
	case 0x7c:
		return base("char8_t", 1, BaseUTF)
	case 0x11, 0x72:
		return base("short", 2, BaseSigned)
	case 0x21, 0x73:
		return base("unsigned short", 2, BaseUnsigned)
	case 0x12:
		return base("long", 4, BaseSigned)
	case 0x22:
		return base("unsigned long", 4, BaseUnsigned)
	case 0x74:
		return base("int", 4, BaseSigned)
	case 0x75:
		return base("unsigned int", 4, BaseUnsigned)
	case 0x13, 0x76:
		return base("__int64", 8, BaseSigned)
	case 0x23, 0x77:
		return base("unsigned __int64", 8, BaseUnsigned)
	case 0x14, 0x78:
		return base("__int128", 16, BaseSigned)
	case 0x24, 0x79:
		return base("unsigned __int128", 16, BaseUnsigned)
	case 0x30:
		return base("bool", 1, BaseBool)
	case 0x31:
		return base("__bool16", 2, BaseBool)
	case 0x32:
		return base("__bool32", 4, BaseBool)
	case 0x33:
		return base("__bool64", 8, BaseBool)
	case 0x46:
		return base("_Float16", 2, BaseFloat)
	case 0x40, 0x45:
		return base("float", 4, BaseFloat)
	case 0x41:
		return base("double", 8, BaseFloat)
	case 0x42:
		return base("long double", 10, BaseFloat)
	case 0x43:
		if word == 4 || machine == 0x8664 { // clang's long double for MinGW
			return base("long double", 16, BaseFloat)
		}
		return base("__float128", 16, BaseFloat)
	case 0x50:
		return base("_Complex float", 8, BaseComplex)
	case 0x51:
		return base("_Complex double", 16, BaseComplex)
	case 0x52:
		return base("_Complex long double", 20, BaseComplex)
	}
	return Type{}, false
}
