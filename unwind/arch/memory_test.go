package arch

import (
	"encoding/binary"
	"errors"
	"testing"
)

// A spaced memory is bytes at 0x1000, read in the words of an architecture.
type spaced struct {
	a     *Arch
	bytes []byte
}

func (m spaced) ReadMem(addr Address, buf []byte) (int, error) {
	n := copy(buf, m.bytes[min(int(addr-0x1000), len(m.bytes)):])
	if n < len(buf) {
		return n, &MemError{addr + Address(n), ErrUnmapped}
	}
	return n, nil
}

func (m spaced) ReadWord(addr Address) (uint64, error) {
	buf := make([]byte, m.a.WordSize)
	if _, err := m.ReadMem(addr, buf); err != nil {
		return 0, err
	}
	return m.a.Word(buf), nil
}

// TestReadUint: numbers of every size in both byte orders, and never one that is not all
// there.
func TestReadUint(t *testing.T) {
	bytes := []byte{0x91, 2, 3, 4, 5, 6, 7, 0x98}
	for _, a := range []*Arch{AMD64, X86, S390X, PPC} {
		m := spaced{a, bytes}
		for size := 1; size <= 8; size++ {
			var want uint64
			for i := range size {
				if a.Big() {
					want = want<<8 | uint64(bytes[i])
				} else {
					want |= uint64(bytes[i]) << (8 * i)
				}
			}
			if v, err := a.ReadUint(m, 0x1000, size); err != nil || v != want {
				t.Errorf("%s: %d bytes are %#x, %v; want %#x", a.Name, size, v, err, want)
			}
			var failed *MemError
			if v, err := a.ReadUint(m, 0x1001+Address(8-size), size); !errors.As(err, &failed) || v != 0 {
				t.Errorf("%s: %d bytes of which one is missing are %#x, %v", a.Name, size, v, err)
			}
			if v, err := a.ReadUint(m, 0x1008, size); err == nil || v != 0 {
				t.Errorf("%s: %d bytes behind the end are %#x, %v", a.Name, size, v, err)
			}
		}
	}
}

// TestReadReg: a register on the stack may be wider than a pointer.
func TestReadReg(t *testing.T) {
	bytes := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for a, want := range map[*Arch]uint64{
		AMD64: 0x0807060504030201, X32: 0x0807060504030201, X86: 0x04030201, PPC: 0x01020304, MIPSN32: 0x0102030405060708,
	} {
		if v, err := a.ReadReg(spaced{a, bytes}, 0x1000); err != nil || v != want {
			t.Errorf("%s: %#x, %v; want %#x", a.Name, v, err, want)
		}
		if v, err := a.ReadSaved(spaced{a, bytes}, a.SP, 0x1000); err != nil || v != want {
			t.Errorf("%s saved: %#x, %v; want %#x", a.Name, v, err, want)
		}
	}
	// Of 64-bit registers all are read alike.
	short := spaced{X32, bytes[:4]}
	if v, err := X32.ReadSaved(short, RBX, 0x1000); err == nil {
		t.Errorf("half a register is %#x", v)
	}
}

// A wordy memory can be read in words only.
type wordy struct{ spaced }

func (wordy) ReadMem(Address, []byte) (int, error) { return 0, ErrUnmapped }

// TestReadByWord: what is as long as a word or two is read in words, which needs no
// buffer on the heap.
func TestReadByWord(t *testing.T) {
	m := wordy{spaced{X86, []byte{1, 0, 0, 0, 2, 0, 0, 0}}}
	for size, want := range map[int]uint64{4: 1, 8: 2<<32 | 1} {
		if v, err := X86.ReadUint(m, 0x1000, size); err != nil || v != want {
			t.Errorf("%d bytes are %#x, %v; want %#x", size, v, err, want)
		}
	}
	if v, err := X86.ReadReg(m, 0x1004); err != nil || v != 2 {
		t.Errorf("a register is %#x, %v", v, err)
	}
}

// A holed memory lacks its first word.
type holed struct{ spaced }

func (m holed) ReadWord(addr Address) (uint64, error) {
	if addr == 0x1000 {
		return 0, ErrNotInDump
	}
	return m.spaced.ReadWord(addr)
}

