package dwarf

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A Value is an undecoded attribute value: a number or bytes. The methods of Unit interpret
// it depending on the form.
type Value struct {
	Attr Attr
	Form Form
	// U is the number for constants, offsets, addresses and indexes. Signed forms are
	// sign-extended; use Int to read them.
	U uint64
	// B is the contents of blocks, expressions, inline strings and data16: a slice of the
	// section.
	B []byte
}

// Present reports whether the attribute was found.
func (v *Value) Present() bool { return v.Form != 0 }

// Flag reports whether the value is a flag that is set.
func (v *Value) Flag() bool { return v.Form == FormFlagPresent || v.U != 0 }

// Int returns a constant as a signed number. Forms of fixed size do not say whether they
// are signed (DWARF 5, 7.5.5); the caller knows the size and must sign-extend them.
func (v *Value) Int() int64 { return int64(v.U) }

// A Class is a group of forms with the same kind of value (DWARF 5, 7.5.5).
type Class uint8

// The classes of forms.
const (
	ClassNone Class = iota
	ClassAddress
	ClassBlock
	ClassConstant
	ClassExprloc
	ClassFlag
	ClassReference
	ClassString
	// ClassOffset is an offset into, or an index for, the section implied by the attribute:
	// lines, ranges, locations, macros. Before DWARF 4 such values have constant forms.
	ClassOffset
)

// Class returns the class of the form.
func (f Form) Class() Class {
	switch f {
	case FormAddr, FormAddrx, FormAddrx1, FormAddrx2, FormAddrx3, FormAddrx4, FormGNUAddrIndex:
		return ClassAddress
	case FormBlock, FormBlock1, FormBlock2, FormBlock4:
		return ClassBlock
	case FormData1, FormData2, FormData4, FormData8, FormData16, FormSdata, FormUdata, FormImplicitConst:
		return ClassConstant
	case FormExprloc:
		return ClassExprloc
	case FormFlag, FormFlagPresent:
		return ClassFlag
	case FormRef1, FormRef2, FormRef4, FormRef8, FormRefUdata, FormRefAddr, FormRefSig8,
		FormRefSup4, FormRefSup8, FormGNURefAlt:
		return ClassReference
	case FormString, FormStrp, FormLineStrp, FormStrpSup, FormStrx, FormStrx1, FormStrx2,
		FormStrx3, FormStrx4, FormGNUStrIndex, FormGNUStrpAlt:
		return ClassString
	case FormSecOffset, FormLoclistx, FormRnglistx:
		return ClassOffset
	}
	return ClassNone
}

// readForm reads a value of a form into v; it does not set v.Attr.
func readForm(c *binbuf.Cursor, form Form, implicit int64, enc encoding, v *Value) {
	v.Form, v.U, v.B = form, 0, nil
	switch form {
	case FormFlagPresent:
		v.U = 1
	case FormImplicitConst:
		v.U = uint64(implicit)
	case FormData1, FormFlag, FormRef1, FormStrx1, FormAddrx1:
		v.U = uint64(c.U8())
	case FormData2, FormRef2, FormStrx2, FormAddrx2:
		v.U = uint64(c.U16())
	case FormStrx3, FormAddrx3:
		v.U = uint64(c.U24())
	case FormData4, FormRef4, FormStrx4, FormAddrx4, FormRefSup4:
		v.U = uint64(c.U32())
	case FormData8, FormRef8, FormRefSig8, FormRefSup8:
		v.U = c.U64()
	case FormUdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx,
		FormGNUAddrIndex, FormGNUStrIndex:
		v.U = c.ULEB()
	case FormSdata:
		v.U = uint64(c.SLEB())
	case FormString:
		v.B = c.CString()
	case FormData16:
		v.B = c.Bytes(16)
	case FormBlock, FormExprloc:
		v.B = c.Bytes64(c.ULEB())
	case FormBlock1:
		v.B = c.Bytes(int(c.U8()))
	case FormBlock2:
		v.B = c.Bytes(int(c.U16()))
	case FormBlock4:
		v.B = c.Bytes64(uint64(c.U32()))
	case FormIndirect:
		readIndirect(c, enc, v)
	default:
		size, ok := formSize(form, enc)
		if !ok || size <= 0 {
			c.Fail(fmt.Errorf("unknown form %#x at %#x: %w", uint16(form), c.Off, ErrFormat))
			return
		}
		v.U = c.Uint(int(size))
	}
}

// readIndirect reads a value preceded by its form. An implicit constant cannot be indirect,
// because its value is not here; another indirection would be pointless.
func readIndirect(c *binbuf.Cursor, enc encoding, v *Value) {
	form := c.ULEB()
	if form > 0xffff || Form(form) == FormIndirect || Form(form) == FormImplicitConst {
		c.Fail(fmt.Errorf("invalid indirect form %#x at %#x: %w", form, c.Off, ErrFormat))
		return
	}
	readForm(c, Form(form), 0, enc, v)
}

// skipForm skips a value of variable size.
func skipForm(c *binbuf.Cursor, form Form, enc encoding) {
	// Nearly all numbers and lengths take one byte.
	if c.Off < len(c.Data) && c.Error == nil {
		if b := c.Data[c.Off]; b < 0x80 {
			switch form {
			case FormUdata, FormSdata, FormAddrx, FormLoclistx, FormRnglistx, FormStrx:
				c.Off++
				return
			case FormExprloc:
				c.Skip(1 + int(b))
				return
			}
		}
	}
	switch form {
	case FormUdata, FormSdata, FormRefUdata, FormStrx, FormAddrx, FormLoclistx, FormRnglistx,
		FormGNUAddrIndex, FormGNUStrIndex:
		skipLEB(c)
	case FormBlock, FormExprloc:
		c.Skip64(c.ULEB())
	case FormBlock1:
		c.Skip(int(c.U8()))
	case FormBlock2:
		c.Skip(int(c.U16()))
	case FormBlock4:
		c.Skip64(uint64(c.U32()))
	case FormString:
		c.CString()
	default:
		var v Value
		readForm(c, form, 0, enc, &v)
	}
}

// skipLEB skips a LEB128 number.
func skipLEB(c *binbuf.Cursor) {
	for i := c.Off; i < len(c.Data); i++ {
		if c.Data[i] < 0x80 {
			c.Off = i + 1
			return
		}
	}
	c.Off = len(c.Data)
	c.Fail(fmt.Errorf("unterminated LEB128 number: %w", binbuf.ErrShort))
}
