package disasm

import (
	"strconv"
	"strings"

	"golang.org/x/arch/arm/armasm"
)

// armText formats the instruction like GNU tools. Package armasm supplies A32's words,
// thumbText T32's; targets and symbols are added here.
func armText(i *Inst, opts TextOptions) string {
	if i.Len == 2 || i.Wide {
		return thumbText(i, opts)
	}
	if i.Kind == Trap { // armasm does not know it
		return "udf #" + strconv.FormatInt(i.Imm, 10)
	}
	x, err := locked(func() (armasm.Inst, error) { return armasm.Decode(i.Bytes(), armasm.ModeARM) })
	if err != nil {
		return i.rawText()
	}
	text := strings.ToLower(armasm.GNUSyntax(x))
	at := i.Target
	switch {
	case at != 0:
	case i.nmem > 0 && i.mems[0].RIPRelative:
		at = uint64(i.mems[0].Disp)
	default:
		return text
	}
	if cut := strings.IndexAny(text, " "); i.Target != 0 && cut >= 0 {
		return text[:cut+1] + opts.address(at)
	}
	if cut := strings.Index(text, ", "); cut >= 0 {
		return text[:cut+2] + opts.address(at)
	}
	return text
}
