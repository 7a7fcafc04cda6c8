package disasm

import (
	"strings"

	"golang.org/x/arch/loong64/loong64asm"
)

// loongText formats the instruction like GNU tools. Package loong64asm supplies the words;
// targets and symbols are added here.
func loongText(i *Inst, opts TextOptions) string {
	x, err := locked(func() (loong64asm.Inst, error) { return loong64asm.Decode(i.Bytes()) })
	if err != nil {
		return i.rawText()
	}
	text := strings.ToLower(loong64asm.GNUSyntax(x))
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", \t"); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}
