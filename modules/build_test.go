package modules_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

var le = binary.LittleEndian

// put writes a file, with its directories, and returns its path.
func put(t *testing.T, data []byte, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// regions are memory: bytes at addresses.
type regions map[arch.Address][]byte

func (m regions) ReadMem(addr arch.Address, b []byte) (int, error) {
	for at, data := range m {
		if addr >= at && addr-at < uint64(len(data)) {
			if n := copy(b, data[addr-at:]); n < len(b) {
				return n, arch.ErrUnmapped
			}
			return len(b), nil
		}
	}
	if len(b) == 0 {
		return 0, nil
	}
	return 0, arch.ErrUnmapped
}

func (regions) ReadWord(arch.Address) (uint64, error) { return 0, arch.ErrUnmapped }

// A section of a file that elfWith makes.
type section struct {
	name string
	typ  uint32
}

var (
	code   = section{".text", elffile.SHT_PROGBITS}
	noCode = section{".text", elffile.SHT_NOBITS} // as separate debug files have
)

// elfWith makes a shared library of x86-64 with a build-id, unless it is nil, and with
// sections of a few bytes each.
func elfWith(id []byte, sections ...section) []byte {
	const noteAt, sectionsAt = 0x200, 0x400
	note := corebuild.BuildIDNote(le, id)
	h := corebuild.Lib(elffile.Prog{Type: elffile.PT_LOAD, Flags: elffile.PF_R | elffile.PF_X, Filesz: 0x1000, Memsz: 0x1000, Align: 0x1000})
	if id != nil {
		h.Progs = append(h.Progs, elffile.Prog{Type: elffile.PT_NOTE, Off: noteAt, Vaddr: noteAt, Filesz: uint64(len(note)), Memsz: uint64(len(note))})
	}
	h.Sections, h.SectionOffset = len(sections)+2, sectionsAt
	b := append(h.Bytes(), make([]byte, 0x1000)...)
	le.PutUint16(b[62:], uint16(len(sections)+1)) // the names of sections are last
	copy(b[noteAt:], note)
	names := []byte{0}
	for i, s := range append(sections, section{".shstrtab", elffile.SHT_STRTAB}) {
		sh := b[sectionsAt+64*(i+1):]
		le.PutUint32(sh, uint32(len(names)))
		le.PutUint32(sh[4:], s.typ)
		if s.name == ".text" {
			le.PutUint64(sh[8:], elffile.SHF_ALLOC|elffile.SHF_EXECINSTR)
			le.PutUint64(sh[16:], 0xc00)
		}
		names = append(append(names, s.name...), 0)
		le.PutUint64(sh[24:], 0xc00)
		le.PutUint64(sh[32:], 48)
		le.PutUint32(sh[40:], uint32(len(sections)+1))
		le.PutUint64(sh[56:], 24)
	}
	copy(b[0xe00:], names)
	last := b[sectionsAt+64*(len(sections)+1):]
	le.PutUint64(last[24:], 0xe00)
	le.PutUint64(last[32:], uint64(len(names)))
	return b
}

// Identifiers of the PE images that the tests make.
const (
	guid    = "0123ABCD45670089A0B1C2D3E4F50617"
	debugID = guid + "1a"
	codeID  = "5F3A00BC7000"
)

// peWith makes a PE image with one section, and with a CodeView record if debug is not
// "". It is the same in memory: the section lies at its offset in the file.
func peWith(t testing.TB, code, debug string) []byte {
	t.Helper()
	var stamp, size uint32
	if _, err := fmt.Sscanf(code, "%8x%x", &stamp, &size); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 0x3000)
	copy(b, "MZ")
	b[0x3c] = 0x40
	copy(b[0x40:], "PE\x00\x00")
	coff := b[0x44:]
	le.PutUint16(coff, 0x8664)
	le.PutUint16(coff[2:], 1) // sections
	le.PutUint32(coff[4:], stamp)
	le.PutUint16(coff[16:], 240)
	opt := b[0x58:]
	le.PutUint16(opt, 0x20b)
	le.PutUint64(opt[24:], 0x180000000) // preferred base
	le.PutUint32(opt[32:], 0x1000)      // alignment in memory and in the file
	le.PutUint32(opt[36:], 0x1000)
	le.PutUint32(opt[56:], size)
	le.PutUint32(opt[60:], 0x400)
	le.PutUint32(opt[108:], 16)
	sec := b[0x58+240:]
	copy(sec, ".text")
	for i, v := range []uint32{0x2000, 0x1000, 0x2000, 0x1000} {
		le.PutUint32(sec[8+4*i:], v)
	}
	le.PutUint32(sec[36:], 0x60000020) // code, to be read and executed
	if debug == "" {
		return b
	}
	le.PutUint32(opt[112+8*6:], 0x1000)
	le.PutUint32(opt[112+8*6+4:], 28)
	g, age := split(t, debug)
	record := append(le.AppendUint32(append([]byte("RSDS"), g...), age), "app.pdb\x00"...)
	entry := b[0x1000:]
	le.PutUint32(entry[12:], 2)
	le.PutUint32(entry[16:], uint32(len(record)))
	le.PutUint32(entry[20:], 0x1020)
	le.PutUint32(entry[24:], 0x1020)
	copy(b[0x1020:], record)
	return b
}

// symWith makes a Breakpad symbol file.
func symWith(debug, code string) []byte {
	return []byte("MODULE windows x86_64 " + debug + " app.pdb\nINFO CODE_ID " + code + " app.dll\n" +
		"FILE 0 outer.c\nFILE 1 inner.h\nINLINE_ORIGIN 0 inner\n" +
		"FUNC 1100 20 0 outer\nINLINE 0 12 0 0 1108 8\n1100 8 10 0\n1108 8 5 1\n1110 10 13 0\n")
}

// isMapped reports whether the process has the file at path mapped.
func isMapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
	}
	return bytes.Contains(maps, []byte(path+"\n"))
}

// otherID makes every digit of an identifier another one.
func otherID(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '0' {
			return '1'
		}
		return '0'
	}, id)
}

// split returns the GUID of a debug identifier as files have it, and the age.
func split(t testing.TB, debug string) (g []byte, age uint32) {
	t.Helper()
	g, err := hex.DecodeString(debug[:32])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int{{0, 3}, {1, 2}, {4, 5}, {6, 7}} {
		g[r[0]], g[r[1]] = g[r[1]], g[r[0]]
	}
	if _, err := fmt.Sscanf(debug[32:], "%x", &age); err != nil {
		t.Fatal(err)
	}
	return g, age
}

// pdbWith makes a program database that consists of headers only.
func pdbWith(t testing.TB, debug string) []byte {
	t.Helper()
	const block = 512
	g, age := split(t, debug)
	info := append(append(make([]byte, 12), g...), make([]byte, 20)...)
	dbi := make([]byte, 64)
	le.PutUint32(dbi, 0xffffffff)
	le.PutUint32(dbi[8:], age)
	dir := le.AppendUint32(nil, 4) // streams: their sizes, and the blocks of those with bytes
	for _, n := range []int{0, len(info), 0, len(dbi), 3, 4} {
		dir = le.AppendUint32(dir, uint32(n))
	}
	b := make([]byte, 8*block)
	copy(b, "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	for i, v := range []uint32{block, 1, 8, uint32(len(dir)), 0, 6} {
		le.PutUint32(b[32+4*i:], v)
	}
	copy(b[3*block:], info)
	copy(b[4*block:], dbi)
	copy(b[5*block:], dir)
	le.PutUint32(b[6*block:], 5)
	return b
}
