package disasm

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// decoding is held while a package of golang.org/x/arch other than x86asm decodes: they
// record in a global variable what they have decoded.
var decoding sync.Mutex

// locked decodes one instruction with such a package.
func locked[T any](decode func() (T, error)) (T, error) {
	decoding.Lock()
	defer decoding.Unlock()
	return decode()
}

// TextOptions say how Text formats addresses.
type TextOptions struct {
	// Symbol, if not nil, returns the name and the start of the function or variable that
	// contains addr. An empty name means none.
	Symbol func(addr uint64) (name string, base uint64)
}

// Text formats the instruction in Intel syntax, in lower case, with numbers above nine in
// hexadecimal: "mov eax, [rax+8]". (Families other than x86 use the syntax of GNU tools.)
// The size of a memory operand is included only if no register operand implies it. Targets,
// and addresses relative to the program counter, are absolute and followed by their
// symbol's name. An instruction without a name is shown as its bytes: "(bytes 8f e9 78 d7
// c0)".
func (i *Inst) Text(opts TextOptions) string {
	switch familyOf(i.arch) {
	case arch.FamilyX86:
		if m := x86ModeOf(i.arch); m != nil {
			return m.text(i, opts)
		}
	case arch.FamilyS390:
		return s390Text(i, opts)
	case arch.FamilyPPC:
		return ppcText(i, opts)
	case arch.FamilyARM64:
		return arm64Text(i, opts)
	case arch.FamilyARM:
		return armText(i, opts)
	case arch.FamilyRISCV:
		return riscvText(i, opts)
	case arch.FamilyMIPS:
		return mipsText(i, opts)
	case arch.FamilyLoongArch:
		return loongText(i, opts)
	}
	return i.rawText()
}

// rawText returns the text of an instruction without a name.
func (i *Inst) rawText() string {
	return fmt.Sprintf("(bytes % x)", i.code[:i.Len])
}

// address formats an address and the symbol that contains it.
func (o TextOptions) address(addr uint64) string {
	s := "0x" + strconv.FormatUint(addr, 16)
	if o.Symbol == nil {
		return s
	}
	name, base := o.Symbol(addr)
	switch {
	case name == "":
		return s
	case addr == base:
		return s + " <" + name + ">"
	}
	return s + " <" + name + "+0x" + strconv.FormatUint(addr-base, 16) + ">"
}

// number formats an operand: digits unchanged, larger numbers in hexadecimal.
func number(v uint64) string {
	if v < 10 {
		return string(rune('0' + v))
	}
	return "0x" + strconv.FormatUint(v, 16)
}

// memText formats a memory operand without its size.
func (i *Inst) memText(m *MemOperand, index string, opts TextOptions) string {
	var b strings.Builder
	if m.Segment < 64 {
		b.WriteString(strings.TrimSuffix(i.arch.RegName(m.Segment), "_base"))
		b.WriteByte(':')
	}
	b.WriteByte('[')
	if m.RIPRelative {
		b.WriteString(opts.address(uint64(m.Disp)))
		b.WriteByte(']')
		return b.String()
	}
	empty := true
	if m.Base < 64 {
		b.WriteString(i.addrRegName(m, m.Base))
		empty = false
	}
	if index == "" && m.Index < 64 {
		index = i.addrRegName(m, m.Index)
	}
	if index != "" {
		if !empty {
			b.WriteByte('+')
		}
		b.WriteString(index)
		if m.Scale > 1 {
			b.WriteByte('*')
			b.WriteByte('0' + m.Scale)
		}
		empty = false
	}
	switch {
	case empty:
		b.WriteString("0x" + strconv.FormatUint(i.arch.Truncate(uint64(m.Disp)), 16))
	case m.Disp > 0:
		b.WriteString("+" + number(uint64(m.Disp)))
	case m.Disp < 0:
		b.WriteString("-" + number(uint64(-m.Disp)))
	}
	b.WriteByte(']')
	return b.String()
}
