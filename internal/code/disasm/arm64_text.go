package disasm

import (
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/corewalk/corewalk/internal/lazy"
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
	x, err := locked(func() (arm64asm.Inst, error) { return arm64asm.Decode(i.Bytes()) })
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
	arm64HintNames   = lazy.Value[map[uint32]string]{Make: func() map[uint32]string {
		return map[uint32]string{7: "xpaclri", 8: "pacia1716", 10: "pacib1716", 12: "autia1716", 14: "autib1716", 24: "paciaz", 25: "paciasp", 26: "pacibz", 27: "pacibsp", 28: "autiaz",
			29: "autiasp", 30: "autibz", 31: "autibsp", 32: "bti", 34: "bti c", 36: "bti j", 38: "bti jc"}
	}}
)

// newText returns the text of instructions added after Armv8.0, or "" for others.
func (d arm64Inst) newText() string {
	w := d.w
	name, x := "", d.name(0, 8)
	switch {
	case w&0xfffff01f == 0xd503201f:
		return arm64HintNames.Get()[w>>5&0x7f]
	case w&0xfffffbff == 0xd65f0bff:
		return d.withKey("reta")
	case w&0xfedff800 == 0xd61f0800:
		name = [...]string{"bra", "blra"}[w>>21&1]
		if w&0x01000000 != 0 {
			return d.withKey(name) + " " + d.name(5, 8) + ", " + arm64RegName(w, 8, "sp")
		}
		return d.withKey(name) + "z " + d.name(5, 8)
	case w&0xffffc000 == 0xdac10000, w&0xfffffbe0 == 0xdac143e0, w&0xffe0fc00 == 0x9ac03000:
		return d.signature()
	case w&0xff200400 == 0xf8200400:
		return d.withKeyAt(23, "ldra") + " " + x + d.signedBase()
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
func (d arm64Inst) withKey(name string) string { return d.withKeyAt(10, name) }

func (d arm64Inst) withKeyAt(bit uint, name string) string {
	return name + [...]string{"a", "b"}[d.w>>bit&1]
}

// signature returns the text of an instruction that adds, checks or removes the signature of a pointer.
func (d arm64Inst) signature() string {
	x, n := d.name(0, 8), arm64RegName(d.w>>5, 8, "sp")
	switch {
	case d.w>>24 == 0x9a:
		return "pacga " + x + ", " + d.name(5, 8) + ", " + arm64RegName(d.w>>16, 8, "sp")
	case d.w>>14&1 != 0:
		return [...]string{"xpaci ", "xpacd "}[d.w>>10&1] + x
	}
	name := [...]string{"pac", "aut"}[d.w>>12&1] + [...]string{"i", "d"}[d.w>>11&1]
	switch {
	case d.w>>13&1 == 0:
		return d.withKey(name) + " " + x + ", " + n
	case n == "sp":
		return d.withKey(name+"z") + " " + x
	}
	return ""
}

// signedBase returns the memory operand of ldraa: scaled, and pre-indexed or not.
func (d arm64Inst) signedBase() string {
	text := strings.TrimSuffix(d.base(), "]")
	if imm := (d.signed(22, 1)<<9 | int64(d.field(12, 9))) * 8; imm != 0 {
		text += ",#" + strconv.FormatInt(imm, 10)
	}
	return text + [...]string{"]", "]!"}[d.w>>11&1]
}

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
