package arch

import (
	"encoding/binary"
	"testing"
)

func TestAMD64Numbering(t *testing.T) {
	for dw, name := range map[uint64]string{0: "rax", 1: "rdx", 2: "rcx", 3: "rbx", 6: "rbp", 7: "rsp", 15: "r15", 16: "rip", 49: "eflags", 58: "fs_base"} {
		r, ok := AMD64.FromDWARF(dw)
		if !ok || AMD64.RegName(r) != name || AMD64.DWARF(r) != int(dw) {
			t.Errorf("DWARF register %d is %q (%v), DWARF() %d; want %q", dw, AMD64.RegName(r), ok, AMD64.DWARF(r), name)
		}
	}
	if _, ok := AMD64.FromDWARF(17); ok {
		t.Error("xmm0 was taken for a general register")
	}
	if _, ok := AMD64.FromDWARF(1 << 40); ok {
		t.Error("an absurd DWARF register number was accepted")
	}
	for name, want := range map[string]Reg{"r12": R12, "rax": RAX} { // which is the first
		if r, ok := AMD64.RegByName(name); !ok || r != want {
			t.Errorf("RegByName(%s) = %v, %v", name, r, ok)
		}
	}
	if n := AMD64.RegName(NoReg); n != "?" {
		t.Errorf("NoReg is named %q", n)
	}
}

func TestDecodeGRegSet(t *testing.T) {
	block := make([]byte, AMD64.GRegSetSize())
	for i := range 27 {
		binary.LittleEndian.PutUint64(block[8*i:], uint64(0x100+i))
	}
	s, err := AMD64.DecodeGRegSet(block)
	if err != nil {
		t.Fatal(err)
	}
	// Indexes of struct user_regs_struct.
	for r, want := range map[Reg]uint64{R15: 0x100, RBP: 0x104, RBX: 0x105, RAX: 0x10a, RDI: 0x10e, OrigRAX: 0x10f, RIP: 0x110, EFLAGS: 0x112, RSP: 0x113, FSBase: 0x115, GS: 0x11a} {
		if v, ok := s.Get(r); !ok || v != want {
			t.Errorf("%s = %#x, %v; want %#x", AMD64.RegName(r), v, ok, want)
		}
	}
	if _, err := AMD64.DecodeGRegSet(block[:16*8]); err == nil {
		t.Error("a block without a program counter was accepted")
	}
	short, err := AMD64.DecodeGRegSet(block[:17*8])
	if err != nil || short.Valid.Has(RSP) || !short.Valid.Has(RIP) {
		t.Errorf("short block: %v, valid %#x", err, short.Valid)
	}
}

func TestRegSet(t *testing.T) {
	var s RegSet
	s.Set(R8, 7)
	s.Set(NoReg, 1)
	if v, ok := s.Get(R8); !ok || v != 7 || s.Valid.Count() != 1 {
		t.Errorf("r8 = %d, %v; %d valid", v, ok, s.Valid.Count())
	}
	s.Clear(R8)
	if _, ok := s.Get(R8); ok {
		t.Error("a cleared register is known")
	}
	if Mask(RAX, NoReg) != 1 {
		t.Error("Mask kept NoReg")
	}
}

// TestOtherDWARFNumbers: numbers that stand for a register beside its own.
func TestOtherDWARFNumbers(t *testing.T) {
	for n, want := range map[uint64]Reg{65: PPCLR, 108: PPCLR, 66: PPCCTR, 109: PPCCTR, 67: PPCNIP, 99: PPCNIP, 64: PPCCCR, 70: PPCCCR, 46: PPCF14} {
		if r, ok := PPC64LE.FromDWARF(n); !ok || r != want {
			t.Errorf("%d is %s, %v; want %s", n, PPC64LE.RegName(r), ok, PPC64LE.RegName(want))
		}
	}
	if n := PPC64LE.DWARF(PPCLR); n != 65 {
		t.Errorf("LR is %d", n)
	}
	if n := PPC.DWARF(PPCNIP); n != -1 {
		t.Errorf("NIP is %d", n)
	}
}

// memory is bytes from address 0 on.
type memory []byte

func (m memory) ReadMem(addr Address, buf []byte) (int, error) { return copy(buf, m[addr:]), nil }

func (m memory) ReadWord(addr Address) (uint64, error) {
	return uint64(PPC.ByteOrder.Uint32(m[addr:])), nil
}

// TestReadSaved: floating-point registers take eight bytes on 32 bits too.
func TestReadSaved(t *testing.T) {
	m := memory{1, 2, 3, 4, 5, 6, 7, 8}
	for r, want := range map[Reg]uint64{PPCR14: 0x01020304, PPCF14: 0x0102030405060708} {
		if v, err := PPC.ReadSaved(m, r, 0); err != nil || v != want {
			t.Errorf("%s is %#x, %v; want %#x", PPC.RegName(r), v, err, want)
		}
	}
}
