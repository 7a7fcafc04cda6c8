package disasm

import (
	"encoding/binary"
	"strings"
	"sync"

	"golang.org/x/arch/ppc64/ppc64asm"
)

// ppcWords guards ppc64asm, which notes in a variable of its own what it decoded.
var ppcWords sync.Mutex

// ppcText writes the instruction as GNU tools do. The words are ppc64asm's;
// targets and their symbols are ours.
func ppcText(i *Inst, opts TextOptions) string {
	var order binary.ByteOrder = binary.LittleEndian
	if i.arch.Big() {
		order = binary.BigEndian
	}
	ppcWords.Lock()
	x, err := ppc64asm.Decode(i.Bytes(), order)
	ppcWords.Unlock()
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
