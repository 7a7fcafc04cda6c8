package image

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// pltEntry is the size in bytes of an x86 procedure linkage stub if the section header does
// not give one.
const pltEntry = 16

// shortEntry is the size of a stub that is one jump, where branches need no landing pad: of .plt.got, and of .plt in programs
// that are linked statically, which has no call of a resolver.
const shortEntry = 8

// shortStubs reports whether a section of stubs begins with a jump alone. The stubs that are left to bind push a number, too, and the
// section's header tells their size wrongly with some linkers.
func shortStubs(code []byte, start uint64, machine uint16) bool {
	a := arch.AMD64
	if machine == elffile.EM_386 {
		a = arch.X86
	}
	in, err := disasm.Decode(a, code, start)
	if err != nil || in.Kind != disasm.JumpIndirect || len(code) < shortEntry {
		return false
	}
	if len(code) == shortEntry {
		return true
	}
	next, err := disasm.Decode(a, code[shortEntry:], start+shortEntry)
	return err == nil && next.Kind == disasm.JumpIndirect
}

// PLTStub returns the function that the procedure linkage stub at an address of the file
// leads to, according to the relocation of the slot through which it jumps, and the start
// of the stub. It returns false outside .plt, .plt.sec and .plt.got, and for code there
// that is not a stub (the resolver call at the start of .plt).
func (im *Image) PLTStub(addr uint64) (target string, start uint64, ok bool) {
	if im == nil || im.elf.Machine != elffile.EM_X86_64 && im.elf.Machine != elffile.EM_386 {
		return "", 0, false
	}
	s := im.linkage(addr)
	if s == nil {
		return "", 0, false
	}
	code, err := im.elf.SectionData(s)
	if err != nil {
		return "", 0, false
	}
	size := uint64(pltEntry)
	if (s.Entsize == shortEntry || s.Entsize == 0) && shortStubs(code, s.Addr, im.elf.Machine) {
		size = shortEntry
	}
	off := (addr - s.Addr) / size * size
	if off+size > uint64(len(code)) {
		return "", 0, false
	}
	start = s.Addr + off
	r, ok := im.stubReloc(code[off:off+size], start)
	if !ok {
		return "", 0, false
	}
	target = im.relocTarget(r)
	return target, start, target != ""
}

// linkage returns the section of linkage stubs at an address of the file, or nil.
func (im *Image) linkage(addr uint64) *elffile.Section {
	s := im.elf.SectionAt(addr)
	if s == nil || !strings.HasPrefix(s.Name(), ".plt") && s.Name() != ".iplt" {
		return nil
	}
	return s
}

// InPLT reports whether an address of the file is among the linkage stubs. The linker makes
// them: no debugging information describes them, and to find that out all units would have to be read.
func (im *Image) InPLT(addr uint64) bool { return im != nil && im.linkage(addr) != nil }

// stubReloc finds the relocation of a stub. A stub that does not jump through a slot is for
// calls not bound yet (its other half is in .plt.sec); it pushes the relocation's index.
func (im *Image) stubReloc(code []byte, start uint64) (elffile.Reloc, bool) {
	a := arch.AMD64
	if im.elf.Machine == elffile.EM_386 {
		a = arch.X86
	}
	pushed := int64(-1)
	for pc := start; len(code) > 0; {
		in, err := disasm.Decode(a, code, pc)
		if err != nil {
			return elffile.Reloc{}, false
		}
		switch in.Kind {
		case disasm.JumpIndirect:
			slot, ok := im.stubSlot(a, in.Mem())
			if !ok {
				return elffile.Reloc{}, false
			}
			return im.elf.RelocOf(slot)
		case disasm.Push:
			pushed = in.Imm
			if in.Mem() != nil {
				pushed = -1
			}
		case disasm.Jump:
			if pushed < 0 {
				return elffile.Reloc{}, false
			}
			if a == arch.X86 { // it pushes the relocation's offset; each relocation has 8 bytes
				pushed /= 8
			}
			return im.elf.PLTReloc(uint64(pushed))
		}
		pc += uint64(in.Len)
		code = code[in.Len:]
	}
	return elffile.Reloc{}, false
}

// stubSlot is the link-time address of the word through which a stub jumps. On i386,
// position-independent stubs address it relative to ebx, which holds the value of
// DT_PLTGOT; other stubs contain its address.
func (im *Image) stubSlot(a *arch.Arch, m *disasm.MemOperand) (uint64, bool) {
	switch {
	case m == nil || m.Index != arch.NoReg:
		return 0, false
	case m.RIPRelative:
		return uint64(m.Disp), true
	case a != arch.X86:
		return 0, false
	case m.Base == arch.NoReg:
		return a.Truncate(uint64(m.Disp)), true
	case m.Base == arch.EBX:
		const dtPLTGOT = 3
		for tag, got := range im.elf.Dynamic() {
			if tag == dtPLTGOT {
				return a.Truncate(got + uint64(m.Disp)), true
			}
		}
	}
	return 0, false
}

// relocTarget returns the name of a relocation's symbol. A relocation without a symbol has
// the address of a resolver function (R_X86_64_IRELATIVE), whose name is in the file's
// symbol table.
func (im *Image) relocTarget(r elffile.Reloc) string {
	if r.Sym != 0 {
		if t, err := im.elf.DynSym(); err == nil {
			if s, ok := t.Sym(int(r.Sym)); ok {
				return s.KeptName()
			}
		}
		return ""
	}
	if s, ok := im.SymbolAt(r.Addend); ok && s.Value == r.Addend {
		return s.KeptName()
	}
	return ""
}
