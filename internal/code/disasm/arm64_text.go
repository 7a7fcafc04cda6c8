package disasm

import (
	"encoding/binary"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/corewalk/corewalk/unwind/arch"
)

// arm64Text formats the instruction like GNU tools. Package arm64asm supplies the words;
// the atomics and authenticated branches, which it does not know, are named here, and so
// are targets and symbols.
func arm64Text(i *Inst, opts TextOptions) string {
	d := arm64Inst{i, binary.LittleEndian.Uint32(i.code[:])}
	if text := d.newText(); text != "" {
		return text
	}
	x, err := words(func() (arm64asm.Inst, error) { return arm64asm.Decode(i.Bytes()) })
	if err != nil {
		return i.rawText()
	}
	text := strings.ToLower(arm64asm.GNUSyntax(x))
	switch {
	case i.Target != 0:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(i.Target)
		}
	case i.nmem > 0 && i.mems[0].RIPRelative:
		if cut := strings.LastIndexAny(text, ", "); cut >= 0 {
			return text[:cut+1] + opts.address(uint64(i.mems[0].Disp))
		}
	}
	return text
}

var (
	arm64AtomicNames = [...]string{"ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "swp"}
	arm64HintNames   = map[uint32]string{7: "xpaclri", 24: "paciaz", 25: "paciasp", 26: "pacibz", 27: "pacibsp", 28: "autiaz",
		29: "autiasp", 30: "autibz", 31: "autibsp", 32: "bti", 34: "bti c", 36: "bti j", 38: "bti jc"}
)

// newText returns the text of instructions added after Armv8.0, or "" for others.
func (d arm64Inst) newText() string {
	w := d.w
	name, x := "", d.name(0, 8)
	switch {
	case w&0xfffff01f == 0xd503201f:
		return arm64HintNames[w>>5&0x7f]
	case w&0xfffffbff == 0xd65f0bff:
		return d.withKey("reta")
	case w&0xfedff800 == 0xd61f0800:
		name = [...]string{"bra", "blra"}[w>>21&1]
		if w&0x01000000 != 0 {
			return d.withKey(name) + " " + d.name(5, 8) + ", " + arm64RegName(w, 8, "sp")
		}
		return d.withKey(name) + "z " + d.name(5, 8)
	case w&0x3f200c00 == 0x38200000 && d.Lock:
		name = arm64AtomicNames[min(w>>12&15, 8)]
		return name + [...]string{"", "l", "a", "al"}[w>>22&3] + d.suffix() + " " + d.name(16, d.Size) + ", " + d.name(0, d.Size) + d.base()
	case w&0x3fa07c00 == 0x08a07c00:
		name = "cas" + [...]string{"", "l", "a", "al"}[w>>15&1|w>>21&2]
		return name + d.suffix() + " " + d.name(16, d.Size) + ", " + d.name(0, d.Size) + d.base()
	case w&0x3ffffc00 == 0x38bfc000:
		return "ldapr" + d.suffix() + " " + d.name(0, d.Size) + d.base()
	case w&0xffffffe0 == 0xd50b7420:
		return "dc zva, " + x
	case w>>16 == 0:
		return "udf #" + number(uint64(w))
	}
	return ""
}

// withKey returns an instruction's name with the key that it uses for authentication.
func (d arm64Inst) withKey(name string) string { return name + [...]string{"a", "b"}[d.w>>10&1] }

func (d arm64Inst) suffix() string {
	switch d.Size {
	case 1:
		return "b"
	case 2:
		return "h"
	}
	return ""
}

// name returns the name of the register in the field at, with the given size in bytes.
func (d arm64Inst) name(at uint, size uint8) string {
	return arm64RegName(d.w>>at, size, map[bool]string{true: "xzr", false: "wzr"}[size == 8])
}

func arm64RegName(n uint32, size uint8, last string) string {
	n &= 31
	if n == 31 {
		return last
	}
	text := arch.ARM64.RegName(arch.Reg(n))
	if size < 8 {
		return "w" + text[1:]
	}
	return text
}

func (d arm64Inst) base() string { return ", [" + arm64RegName(d.w>>5, 8, "sp") + "]" }
