package disasm

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// riscvCallBefore finds the call that ends where code ends: jal or jalr that saves the
// return address in ra (or t0, for millicode calls), c.jalr, or auipc with jalr, whose
// target is known.
func riscvCallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	n := len(code)
	if n >= 4 && riscvLen(code[n-4:]) == 4 {
		var in Inst
		w := binary.LittleEndian.Uint32(code[n-4:])
		if riscvDecode(&in, a, code[n-4:], ra-4) == nil && in.Kind.IsCall() && in.Writes&arch.Mask(arch.RISCVRA, arch.RISCVT0) != 0 {
			site := CallSite{Len: 4, Target: in.Target, Direct: in.Kind == Call}
			if n >= 8 && in.Kind == CallIndirect {
				riscvFarCall(&site, binary.LittleEndian.Uint32(code[n-8:]), w, ra)
			}
			return site, true
		}
	}
	if n >= 2 {
		h := binary.LittleEndian.Uint16(code[n-2:])
		if h&0xf07f == 0x9002 && h>>7&31 != 0 {
			return CallSite{Len: 2}, true
		}
	}
	return CallSite{}, false
}

// riscvFarCall sets the target of a jalr through the register that the auipc directly
// before it wrote.
func riscvFarCall(site *CallSite, auipc, jalr uint32, ra uint64) {
	if auipc&0x7f != 0x17 || auipc>>7&31 != jalr>>15&31 {
		return
	}
	site.Direct = true
	site.Target = ra - 8 + uint64(int64(int32(auipc&0xfffff000))) + uint64(signed(jalr>>20, 12))
}