func TestReadUintAcrossHole(t *testing.T) {
	if v, err := X86.ReadUint(holed{spaced{X86, make([]byte, 8)}}, 0x1000, 8); !errors.Is(err, ErrNotInDump) || v != 0 {
		t.Errorf("%#x, %v", v, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		a           *Arch
		v, cut, pc  uint64
		word        []byte
		wantWord    uint64
		description string
	}{
		{AMD64, 0xffff_8000_0000_0001, 0xffff_8000_0000_0001, 0xffff_8000_0000_0001, []byte{1, 0, 0, 0, 0, 0, 0, 2}, 2<<56 | 1, "no bits are cut"},
		{X86, 0x1_8000_0001, 0x8000_0001, 0x8000_0001, []byte{1, 0, 0, 2, 9, 9, 9, 9}, 2<<24 | 1, "a word of 32 bits"},
		{ARM64, 0x00ab_7fff_0000_0004, 0x00ab_7fff_0000_0004, 0x7fff_0000_0004, []byte{1, 0, 0, 0, 0, 0, 0, 2}, 2<<56 | 1, "a signed pointer"},
		{ARM, 0x1_0000_8001, 0x8001, 0x8000, []byte{1, 0, 0, 2, 9, 9, 9, 9}, 2<<24 | 1, "a Thumb address"},
		{S390, 0x8000_1000, 0x8000_1000, 0x1000, []byte{1, 0, 0, 2, 9, 9, 9, 9}, 1<<24 | 2, "the bit of the addressing mode"},
	} {
		if got := c.a.Truncate(c.v); got != c.cut {
			t.Errorf("%s, %s: Truncate(%#x) = %#x, want %#x", c.a.Name, c.description, c.v, got, c.cut)
		}
		if got := c.a.CodeAddress(c.v); got != c.pc {
			t.Errorf("%s, %s: CodeAddress(%#x) = %#x, want %#x", c.a.Name, c.description, c.v, got, c.pc)
		}
		if got := c.a.Word(c.word); got != c.wantWord {
			t.Errorf("%s: word is %#x, want %#x", c.a.Name, got, c.wantWord)
		}
	}
}

// TestForeignArch: an Arch that was not made here has no tables, and says so.
func TestForeignArch(t *testing.T) {
	a := &Arch{Name: "other", WordSize: 8, ByteOrder: binary.LittleEndian}
	if n := a.NumRegs(); n != 0 {
		t.Errorf("%d registers", n)
	}
	if r, ok := a.FromDWARF(0); ok || a.DWARF(0) != -1 || a.RegName(0) != "?" {
		t.Errorf("DWARF register 0 is %v, %v", r, ok)
	}
	if r, ok := a.RegByName("rax"); ok || r != NoReg {
		t.Errorf("rax is %v, %v", r, ok)
	}
	if _, err := a.DecodeGRegSet(make([]byte, 512)); err == nil {
		t.Error("a register block was decoded")
	}
}

// TestLastRegister: sets hold MaxRegs registers, and nothing beyond.
func TestLastRegister(t *testing.T) {
	const last = MaxRegs - 1
	var s RegSet
	for _, r := range []Reg{0, last} {
		s.Set(r, 5)
		if v, ok := s.Get(r); !ok || v != 5 || !Mask(r).Has(r) || Mask(r).First() != r {
			t.Errorf("register %d: %d, %v", r, v, ok)
		}
	}
	if got := Mask(0, last, MaxRegs, MaxRegs+1); got.Count() != 2 || got.Has(MaxRegs) || got.Has(MaxRegs+1) {
		t.Errorf("mask %#x", got)
	}
	if got := RegMask(0).First(); got != MaxRegs {
		t.Errorf("the first register of none is %d", got)
	}
	s.Set(MaxRegs, 1)
	s.Clear(MaxRegs)
	if _, ok := s.Get(MaxRegs); ok || s.Valid != Mask(0, last) {
		t.Errorf("valid %#x", s.Valid)
	}
	s.Clear(last)
	if s.Valid != Mask(0) {
		t.Errorf("valid %#x after the last one is gone", s.Valid)
	}
}
