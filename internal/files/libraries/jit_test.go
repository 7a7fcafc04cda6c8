package libraries

import (
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// jitMem is memory of a process that registers code, from jitBase on.
type jitMem struct {
	arch *arch.Arch
	data []byte
}

const jitBase = 0x10000

func (m *jitMem) ReadMem(addr arch.Address, buf []byte) (int, error) {
	if addr < jitBase || addr-jitBase >= uint64(len(m.data)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	if n := copy(buf, m.data[addr-jitBase:]); n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return len(buf), nil
}

func (m *jitMem) ReadWord(addr arch.Address) (uint64, error) {
	b := make([]byte, m.arch.WordSize)
	if _, err := m.ReadMem(addr, b); err != nil {
		return 0, err
	}
	return m.arch.Word(b), nil
}

// put writes a number of size bytes at addr.
func (m *jitMem) put(addr arch.Address, size int, v uint64) {
	b := m.data[addr-jitBase:][:size]
	switch size {
	case 2:
		m.arch.ByteOrder.PutUint16(b, uint16(v))
	case 4:
		m.arch.ByteOrder.PutUint32(b, uint32(v))
	default:
		m.arch.ByteOrder.PutUint64(b, v)
	}
}

// list writes a descriptor at jitBase and entries from jitBase+0x100 on, 0x40 bytes
// each, linked in order.
func (m *jitMem) list(entries ...JITEntry) {
	w := m.arch.WordSize
	m.put(jitBase, 4, 1)
	size := uint64(3 * w)
	if m.arch != arch.X86 {
		size = (size + 7) &^ 7
	}
	link := arch.Address(jitBase + 8 + w)
	for i, e := range entries {
		at := arch.Address(jitBase + 0x100 + 0x40*i)
		m.put(link, w, at)
		m.put(at+uint64(2*w), w, e.Addr)
		m.put(at+size, 8, e.Size)
		link = at
	}
}

func newJITMem(a *arch.Arch) *jitMem { return &jitMem{a, make([]byte, 0x4000)} }

// TestReadJIT: the list of every word size, byte order and alignment.
func TestReadJIT(t *testing.T) {
	want := []JITEntry{{0x12000, 0x300}, {0x13000, 0x123}}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.ARM, arch.PPC, arch.PPC64, arch.S390X} {
		m := newJITMem(a)
		m.list(want[0], JITEntry{}, want[1])
		got, err := ReadJIT(m, a, jitBase)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %x, %v", a.Name, got, err)
		}
	}
}

// TestReadJITDamaged: what is before the damage is kept.
func TestReadJITDamaged(t *testing.T) {
	one := JITEntry{0x12000, 0x300}
	for _, tc := range []struct {
		name   string
		damage func(*jitMem)
		want   int
	}{
		{"version", func(m *jitMem) { m.put(jitBase, 4, 2) }, 0},
		{"circle", func(m *jitMem) { m.put(jitBase+0x140, 8, jitBase+0x100) }, 2},
		{"itself", func(m *jitMem) { m.put(jitBase+0x100, 8, jitBase+0x100) }, 1},
		{"unmapped next", func(m *jitMem) { m.put(jitBase+0x100, 8, 8) }, 1},
		{"unmapped first", func(m *jitMem) { m.put(jitBase+16, 8, 8) }, 0},
		{"entry cut off", func(m *jitMem) { m.put(jitBase+16, 8, jitBase+0x3ff0) }, 0},
	} {
		m := newJITMem(arch.AMD64)
		m.list(one, one)
		tc.damage(m)
		got, err := ReadJIT(m, arch.AMD64, jitBase)
		if err == nil || len(got) != tc.want {
			t.Errorf("%s: %d entries, %v", tc.name, len(got), err)
		}
	}
	if _, err := ReadJIT(newJITMem(arch.AMD64), arch.AMD64, 0); err == nil {
		t.Error("a list where nothing is mapped")
	}
	m := newJITMem(arch.AMD64)
	m.put(jitBase, 4, 7)
	if _, err := ReadJIT(m, arch.AMD64, jitBase); !errors.Is(err, ErrJIT) {
		t.Error(err)
	}
}

// jitFile writes an ELF header and section headers at addr: code at each of the
// ranges.
func (m *jitMem) file(addr arch.Address, typ uint16, code ...[2]uint64) JITEntry {
	copy(m.data[addr-jitBase:], "\x7fELF\x02\x01\x01")
	m.put(addr+16, 2, uint64(typ))
	m.put(addr+18, 2, 62)
	m.put(addr+40, 8, 0x100)
	m.put(addr+58, 2, 64)
	m.put(addr+60, 2, uint64(len(code)+2))
	for i, c := range code {
		at := addr + 0x100 + 64*uint64(i+1)
		m.put(at+4, 4, 1)
		m.put(at+8, 8, 6) // SHF_ALLOC, SHF_EXECINSTR
		m.put(at+16, 8, c[0])
		m.put(at+32, 8, c[1])
	}
	data := addr + 0x100 + 64*uint64(len(code)+1)
	m.put(data+4, 4, 1)
	m.put(data+8, 8, 3) // SHF_ALLOC, SHF_WRITE: no code
	m.put(data+16, 8, 0x501000)
	m.put(data+32, 8, 0x1000)
	return JITEntry{addr, 0x100 + 64*uint64(len(code)+2)}
}

