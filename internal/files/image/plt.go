package image

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// pltEntry is the size of a procedure linkage stub of x86 where the section
// header does not tell, in bytes.
const pltEntry = 16

// PLTStub names what the procedure linkage stub at an address of the file leads
// to, by the relocation of the slot that it jumps through, and tells where the
// stub begins. It answers false outside of .plt, .plt.sec and .plt.got, and for
// what is no stub there (the code at the start of .plt that finds functions).
func (im *Image) PLTStub(addr uint64) (target string, start uint64, ok bool) {
	if im == nil || im.elf.Machine != elffile.EM_X86_64 && im.elf.Machine != elffile.EM_386 {
		return "", 0, false
	}
	s := im.elf.SectionAt(addr)
	if s == nil || !strings.HasPrefix(s.Name(), ".plt") && s.Name() != ".iplt" {
		return "", 0, false
	}
	code, err := im.elf.SectionData(s)
	if err != nil {
		return "", 0, false
	}
	size := s.Entsize
	if size != 8 || s.Name() == ".plt" { // a stub of .plt.got, where branches need no landing pad
		size = pltEntry
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

// stubReloc finds the relocation that a stub stands for. One that has no slot to
// jump through is for calls not bound yet (the other half is in .plt.sec): it
// pushes the relocation's number.
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
			if a == arch.X86 { // it pushes the relocation's offset, of 8 bytes each
				pushed /= 8
			}
			return im.elf.PLTReloc(uint64(pushed))
		}
		pc += uint64(in.Len)
		code = code[in.Len:]
	}
	return elffile.Reloc{}, false
}

// stubSlot is the link-time address of the word that a stub jumps through. On i386
// position-independent stubs have it relative to ebx, which holds what DT_PLTGOT
// says; others have its address.
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

// relocTarget names a relocation's symbol; one without is the address of a
// function that chooses among several (R_X86_64_IRELATIVE), which has a name in
// the file's own table.
func (im *Image) relocTarget(r elffile.Reloc) string {
	if r.Sym != 0 {
		if t, err := im.elf.DynSym(); err == nil {
			if s, ok := t.Sym(int(r.Sym)); ok {
				return s.Name()
			}
		}
		return ""
	}
	if s, ok := im.SymbolAt(r.Addend); ok && s.Value == r.Addend {
		return s.Name()
	}
	return ""
}
