package disasm

import (
	"strings"
	"sync"

	"golang.org/x/arch/s390x/s390xasm"
)

// s390Words guards s390xasm, which notes in a variable of its own what it decoded.
var s390Words sync.Mutex

// s390Text writes the instruction as GNU tools do. The words are s390xasm's;
// targets and their symbols are ours.
func s390Text(i *Inst, opts TextOptions) string {
	var code [8]byte
	copy(code[:], i.Bytes())
	s390Words.Lock()
	x, err := s390xasm.Decode(code[:])
	s390Words.Unlock()
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
