package disasm

import (
	"strings"

	"golang.org/x/arch/riscv64/riscv64asm"
)

// riscvText writes the instruction as GNU tools do. The words are riscv64asm's;
// targets and their symbols are ours.
func riscvText(i *Inst, opts TextOptions) string {
	x, err := riscv64asm.Decode(i.Bytes())
	if err != nil || x.Len != i.Len {
		return i.rawText()
	}
	text := strings.ToLower(riscv64asm.GNUSyntax(x))
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}
