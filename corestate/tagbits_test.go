package corestate

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// RISC-V ignores the top bits of addresses as far as the core says (PR_GET_TAGGED_ADDR_CTRL: the number is in bits 24 to 30).
func TestPointerMasking(t *testing.T) {
	const at, tag7, tag16 = 0x10000, 0x55 << 57, 0x1234 << 48
	for _, tt := range []struct {
		machine uint16
		note    []byte
		bits7   bool // addresses with a tag of 7 bits can be read
		bits16  bool
	}{
		{elffile.EM_RISCV, nil, false, false},
		{elffile.EM_RISCV, binary.LittleEndian.AppendUint64(nil, 1), false, false},
		{elffile.EM_RISCV, binary.LittleEndian.AppendUint64(nil, 7<<24), true, false},
		{elffile.EM_RISCV, binary.LittleEndian.AppendUint64(nil, 1|16<<24), true, true},
		{elffile.EM_RISCV, binary.LittleEndian.AppendUint64(nil, 60<<24), false, false},
		{elffile.EM_RISCV, []byte{0, 0, 0, 7}, false, false},
		{elffile.EM_X86_64, binary.LittleEndian.AppendUint64(nil, 7<<24), false, false},
	} {
		b := corebuild.New()
		b.Machine = tt.machine
		b.Thread(1, 11, make([]byte, 32*8))
		if tt.note != nil {
			b.Note("LINUX", 0x902, tt.note)
		}
		b.Load(at, elffile.PF_R|elffile.PF_W, 0x1000, append([]byte{42}, make([]byte, 0xfff)...))
		c := open(t, b)
		for addr, want := range map[uint64]bool{at: true, at | tag7: tt.bits7, at | tag16: tt.bits16, at | tag16&^(0x7f<<57) | 1<<50: tt.bits16} {
			v, err := c.ReadWord(addr)
			_, mapped := c.MappingAt(addr)
			if got := err == nil && v == 42; got != want || mapped != want {
				t.Errorf("machine %d, % x: %#x is read: %t, mapped: %t, want %t", tt.machine, tt.note, addr, got, mapped, want)
			}
		}
	}
}
