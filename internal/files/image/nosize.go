package image

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxNoSize is how much code of a function without a size is looked through for its end, in bytes.
const maxNoSize = 1 << 10

// endsBefore reports whether a local function without a size ends before an address that it is the nearest symbol of. Compilers say the sizes of what they
// make; start-up code (frame_dummy) has none, and what follows it is of other files, which may have no symbols. A function ends where its
// instructions go nowhere but elsewhere, and none before them goes on behind that.
func (im *Image) endsBefore(s *elffile.Sym, addr uint64) bool {
	a := im.elf.Arch()
	if s.Size != 0 || s.Type != elffile.STT_FUNC || s.Bind != elffile.STB_LOCAL || a == nil || a.DelaySlots || a.Mode != arch.NoReg {
		return false
	}
	code := (*imageCode)(im).CodeAt(s.Value)
	furthest := s.Value // that a jump leads to
	for pc := s.Value; pc < addr && pc-s.Value < min(maxNoSize, uint64(len(code))); {
		in, err := disasm.Decode(a, code[pc-s.Value:], pc)
		if err != nil || in.Len == 0 {
			return false
		}
		pc += uint64(in.Len)
		switch in.Kind {
		case disasm.Jump, disasm.CondJump:
			furthest = max(furthest, in.Target)
		case disasm.JumpIndirect:
			return false // a table may lead anywhere
		}
		switch in.Kind {
		case disasm.Jump, disasm.Ret, disasm.Trap:
			if furthest < pc && pc <= addr {
				return true
			}
		}
	}
	return false
}
