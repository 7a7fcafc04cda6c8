package disasm

import (
	"strings"

	"golang.org/x/arch/s390x/s390xasm"
)

// s390Text formats the instruction like GNU tools. Package s390xasm supplies the words;
// targets and symbols are added here.
func s390Text(i *Inst, opts TextOptions) string {
	var code [8]byte
	copy(code[:], i.Bytes())
	x, err := words(func() (s390xasm.Inst, error) { return s390xasm.Decode(code[:]) })
	if err != nil || x.Len != i.Len {
		return i.rawText()
	}
	text := s390xasm.GNUSyntax(x, i.PC)
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}
