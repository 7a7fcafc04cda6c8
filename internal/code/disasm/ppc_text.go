package disasm

import (
	"encoding/binary"
	"strings"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// ppcText formats the instruction like GNU tools. Package ppc64asm supplies the words;
// targets and symbols are added here.
func ppcText(i *Inst, opts TextOptions) string {
	var order binary.ByteOrder = binary.LittleEndian
	if i.arch.Big() {
		order = binary.BigEndian
	}
	x, err := words(func() (ppc64asm.Inst, error) { return ppc64asm.Decode(i.Bytes(), order) })
	if err != nil || x.Len != i.Len {
		return i.rawText()
	}
	text := ppc64asm.GNUSyntax(x, i.PC)
	switch name, operands, _ := strings.Cut(text, " "); {
	case name == "or" && (i.Kind == Mov || i.Kind == MovSPtoFP || i.Kind == MovFPtoSP):
		return "mr " + operands[:strings.LastIndexByte(operands, ',')]
	case i.Kind == Trap && operands == "31,r0,r0":
		return "trap"
	case text == "sc 0":
		return "sc"
	}
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}
