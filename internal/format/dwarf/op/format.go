package op

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A Style says how Format formats an expression, and how its operands are encoded.
type Style struct {
	Big      bool
	AddrSize int // size of an address in bytes; 0 means 8
	RefSize  int // as in Env
	// RegName returns the name of a DWARF register number; if it is nil, only numbers are
	// printed.
	RegName func(n uint64) string
}

// maxFormatNesting limits the nesting of DW_OP_entry_value in Format.
const maxFormatNesting = 8

// Format returns an expression as one line: "DW_OP_breg7(rsp)+8 DW_OP_deref". It never
// fails: from a malformed operator on, the text is "<malformed at 0x..>".
func Format(expr []byte, s Style) string {
	if s.AddrSize == 0 {
		s.AddrSize = 8
	}
	if s.RefSize == 0 {
		s.RefSize = 4
	}
	var b strings.Builder
	s.format(&b, expr, 0)
	return b.String()
}

func (s *Style) format(b *strings.Builder, expr []byte, depth int) {
	c := binbuf.Cursor{Data: expr, Big: s.Big}
	for c.Off < len(expr) {
		at := c.Off
		if at > 0 {
			b.WriteByte(' ')
		}
		o := Op(c.U8())
		text, ok := s.operator(&c, o, depth)
		if !ok || c.Error != nil {
			fmt.Fprintf(b, "<malformed at %#x: %v>", at, o)
			return
		}
		b.WriteString(text)
	}
}

// operator returns o with its operands, or false if it is unknown.
func (s *Style) operator(c *binbuf.Cursor, o Op, depth int) (string, bool) {
	switch {
	case o >= Lit0 && o < Lit0+32:
		return o.String(), true
	case o >= Reg0 && o < Reg0+32:
		return o.String() + s.paren(uint64(o-Reg0)), true
	case o >= Breg0 && o < Breg0+32:
		return fmt.Sprintf("%v%s%+d", o, s.paren(uint64(o-Breg0)), c.SLEB()), true
	case o == Bregx:
		n := c.ULEB()
		return fmt.Sprintf("%v(%s)%+d", o, s.register(n), c.SLEB()), true
	case o == Fbreg:
		return fmt.Sprintf("%v%+d", o, c.SLEB()), true
	case info[o].name == "":
		return "", false
	}
	text := o.String()
	for i, a := range info[o].args {
		if a == argNone {
			break
		}
		if i == 0 {
			text += " "
		} else {
			text += ","
		}
		text += s.operand(c, a, depth)
	}
	return text, true
}

// paren returns a register's name in parentheses, to follow an operator with a register
// number.
func (s *Style) paren(n uint64) string {
	if s.RegName == nil {
		return ""
	}
	return "(" + s.RegName(n) + ")"
}

func (s *Style) register(n uint64) string {
	if s.RegName == nil {
		return fmt.Sprint(n)
	}
	return s.RegName(n)
}

func (s *Style) operand(c *binbuf.Cursor, a operand, depth int) string {
	switch a {
	case argAddr:
		return fmt.Sprintf("%#x", c.Uint(s.AddrSize))
	case argU8:
		return fmt.Sprint(c.U8())
	case argU16:
		return fmt.Sprint(c.U16())
	case argU32:
		return fmt.Sprintf("%#x", c.U32())
	case argU64:
		return fmt.Sprintf("%#x", c.U64())
	case argS8:
		return fmt.Sprint(c.Int(1))
	case argS16:
		return fmt.Sprint(c.Int(2))
	case argS32:
		return fmt.Sprint(c.Int(4))
	case argS64:
		return fmt.Sprint(c.Int(8))
	case argUleb:
		return fmt.Sprint(c.ULEB())
	case argSleb:
		return fmt.Sprint(c.SLEB())
	case argReg:
		return s.register(c.ULEB())
	case argBranch:
		d := int(int16(c.U16()))
		return fmt.Sprintf("to %#x", c.Off+d)
	case argRef:
		return fmt.Sprintf("<%#x>", c.Uint(s.RefSize))
	case argDie:
		return fmt.Sprintf("<%#x>", c.ULEB())
	case argBlock:
		return fmt.Sprintf("%x", c.Bytes64(c.ULEB()))
	case argBlock8:
		return fmt.Sprintf("%x", c.Bytes(int(c.U8())))
	case argExpr:
		return s.nested(c.Bytes64(c.ULEB()), depth)
	}
	c.Fail(ErrMalformed) // argEncoded: not used by any supported format
	return ""
}

func (s *Style) nested(expr []byte, depth int) string {
	if depth >= maxFormatNesting {
		return "(...)"
	}
	var b strings.Builder
	b.WriteByte('(')
	s.format(&b, expr, depth+1)
	b.WriteByte(')')
	return b.String()
}
