package mono

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/jitmap"
	"github.com/corewalk/corewalk/unwind/arch"
)

// stub returns the name of a stub of the runtime (MonoTrampInfo); "" if there is none at an address. What it has first is its name, or else the address and
// the size of its code, and then the name.
func (r *runtime) stub(at, code uint64) string {
	named := at
	if v, ok := r.LookupWord(at); ok && v == code {
		named = at + 16
	} else if v, ok := r.LookupWord(at + 8); !ok || v != code {
		return ""
	}
	name, ok := r.text(0, named)
	if !ok || name == "" {
		return "(stub)"
	}
	return "(stub) " + name
}

// longestEntry is how much of a stub is looked at, in bytes.
const longestEntry = 32

// stubTable returns the unwind table of a stub that a shorter one calls, which stands for the function that was called: it takes the return address into the
// shorter one off the stack, then sets up a frame. By its instructions alone that return address would be its caller's.
func (r *runtime) stubTable(start, size uint64) []byte {
	if r.Arch != arch.AMD64 {
		return nil
	}
	popped, pushed := false, false
	code := r.Some(start, int(min(size, longestEntry)))
	for at := start; len(code) > 0; {
		in, err := disasm.Decode(r.Arch, code, at)
		if err != nil || in.Len <= 0 {
			return nil
		}
		code, at = code[in.Len:], at+uint64(in.Len)
		switch {
		case in.Kind == disasm.Pop && !popped && !pushed && in.Dst != arch.RBP:
			popped = true
		case in.Kind == disasm.Push && in.Src == arch.RBP && popped:
			pushed = true
		case in.Kind == disasm.MovSPtoFP && pushed:
			return table(start, size, byte(at-start))
		case in.Kind == disasm.Store, in.Kind == disasm.Endbr, in.Kind == disasm.Nop:
		default:
			return nil
		}
	}
	return nil
}

// table is the .eh_frame of a function that has a frame pointer from an offset on, and was entered with two return addresses on the stack.
func table(start, size uint64, from byte) []byte {
	const (
		defCFA, offset, advance1 = 0x0c, 0x80, 0x02 // DW_CFA_*
		rsp, rbp, ra             = 7, 6, 16         // DWARF's numbers
		pcRelative               = 0x1b             // DW_EH_PE_pcrel|sdata4
		cieSize, fdeSize         = 24, 24
		pcAt                     = cieSize + 8
	)
	b := make([]byte, cieSize+fdeSize+4) // the last four are the terminator
	le := binary.LittleEndian
	le.PutUint32(b, cieSize-4)
	copy(b[8:], []byte{1, 'z', 'R', 0, 1, 0x78, ra, 1, pcRelative, defCFA, rsp, 16, offset | ra, 1})
	le.PutUint32(b[cieSize:], fdeSize-4)
	le.PutUint32(b[cieSize+4:], cieSize+4)
	le.PutUint32(b[pcAt:], uint32(start-(jitmap.TableAddr(start, size)+pcAt)))
	le.PutUint32(b[pcAt+4:], uint32(size))
	copy(b[pcAt+8:], []byte{0, advance1, from, defCFA, rbp, 16, offset | rbp, 2})
	return b
}
