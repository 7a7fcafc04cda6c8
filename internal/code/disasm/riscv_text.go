package disasm

import (
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
	"golang.org/x/arch/riscv64/riscv64asm"
)

// riscvText formats the instruction like GNU tools. Package riscv64asm supplies the words;
// targets and symbols are added here.
func riscvText(i *Inst, opts TextOptions) string {
	x, err := locked(func() (riscv64asm.Inst, error) { return riscv64asm.Decode(i.Bytes()) })
	if err != nil || x.Len != i.Len {
		return i.rawText()
	}
	text := riscvRegNames(i, strings.ToLower(riscv64asm.GNUSyntax(x)))
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}

// riscvRegNames replaces x0 to x31, where they are separate words, by their ABI names.
func riscvRegNames(i *Inst, text string) string {
	var b strings.Builder
	for pos := 0; pos < len(text); pos++ {
		n, digits := 0, 0
		if text[pos] == 'x' && (pos == 0 || strings.IndexByte(" ,(", text[pos-1]) >= 0) {
			for digits < 2 && pos+1+digits < len(text) && text[pos+1+digits] >= '0' && text[pos+1+digits] <= '9' {
				n = 10*n + int(text[pos+1+digits]-'0')
				digits++
			}
		}
		if digits == 0 || n > 31 {
			b.WriteByte(text[pos])
			continue
		}
		b.WriteString(i.arch.RegName(arch.Reg(n)))
		pos += digits
	}
	return b.String()
}
