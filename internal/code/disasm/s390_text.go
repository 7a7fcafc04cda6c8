package disasm

import (
	"encoding/binary"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm/words"
)

// s390Text formats the instruction like GNU tools. A table supplies the words; targets and
// symbols are added here.
func s390Text(i *Inst, opts TextOptions) string {
	var code [8]byte
	copy(code[:], i.Bytes())
	text := words.S390x(binary.BigEndian.Uint64(code[:]), i.PC)
	if text == "" {
		return i.rawText()
	}
	switch i.Kind {
	case Call, Jump, CondJump:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	}
	return text
}
