package corewrite

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

func newCore(class int, machine uint16, order binary.ByteOrder) *Core {
	return &Core{Class: class, Order: order, Type: elffile.ET_CORE, Machine: machine, NoteAlign: 4}
}

// More segments than e_phnum can count are counted in section header 0.
func TestManySegments(t *testing.T) {
	for _, class := range []int{32, 64} {
		for _, n := range []int{1, xnum - 2, xnum - 1, xnum + 3} {
			c := newCore(class, elffile.EM_PPC, binary.BigEndian)
			for i := range n {
				c.Load(uint64(i)<<12, elffile.PF_R, 4096, []byte{byte(i)})
			}
			f, err := elffile.Parse(c.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Progs) != n+1 {
				t.Errorf("class %d: %d program headers of %d", class, len(f.Progs), n+1)
				continue
			}
			last := &f.Progs[n]
			if data := f.SegmentData(last); last.Vaddr != uint64(n-1)<<12 || !bytes.Equal(data, []byte{byte(n - 1)}) {
				t.Errorf("class %d: the last of %d segments is %+v with %x", class, n, last, data)
			}
		}
	}
}

// Layout and Bytes agree.
func TestLayout(t *testing.T) {
	c := newCore(64, elffile.EM_X86_64, binary.LittleEndian)
	c.LoadAlign = 4096
	c.AuxVector(9, 0x1000)
	c.Segment(0x1000, elffile.PF_R, 0x3000, 0x2000)
	c.Segment(0x8000, elffile.PF_R|elffile.PF_W, 0x1000, 0)
	c.Load(0x9000, elffile.PF_R, 0x1000, []byte("text"))
	head, tail, offsets, size := c.Layout()
	whole := c.Bytes()
	if uint64(len(whole)) != size || !bytes.Equal(whole[:len(head)], head) || len(tail) != 0 {
		t.Errorf("%d bytes, head %d, tail %d", len(whole), len(head), len(tail))
	}
	if len(offsets) != 3 || offsets[0] != 4096 || offsets[1] != 0x3000 || offsets[2] != 0x3000 || string(whole[0x3000:]) != "text" {
		t.Errorf("offsets %#x", offsets)
	}
}

// Sizes of the kernel's structures: struct elf_prstatus and struct elf_prpsinfo.
func TestNoteSizes(t *testing.T) {
	for _, want := range []struct {
		name                 string
		class                int
		machine              uint16
		regs, status, psinfo int
	}{
		{"x86-64", 64, elffile.EM_X86_64, 27 * 8, 336, 136},
		{"i386", 32, elffile.EM_386, 17 * 4, 144, 124},
		{"x32", 32, elffile.EM_X86_64, 27 * 8, 296, 124},
		{"arm", 32, elffile.EM_ARM, 18 * 4, 148, 124},
		{"aarch64", 64, elffile.EM_AARCH64, 34 * 8, 392, 136},
		{"ppc", 32, elffile.EM_PPC, 48 * 4, 268, 128},
		{"m68k", 32, elffile.EM_68K, 20 * 4, 154, 124},
	} {
		c := newCore(want.class, want.machine, binary.LittleEndian)
		if n := len(c.Status(Status{Regs: make([]byte, want.regs)})); n != want.status {
			t.Errorf("%s: NT_PRSTATUS of %d bytes, want %d", want.name, n, want.status)
		}
		c.PSInfo(PSInfo{Name: "a name that is too long", Args: "x"})
		f, _ := elffile.Parse(c.Bytes())
		for n := range elffile.Notes(f.SegmentData(&f.Progs[0]), c.Order, 4) {
			if len(n.Desc) != want.psinfo {
				t.Errorf("%s: NT_PRPSINFO of %d bytes, want %d", want.name, len(n.Desc), want.psinfo)
			}
		}
	}
}
