package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What the memory of a process says about its libraries: lists that a program may have linked as it likes.

const processAt = 0x400000

// processParts are lists of the dynamic linker, and of JIT compilers.
func processParts() []base {
	files := map[string][]byte{"jit": jitMemory(4, 0), "jit cycle": jitMemory(4, 2), "link map": linkMemory(6, 0), "link map cycle": linkMemory(6, 3)}
	return part{"lists", fixed(func() map[string][]byte { return files }), listShape, useLists}.bases(namesOf(files)...)
}

// An image of a process's memory is a page with the ELF file that the program is, and then data.
const (
	listDynamic = 0x1000 // from processAt
	listJIT     = 0x1100
	listDebug   = 0x1200
	listEntries = 0x1300
	listNames   = 0x1800
	listObjects = 0x2000
)

func processMemory() []byte {
	b := make([]byte, 0x3000)
	file := newELF().bytes()
	copy(b, file[:0x200])
	return b
}

func putWords(b []byte, at int, v ...uint64) {
	for i, v := range v {
		binary.LittleEndian.PutUint64(b[at+8*i:], v)
	}
}

// jitMemory has a list of n ELF files in GDB's JIT interface, the last of which leads back to entry cycle, if that
// is not 0.
func jitMemory(n, cycle int) []byte {
	b := processMemory()
	const at = processAt + listEntries
	putWords(b, listJIT, 1, 0, at)
	for i := range n {
		next := uint64(at + 32*(i+1))
		if i == n-1 {
			next = 0
			if cycle > 0 {
				next = at + 32*uint64(cycle)
			}
		}
		file := newELF().bytes()
		where := listObjects + 0x300*i
		copy(b[where:where+0x100], file)
		sections := int(binary.LittleEndian.Uint64(file[40:]))
		binary.LittleEndian.PutUint64(b[where+40:], 64)
		copy(b[where+64:where+0x300], file[sections:])
		putWords(b, listEntries+32*i, next, 0, processAt+uint64(where), 0x300)
	}
	return b
}

// linkMemory has a list of n libraries of the dynamic linker, in two namespaces.
func linkMemory(n, cycle int) []byte {
	b := processMemory()
	const at = processAt + listEntries
	putWords(b, listDynamic, 21, processAt+listDebug, 5, processAt+listNames, 0, 0)
	putWords(b, listDebug, 2, at, processAt, 0, processAt, processAt+listDebug+64)
	putWords(b, listDebug+64, 2, at+40, processAt, 0, processAt, processAt+listDebug)
	for i := range n {
		next := uint64(at + 40*(i+1))
		if i == n-1 {
			next = 0
			if cycle > 0 {
				next = at + 40*uint64(cycle)
			}
		}
		putWords(b, listEntries+40*i, uint64(i)<<12, processAt+listNames+uint64(8*i), processAt+listDynamic, next, at)
		copy(b[listNames+8*i:], "/lib/a")
	}
	// Where the program's headers are is what the made ELF file says; its dynamic section is ours.
	for i := range 2 {
		p := b[64+56*i:]
		if binary.LittleEndian.Uint32(p) == 2 {
			binary.LittleEndian.PutUint64(p[16:], processAt+listDynamic)
		}
	}
	return b
}

func listShape(data []byte) *shape {
	s := &shape{regions: []region{{0, 0x200}, {listDynamic, 0x800}, {listObjects, 0x1000}}}
	s.fields = append(words(64, 112, 8, roleNumber, nil), words(listDynamic, 0x800, 8, roleAddr, nil)...)
	for i := range 4 {
		s.fields = append(s.fields, words(listObjects+0x300*i, 0x300, 4, roleNumber, nil)...)
	}
	for at := uint64(listDynamic); at < listNames; at += 8 {
		s.addrs = append(s.addrs, processAt+at)
	}
	s.addrs = append(s.addrs, processAt, processAt+listObjects, madeText)
	return s
}

// sparse is memory that has nothing but its bytes.
type sparse struct{ memory }

func (m sparse) ReadMem(addr arch.Address, b []byte) (int, error) {
	off := addr - m.base
	if off >= uint64(len(m.data)) {
		return 0, &arch.MemError{Addr: addr, Err: errNothing}
	}
	n := copy(b, m.data[off:])
	if n < len(b) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: errNothing}
	}
	return n, nil
}

func (m sparse) ReadWord(addr arch.Address) (uint64, error) {
	return wordAt(m, m.a, addr)
}

func useLists(data []byte, _ *rand.Rand) {
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.PPC64} {
		mem := sparse{memory{a, processAt, data}}
		entries, _ := libraries.ReadJIT(mem, a, processAt+listJIT)
		libraries.JITLibraries(mem, a, entries, func(addr arch.Address) (libstate.Mapping, bool) {
			return libstate.Mapping{Start: addr &^ 0xfff, End: addr&^0xfff + 0x1000, Perm: libstate.Exec}, addr < 1<<47
		})
		end := processAt + uint64(len(data))&^0xfff
		maps := []libstate.Mapping{{Start: processAt, End: processAt + 0x1000, Path: "/bin/p", Perm: libstate.Read | libstate.Exec}}
		if end > processAt+0x1000 {
			maps = append(maps, libstate.Mapping{Start: processAt + 0x1000, End: end, Offset: 0x1000, Path: "/bin/p", Perm: libstate.Read | libstate.Write})
		}
		tab, _ := libraries.Build(libraries.Source{Arch: a, Mem: mem, Mappings: maps, Auxv: libstate.Auxv{{Key: libstate.ATPhdr, Value: processAt + 64}, {Key: libstate.ATPhNum, Value: 2},
			{Key: libstate.ATPhEnt, Value: 56}, {Key: libstate.ATEntry, Value: processAt + 0x800}, {Key: libstate.ATBase, Value: processAt}}})
		tab.Libraries(false)
		for at := uint64(processAt); at < end; at += 0x400 {
			tab.LibraryAt(at)
		}
	}
}
