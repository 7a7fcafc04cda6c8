package disasm

import (
	"encoding/binary"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm/words"
)

// ppcText formats the instruction like GNU tools. A table supplies the words; targets and
// symbols are added here.
func ppcText(i *Inst, opts TextOptions) string {
	var order binary.ByteOrder = binary.LittleEndian
	if i.arch.Big() {
		order = binary.BigEndian
	}
	code := uint64(order.Uint32(i.code[:])) << 32
	if i.Len == 8 {
		code |= uint64(order.Uint32(i.code[4:]))
	}
	text := ""
	if i.Len == 8 == (code>>58 == 1) {
		text = words.PPC64(code, i.PC)
	}
	if text == "" {
		return i.rawText()
	}
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
