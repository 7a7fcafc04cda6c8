package disasm

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/unwind/arch"
)

// thumbText formats a T32 instruction: those that move data, the stack or control have
// names, others are shown as their bytes.
func thumbText(i *Inst, opts TextOptions) string {
	reg := i.arch.RegName
	switch i.Kind {
	case Load, Store:
		return i.thumbAccessText(opts)
	case Call:
		if i.Switches {
			return "blx " + opts.address(i.Target)
		}
		return "bl " + opts.address(i.Target)
	case Jump:
		return "b " + opts.address(i.Target)
	case CallIndirect:
		return "blx " + reg(i.Src)
	case Ret, JumpIndirect:
		switch {
		case i.List != 0:
			return i.thumbAccessText(opts)
		case i.Src != arch.NoReg && i.nmem == 0 && i.Len == 2 && i.code[1] == 0x47:
			return "bx " + reg(i.Src)
		}
	case Mov, MovSPtoFP, MovFPtoSP:
		return "mov " + reg(i.Dst) + ", " + reg(i.Src)
	case MovImm:
		return "mov " + reg(i.Dst) + ", #" + fmt.Sprint(i.Imm)
	case SubSP:
		return "sub sp, #" + fmt.Sprint(i.Imm)
	case AddSP:
		return "add sp, #" + fmt.Sprint(i.Imm)
	case Syscall:
		return "svc " + fmt.Sprint(i.Imm)
	case Trap:
		return "udf #" + fmt.Sprint(i.Imm)
	case Int3:
		return "bkpt"
	case Nop:
		if i.Len == 2 && i.code[0] == 0 {
			return "nop"
		}
	}
	return i.rawText()
}

// thumbAccessText writes a load or store.
func (i *Inst) thumbAccessText(opts TextOptions) string {
	m := i.Mem()
	if m == nil {
		return i.rawText()
	}
	name := "ldr"
	first, second := i.Dst, i.Dst2
	if m.Write {
		name, first, second = "str", i.Src, i.Src2
	}
	if i.List != 0 {
		return i.thumbListText(m)
	}
	if first == arch.NoReg || first >= arch.ARMD8 {
		return i.rawText() // floating point
	}
	switch {
	case second != arch.NoReg:
		name += "d"
	case i.signed():
		name += "s"
	}
	name += [...]string{"", "b", "h"}[i.Size&3]
	text := name + " " + i.arch.RegName(first) + ", "
	if second != arch.NoReg {
		text += i.arch.RegName(second) + ", "
	}
	switch {
	case m.RIPRelative:
		return text + opts.address(uint64(m.Disp))
	case m.Index != arch.NoReg && m.Scale > 1:
		return fmt.Sprintf("%s[%s, %s, lsl #%d]", text, i.arch.RegName(m.Base), i.arch.RegName(m.Index), m.Scale>>1-m.Scale>>3)
	case m.Index != arch.NoReg:
		return text + "[" + i.arch.RegName(m.Base) + ", " + i.arch.RegName(m.Index) + "]"
	case i.Writeback != 0 && m.Disp == 0:
		return fmt.Sprintf("%s[%s], #%d", text, i.arch.RegName(m.Base), i.Writeback)
	}
	text += "[" + i.arch.RegName(m.Base)
	if m.Disp != 0 {
		text += fmt.Sprintf(", #%d", m.Disp)
	}
	text += "]"
	if i.Writeback != 0 {
		text += "!"
	}
	return text
}

// signed reports whether a T32 load sign-extends.
func (i *Inst) signed() bool {
	if i.Len == 4 {
		return i.code[1] == 0xf9
	}
	op := i.code[1] >> 1
	return op == 0x56>>1 || op == 0x5e>>1
}

// thumbListText writes push, pop, ldm and stm.
func (i *Inst) thumbListText(m *MemOperand) string {
	var regs []string
	for r := arch.Reg(0); r <= arch.ARMPC; r++ {
		if i.List.Has(r) {
			regs = append(regs, i.arch.RegName(r))
		}
	}
	list := "{" + strings.Join(regs, ", ") + "}"
	name := "ldm"
	if m.Write {
		name = "stm"
	}
	mark := ""
	if i.Writeback != 0 {
		mark = "!"
	}
	switch {
	case m.Base == arch.ARMSP && m.Write && i.Writeback < 0:
		return "push " + list
	case m.Base == arch.ARMSP && m.Read && i.Writeback > 0:
		return "pop " + list
	case m.Disp < 0:
		name += "db"
	}
	return name + " " + i.arch.RegName(m.Base) + mark + ", " + list
}
