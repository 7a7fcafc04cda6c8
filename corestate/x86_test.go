package corestate

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// i386Regs is a register block of i386 with the registers that count here.
func i386Regs(fs, gs uint32) []byte {
	b := make([]byte, 17*4)
	for i := range 17 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(0x100+i))
	}
	binary.LittleEndian.PutUint32(b[9*4:], fs)
	binary.LittleEndian.PutUint32(b[10*4:], gs)
	return b
}

// The thread pointer is the base of the segment that gs selects: segments 12 to
// 14 of a 64-bit kernel's, 6 to 8 of a 32-bit one's.
func TestSegmentBases(t *testing.T) {
	for _, tc := range []struct {
		name        string
		fs, gs      uint32
		tls         []uint32
		fsOK, gsOK  bool
		fsBase, gsB uint64
	}{
		{"64-bit kernel", 0, 0x63, []uint32{12, 0xf7d0c500, 0xfffff, 0x51, 13, 0, 0, 0x28, 14, 0, 0, 0x28}, false, true, 0, 0xf7d0c500},
		{"32-bit kernel", 0x3b, 0x33, []uint32{6, 0xb7d0c500, 0xfffff, 0x51, 7, 0x8000, 0xfffff, 0x51}, true, true, 0x8000, 0xb7d0c500},
		{"the selector's upper half is padding", 0, 0xabcd0033, []uint32{6, 0xb7d0c500, 0xfffff, 0x51}, false, true, 0, 0xb7d0c500},
		{"another segment", 0, 0x2b, []uint32{6, 0xb7d0c500, 0xfffff, 0x51}, false, false, 0, 0},
		{"cut off", 0, 0x33, []uint32{6, 0xb7d0c500}, false, false, 0, 0},
		{"no note", 0, 0x33, nil, false, false, 0, 0},
	} {
		b := corebuild.New32(elffile.EM_386, binary.LittleEndian)
		b.Thread(7, 11, i386Regs(tc.fs, tc.gs))
		if tc.tls != nil {
			b.Note("LINUX", nt386TLS, b.Ints(tc.tls...))
		}
		regs, err := open(t, b).Registers(7)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if v, ok := regs.Get(arch.X86FSBase); ok != tc.fsOK || v != tc.fsBase {
			t.Errorf("%s: fs begins at %#x, %v; want %#x, %v", tc.name, v, ok, tc.fsBase, tc.fsOK)
		}
		if v, ok := regs.Get(arch.X86GSBase); ok != tc.gsOK || v != tc.gsB {
			t.Errorf("%s: gs begins at %#x, %v; want %#x, %v", tc.name, v, ok, tc.gsB, tc.gsOK)
		}
		for r, want := range map[arch.Reg]uint64{arch.EBX: 0x100, arch.EBP: 0x105, arch.OrigEAX: 0x10b, arch.EIP: 0x10c, arch.ESP: 0x10f, arch.X86SS: 0x110} {
			if v, ok := regs.Get(r); !ok || v != want {
				t.Errorf("%s: %s = %#x, %v; want %#x", tc.name, arch.X86.RegName(r), v, ok, want)
			}
		}
	}
}
