package libraries

import (
	"errors"
	"fmt"

	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// GDB's JIT compilation interface (gdb manual, "JIT Compilation Interface"): a program
// that compiles code at run time keeps a list of ELF files in its memory that describe
// the code. A variable of the program points to the list.

// JITDescriptor is the name of the variable, of type struct jit_descriptor.
const JITDescriptor = "__jit_debug_descriptor"

// A JITEntry is an ELF file in memory that describes generated code.
type JITEntry struct {
	Addr arch.Address
	Size uint64 // bytes
}

// Limits on what a damaged or hostile list may demand.
const (
	maxJITEntries = 1 << 16
	maxJITHeaders = 64 << 20 // bytes of section headers read in total
	maxJITRanges  = 1 << 15
)

// ErrJIT: the list of generated code is damaged.
var ErrJIT = errors.New("damaged list of JIT-compiled code")

// ReadJIT reads the list whose descriptor is at addr. Programs link the newest entry
// first. With an error it also returns the entries before the damage.
func ReadJIT(mem arch.Memory, a *arch.Arch, addr arch.Address) ([]JITEntry, error) {
	version, err := a.ReadUint(mem, addr, 4)
	if err != nil {
		return nil, fmt.Errorf("JIT descriptor: %w", err)
	}
	if version != 1 {
		return nil, fmt.Errorf("version %d at %#x, want 1: %w", version, addr, ErrJIT)
	}
	word := uint64(a.WordSize)
	at, err := mem.ReadWord(a.Truncate(addr + 8 + word)) // first_entry, after relevant_entry
	if err != nil {
		return nil, fmt.Errorf("JIT descriptor: %w", err)
	}
	var list []JITEntry
	seen := map[arch.Address]bool{}
	for at != 0 {
		if seen[at] {
			return list, fmt.Errorf("entry %#x is listed twice: %w", at, ErrJIT)
		}
		if len(seen) == maxJITEntries {
			return list, fmt.Errorf("more than %d entries: %w", maxJITEntries, ErrJIT)
		}
		seen[at] = true
		e, next, err := jitEntry(mem, a, at)
		if err != nil {
			return list, fmt.Errorf("JIT entry at %#x: %w", at, err)
		}
		if e.Addr != 0 && e.Size != 0 {
			list = append(list, e)
		}
		at = next
	}
	return list, nil
}

// jitEntry reads a struct jit_code_entry: next and previous entry, the file's address,
// and its size, a 64-bit number that i386 aligns to 4 bytes.
func jitEntry(mem arch.Memory, a *arch.Arch, at arch.Address) (e JITEntry, next arch.Address, err error) {
	word := uint64(a.WordSize)
	if next, err = mem.ReadWord(at); err != nil {
		return e, 0, err
	}
	if e.Addr, err = mem.ReadWord(a.Truncate(at + 2*word)); err != nil {
		return e, 0, err
	}
	size := 3 * word
	if a != arch.X86 && a.Family != arch.FamilyM68K {
		size = (size + 7) &^ 7
	}
	e.Size, err = a.ReadUint(mem, a.Truncate(at+size), 8)
	return e, next, err
}

// FindJIT makes libraries of the code that the process's JIT compilers have registered;
// each of libs may have a list of its own. mapping is as for JITLibraries. damaged is
// called for each list with an error, with the library that has it.
func FindJIT(mem arch.Memory, a *arch.Arch, libs []*libstate.Library, files modules.Source, mapping func(arch.Address) (libstate.Mapping, bool)) (found []*libstate.Library, damaged map[*libstate.Library]error) {
	var entries []JITEntry
	for _, lib := range libs {
		s, ok := (*image.Image)(modules.LocalImage(files, lib)).OwnSymbol(JITDescriptor)
		if !ok {
			continue
		}
		list, err := ReadJIT(mem, a, s.Value+lib.LoadBias)
		if err != nil {
			if damaged == nil {
				damaged = map[*libstate.Library]error{}
			}
			damaged[lib] = err
		}
		entries = append(entries, list...)
	}
	return JITLibraries(mem, a, entries, mapping), damaged
}

// JITLibraries makes a library of the code of each entry. mapping returns the mapping
// that contains an address, if such code may be there: executable, and not part of a
// library; otherwise false. If several entries claim the same code, the first one keeps
// it. Damaged entries are left out.
func JITLibraries(mem arch.Memory, a *arch.Arch, entries []JITEntry, mapping func(arch.Address) (libstate.Mapping, bool)) []*libstate.Library {
	b := jitBuilder{Reader: procmem.Reader{Memory: mem, Arch: a}, mapping: mapping, left: maxJITHeaders}
	for _, e := range entries {
		b.add(e)
	}
	return b.libs
}

type jitBuilder struct {
	procmem.Reader
	mapping func(arch.Address) (libstate.Mapping, bool)
	libs    []*libstate.Library
	taken   []jitSpan // ascending; small, since hostile input may insert at the front
	left    uint64    // bytes of headers left to read
}

type jitSpan struct{ start, end arch.Address }

func (b *jitBuilder) add(e JITEntry) {
	l := &libstate.Library{Kind: libstate.JIT, HeaderAddr: e.Addr, ImageSize: e.Size}
	for _, s := range b.code(e) {
		l.Mappings = append(l.Mappings, b.claim(s)...)
	}
	if len(l.Mappings) == 0 {
		return
	}
	l.SetMappings(l.Mappings)
	l.Path = fmt.Sprintf("[jit %#x]", l.Start)
	b.libs = append(b.libs, l)
}

// code lists the executable sections of an entry's file. Their addresses are where the
// code really is: the program writes them into its copy of the file.
func (b *jitBuilder) code(e JITEntry) []elffile.Section {
	head := b.Some(e.Addr, int(min(e.Size, 64)))
	if len(head) < 52 || head[4] == 2 && len(head) < 64 {
		return nil
	}
	// The section header table is appended to the ELF header, so the whole file need
	// not be read.
	o, shoff, size, num := b.Arch.ByteOrder, uint64(0), uint16(0), uint16(0)
	if head[4] == 2 {
		shoff, size, num = o.Uint64(head[40:]), o.Uint16(head[58:]), o.Uint16(head[60:])
	} else {
		shoff, size, num = uint64(o.Uint32(head[32:])), o.Uint16(head[46:]), o.Uint16(head[48:])
	}
	table := uint64(size) * uint64(num)
	if shoff > e.Size || table > e.Size-shoff || table > b.left {
		return nil
	}
	b.left -= table
	data := append(head, b.Some(e.Addr+shoff, int(table))...)
	if head[4] == 2 {
		o.PutUint64(data[40:], uint64(len(head)))
	} else {
		o.PutUint32(data[32:], uint32(len(head)))
	}
	f, err := elffile.Parse(data)
	if err != nil || f.PtrSize() != b.Arch.WordSize || f.Big() != b.Arch.Big() {
		return nil
	}
	const loaded = elffile.SHF_ALLOC | elffile.SHF_EXECINSTR
	return slices.DeleteFunc(slices.Clone(f.Sections()), func(s elffile.Section) bool {
		return s.Flags&loaded != loaded || s.Addr == 0 || s.Size == 0 || s.Addr+s.Size < s.Addr
	})
}

// claim returns the part of a section that is in the mapping at its start and that no
// earlier entry has.
func (b *jitBuilder) claim(s elffile.Section) []libstate.Mapping {
	m, ok := b.mapping(s.Addr)
	if !ok || len(b.taken) == maxJITRanges {
		return nil
	}
	m.Start, m.End, m.Offset, m.Path = s.Addr, min(m.End, s.Addr+s.Size), 0, ""
	i, _ := slices.BinarySearchFunc(b.taken, m.Start, func(t jitSpan, start arch.Address) int {
		if t.end <= start {
			return -1
		}
		return 1
	})
	if i < len(b.taken) && b.taken[i].start < m.End {
		return nil
	}
	b.taken = slices.Insert(b.taken, i, jitSpan{m.Start, m.End})
	return []libstate.Mapping{m}
}