// TestJITLibraries: code gets libraries, first come first served, within executable
// memory that is nobody's.
func TestJITLibraries(t *testing.T) {
	m := newJITMem(arch.AMD64)
	entries := []JITEntry{
		m.file(0x10400, 1, [2]uint64{0x500000, 0x100}, [2]uint64{0x500800, 0x40}),
		m.file(0x10800, 3, [2]uint64{0x500080, 0x100}, [2]uint64{0x500100, 0x80}), // the first overlaps
		m.file(0x10c00, 2, [2]uint64{0x500f80, 0x1000}),                           // reaches over the mapping's end
		m.file(0x11000, 2, [2]uint64{0x600000, 0x10}),                             // not executable memory
		m.file(0x11400, 2, [2]uint64{0x500900, 1<<64 - 0x500900}),                 // wraps around
		m.file(0x11800, 2),
		{0x13f00, 0x1000}, {0x10000, 0x40}, {8, 8},
	}
	mapping := func(addr arch.Address) (libstate.Mapping, bool) {
		return libstate.Mapping{Start: 0x500000, End: 0x501000, Perm: libstate.Read | libstate.Exec}, addr >= 0x500000 && addr < 0x501000
	}
	libs := JITLibraries(m, arch.AMD64, entries, mapping)
	type span struct{ start, end arch.Address }
	want := map[string][]span{
		"[jit 0x500000]": {{0x500000, 0x500100}, {0x500800, 0x500840}},
		"[jit 0x500100]": {{0x500100, 0x500180}},
		"[jit 0x500f80]": {{0x500f80, 0x501000}},
	}
	for _, l := range libs {
		var got []span
		for _, mp := range l.Mappings {
			got = append(got, span{mp.Start, mp.End})
			if mp.Perm != libstate.Read|libstate.Exec || mp.Path != "" {
				t.Errorf("%s: %+v", l.Path, mp)
			}
		}
		if !slices.Equal(got, want[l.Path]) || l.Kind != libstate.JIT || l.LoadBias != 0 || l.Kind.String() != "jit" {
			t.Errorf("%s: %x, %+v", l.Path, got, l)
		}
	}
	if len(libs) != len(want) || libs[0].HeaderAddr != 0x10400 || libs[0].ImageSize != entries[0].Size {
		t.Errorf("%d libraries", len(libs))
	}
}

// TestJITMany: a list as long as is read, in the order that costs most.
func TestJITMany(t *testing.T) {
	const n = maxJITRanges + 100
	m := &jitMem{arch.AMD64, make([]byte, 0x400+0x200*n)}
	var entries []JITEntry
	for i := range n {
		entries = append(entries, m.file(0x10400+0x200*uint64(i), 1, [2]uint64{0x500000 + 0x10*uint64(n-i), 0x10}))
	}
	mapping := func(addr arch.Address) (libstate.Mapping, bool) {
		return libstate.Mapping{Start: 0x500000, End: 1 << 40, Perm: libstate.Exec}, true
	}
	if libs := JITLibraries(m, arch.AMD64, entries, mapping); len(libs) != maxJITRanges {
		t.Errorf("%d libraries", len(libs))
	}
}

// FuzzJIT reads a list and its files from any memory.
func FuzzJIT(f *testing.F) {
	m := newJITMem(arch.AMD64)
	m.list(m.file(0x10400, 1, [2]uint64{0x500000, 0x100}), m.file(0x10800, 3, [2]uint64{0x500080, 0x100}))
	f.Add(m.data[:0xc00], false)
	small := newJITMem(arch.X86)
	small.list(JITEntry{jitBase, 52})
	f.Add(small.data[:0x200], true)
	f.Fuzz(func(t *testing.T, data []byte, x86 bool) {
		a := arch.AMD64
		if x86 {
			a = arch.X86
		}
		m := &jitMem{a, data}
		entries, _ := ReadJIT(m, a, jitBase)
		mapping := func(addr arch.Address) (libstate.Mapping, bool) {
			return libstate.Mapping{Start: addr &^ 0xfff, End: addr&^0xfff + 0x1000, Perm: libstate.Exec}, addr < 1<<47
		}
		var last arch.Address
		var all []libstate.Mapping
		for _, l := range JITLibraries(m, a, entries, mapping) {
			all = append(all, l.Mappings...)
		}
		slices.SortFunc(all, func(a, b libstate.Mapping) int { return int(int64(a.Start - b.Start)) })
		for _, mp := range all {
			if mp.Start < last || mp.End <= mp.Start {
				t.Fatalf("%+v overlaps or is empty", mp)
			}
			last = mp.End
		}
	})
}
