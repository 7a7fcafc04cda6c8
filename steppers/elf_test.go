package steppers_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/unwind"
)

// Where the built file has its parts.
const (
	ehAddr  = 0x3000
	dfOff   = 0x5000
	shOff   = 0x7000
	fileLen = 0x8000
)

// buildImage makes the file of the fake program, with the call frame information
// that fill adds: .eh_frame through its header, .debug_frame as a section. With
// functions of Go's it is a Go program, and they are its symbols.
func buildImage(tb testing.TB, fill func(eh, df *cfitest.Section), goFuncs ...unwind.Symbol) *image.Image {
	tb.Helper()
	eh, df := &cfitest.Section{Addr: ehAddr}, &cfitest.Section{Debug: true}
	fill(eh, df)
	hdrAddr := ehAddr + eh.Len()
	hdr := eh.Header(hdrAddr)
	data := make([]byte, fileLen)
	copy(data[ehAddr:], eh.Bytes())
	copy(data[hdrAddr:], hdr)
	copy(data[dfOff:], df.Bytes())
	names := "\x00.debug_frame\x00.shstrtab\x00.gopclntab\x00.symtab\x00.strtab\x00"
	copy(data[shOff+0x200:], names)
	count := uint16(3)
	if len(goFuncs) > 0 {
		count += 3
	}

	le := binary.LittleEndian
	head := bytes.NewBuffer(nil)
	head.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	binary.Write(head, le, struct {
		Type, Machine                                   uint16
		Version                                         uint32
		Entry, Phoff, Shoff                             uint64
		Flags                                           uint32
		Ehsize, Phentsize, Phnum, Shentsize, Shnum, Str uint16
	}{3, 62, 1, fnStart, 64, shOff, 0, 64, 56, 2, 64, count, 2})
	type prog struct {
		Type, Flags                             uint32
		Off, Vaddr, Paddr, Filesz, Memsz, Align uint64
	}
	binary.Write(head, le, prog{1, 5, 0, 0, 0, fileLen, fileLen, 0x1000})
	binary.Write(head, le, prog{0x6474e550, 4, hdrAddr, hdrAddr, hdrAddr, uint64(len(hdr)), uint64(len(hdr)), 4})
	copy(data, head.Bytes())
	type section struct {
		Name, Type           uint32
		Flags, Addr, Off, Sz uint64
		Link, Info           uint32
		Align, Entsize       uint64
	}
	sections := bytes.NewBuffer(nil)
	binary.Write(sections, le, section{})
	binary.Write(sections, le, section{Name: 1, Type: 1, Off: dfOff, Sz: df.Len(), Align: 1})
	binary.Write(sections, le, section{Name: 14, Type: 3, Off: shOff + 0x200, Sz: uint64(len(names)), Align: 1})
	syms, strs := make([]byte, 24), "\x00"
	for _, f := range goFuncs {
		syms = le.AppendUint32(syms, uint32(len(strs)))
		syms = append(syms, 0x12, 0, 1, 0) // a global function of section 1
		syms = le.AppendUint64(le.AppendUint64(syms, f.Addr), f.Size)
		strs += f.Name + "\x00"
	}
	copy(data[shOff+0x400:], syms)
	copy(data[shOff+0x800:], strs)
	binary.Write(sections, le, section{Name: 24, Type: 1, Off: shOff, Align: 1})
	binary.Write(sections, le, section{Name: 35, Type: 2, Off: shOff + 0x400, Sz: uint64(len(syms)), Link: 5, Entsize: 24})
	binary.Write(sections, le, section{Name: 43, Type: 3, Off: shOff + 0x800, Sz: uint64(len(strs)), Align: 1})
	copy(data[shOff:], sections.Bytes())

	im, err := image.FromMemory(data, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return im
}

// plain is what every function has at its first instruction: the CFA above the
// return address.
func plain() *cfitest.Program { return new(cfitest.Program).DefCFA(7, 8).Offset(16, 1) }
