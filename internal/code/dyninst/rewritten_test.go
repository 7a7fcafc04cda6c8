package dyninst

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// memory is bytes from an address on.
type memory struct {
	addr uint64
	data []byte
}

func (m *memory) ReadMem(addr uint64, buf []byte) (int, error) {
	if addr < m.addr || addr-m.addr >= uint64(len(m.data)) {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	if n := copy(buf, m.data[addr-m.addr:]); n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrUnmapped}
	}
	return len(buf), nil
}

func (m *memory) ReadWord(addr uint64) (uint64, error) {
	var b [8]byte
	if _, err := m.ReadMem(addr, b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

const bias = 0x5555_0000_0000

// open opens the rewritten program of the fixtures, with a trap map in memory.
func open(tb testing.TB, data []byte) (*Code, *elffile.File) {
	tb.Helper()
	f, err := elffile.Parse(data)
	if err != nil {
		tb.Skip(err)
	}
	src := Source{File: f, Arch: arch.AMD64, SymbolAt: f.LookupSym, SymbolByName: f.SymByName, Bias: bias}
	at, ok := f.DynValue(dtDyninst)
	if ok {
		from, _ := f.SymByName("tiny")
		to, _ := f.SymByName("tiny_dyninst")
		src.Mem = &memory{at + bias, trapMapBytes(0, bias+from.Value, bias+to.Value)}
	}
	return Open(src), f
}

func binaryOf(tb testing.TB) []byte {
	tb.Helper()
	data, err := os.ReadFile(fixture.Get(tb, "amd64-rewritten-probe").Binary(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func trapMapBytes(pos int32, words ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, trapSignature)
	b = le.AppendUint32(b, uint32(len(words)/2))
	b = le.AppendUint32(b, uint32(pos))
	b = append(b, make([]byte, 20)...)
	for _, w := range words {
		b = le.AppendUint64(b, w)
	}
	return b
}

// TestOriginalOfEveryInstruction: every instruction of the originals but those that
// anchors overwrote is found again once, in order, with the same bytes where these
// do not depend on the place; and what is inserted counts as instrumentation.
func TestOriginalOfEveryInstruction(t *testing.T) {
	data := binaryOf(t)
	c, f := open(t, data)
	if c == nil {
		t.Fatal("not seen to be rewritten")
	}
	for name, inserted := range map[string]int{"work": 8 + 43, "tiny": 1, "inner": 44} {
		orig, _ := f.SymByName(name)
		dup, _ := f.SymByName(name + suffix)
		if c.Function(dup.Value) != name {
			t.Errorf("%s: %q", name, c.Function(dup.Value))
		}
		next, extra := orig.Value, 0
		for pc := dup.Value; pc < dup.Value+dup.Size; {
			code, err := f.DataAt(pc, dup.Value+dup.Size-pc)
			if err != nil {
				t.Fatal(err)
			}
			in, err := disasm.Decode(arch.AMD64, code, pc)
			if err != nil {
				t.Fatal(err)
			}
			p, ok := c.Original(pc)
			switch {
			case !ok:
				t.Errorf("%s: %#x is unknown", name, pc)
			case p.Tramp:
				extra++
				if p.Addr != next || p.Start > pc || p.Start < dup.Value {
					t.Errorf("%s: instrumentation at %#x from %#x, before %#x; want %#x", name, pc, p.Start, p.Addr, next)
				}
			case p.Addr != next:
				t.Errorf("%s: %#x comes from %#x, want %#x", name, pc, p.Addr, next)
			default:
				if last, ok := c.Original(pc + uint64(in.Len) - 1); !ok || last.Addr < p.Addr || last.Addr >= p.Addr+uint64(in.Len) {
					t.Errorf("%s: last byte of %#x from %#x, %v", name, pc, last.Addr, ok)
				}
				next += origLen(in)
			}
			pc = in.Next()
		}
		if next != orig.Value+orig.Size {
			t.Errorf("%s: mapped up to %#x of %#x", name, next, orig.Value+orig.Size)
		}
		if extra != inserted {
			t.Errorf("%s: %d inserted instructions, want %d", name, extra, inserted)
		}
	}
}

// origLen is the length that an instruction of the copies has in the original.
func origLen(in disasm.Inst) uint64 {
	if in.Kind == disasm.CondJump {
		return 2 // long in the copy
	}
	return uint64(in.Len)
}

// TestOpen: what is rewritten, and what is not.
func TestOpen(t *testing.T) {
	data := binaryOf(t)
	whole, f := open(t, data)
	if whole.Contains(f.Entry) || !whole.Contains(f.Section(sectionName).Addr) {
		t.Error("original and relocated code are mixed up")
	}
	// Without section headers the trap map's target tells.
	cut := append([]byte(nil), data...)
	binary.LittleEndian.PutUint64(cut[40:], 0)
	binary.LittleEndian.PutUint16(cut[60:], 0)
	g, err := elffile.Parse(cut)
	if err != nil {
		t.Fatal(err)
	}
	src := whole.src
	src.File = g
	if c := Open(src); c != nil { // one segment has both, so that nothing tells them apart
		t.Errorf("relocated code %#x to %#x in the segment of the original", c.start, c.end)
	}
	src.Mem = nil
	if Open(src) != nil || Open(Source{}) != nil {
		t.Error("rewritten without a sign of it")
	}
	var none *Code
	if none.Contains(0) {
		t.Error("no code contains an address")
	}
}

// TestTrapMap: registered and unregistered maps, and damaged ones.
func TestTrapMap(t *testing.T) {
	read := func(b []byte) ([]Trap, error) {
		return ReadTrapMap(&memory{0x4030 + bias, b}, arch.AMD64, 0x4030, bias)
	}
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  int
		ok    bool
	}{
		{"registered", trapMapBytes(0, bias+0x1000, bias+0x2000, bias+0x1008, bias+0x2010), 2, true},
		{"not registered", trapMapBytes(-1, 0x1000, 0x2000, 0x1008, 0x2010), 2, true},
		{"empty", trapMapBytes(0), 0, true},
		{"cut", trapMapBytes(0, bias+0x1000, bias+0x2000, bias+0x1008, bias+0x2010)[:trapHeaderSize+20], 1, false},
		{"cut header", trapMapBytes(0)[:20], 0, false},
	} {
		traps, err := read(tc.bytes)
		if len(traps) != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: %d entries, %v", tc.name, len(traps), err)
		}
		if len(traps) > 0 && traps[0] != (Trap{0x1000, 0x2000}) {
			t.Errorf("%s: %#x", tc.name, traps[0])
		}
	}
	if _, err := read(make([]byte, 64)); !errors.Is(err, ErrTrapMap) {
		t.Errorf("no signature: %v", err)
	}
	huge := trapMapBytes(0)
	binary.LittleEndian.PutUint32(huge[4:], 1<<32-1)
	if traps, err := read(append(huge, make([]byte, 1<<21)...)); len(traps) != maxTraps || err != nil {
		t.Errorf("%d entries, %v", len(traps), err)
	}
}

// TestAmbiguous: where an inserted instruction is the same as the original's
// neighbour, neither is claimed.
func TestAmbiguous(t *testing.T) {
	data := append([]byte(nil), binaryOf(t)...)
	_, f := open(t, data)
	dup, _ := f.SymByName("tiny" + suffix)
	off, _ := f.VaddrToOff(dup.Value)
	// tiny_dyninst: sub $8,%rsp; call inner; then twice add $8,%rsp where the
	// original has one; ret. What remains of the inserted instruction is padded.
	copy(data[off+9:], []byte{0x48, 0x83, 0xc4, 8, 0x48, 0x83, 0xc4, 8, 0xc3, 0xcc, 0xcc, 0xcc})
	c, _ := open(t, data)
	if p, ok := c.Original(dup.Value + 4); !ok || p.Tramp {
		t.Errorf("the call: %+v, %v", p, ok)
	}
	for _, at := range []uint64{9, 13} {
		if p, ok := c.Original(dup.Value + at); ok {
			t.Errorf("offset %d claims to be %+v", at, p)
		}
	}
	if p, ok := c.Original(dup.Value + 17); !ok || p.Tramp {
		t.Errorf("the ret: %+v, %v", p, ok)
	}
}

// TestPrettyNames: the symbol of a copy spells the function for people, so that no
// symbol of the original has its name; the springboard at its entry tells then.
func TestPrettyNames(t *testing.T) {
	data := bytes.ReplaceAll(binaryOf(t), []byte("inner_dyninst\x00"), []byte("a::b(_dyninst\x00"))
	c, f := open(t, data)
	dup, ok := f.SymByName("a::b(_dyninst")
	if !ok {
		t.Fatal("the symbol has not been renamed")
	}
	orig, _ := f.SymByName("inner")
	last := dup.Value + dup.Size - 1 // the ret
	if p, ok := c.Original(last); !ok || p.Addr != orig.Value+orig.Size-1 || c.Function(last) != "a::b(" {
		t.Errorf("%+v, %v, %q", p, ok, c.Function(last))
	}
}

// TestWorkIsBounded: once much has been looked at, nothing is claimed any more.
func TestWorkIsBounded(t *testing.T) {
	c, f := open(t, binaryOf(t))
	c.spend(maxWork)
	s, _ := f.SymByName("tiny" + suffix)
	if p, ok := c.Original(s.Value); ok {
		t.Errorf("%+v", p)
	}
}

// TestEffect: what instrumentation has done to the stack, instruction by
// instruction, from its first to its last: at the end nothing remains of it.
func TestEffect(t *testing.T) {
	c, f := open(t, binaryOf(t))
	for _, name := range []string{"work", "inner"} {
		s, _ := f.SymByName(name + suffix)
		p, ok := c.Original(s.Value)
		if !ok || !p.Tramp {
			t.Fatalf("%s: %+v", name, p)
		}
		most := 0
		for pc := p.Start; pc < p.End; {
			e, ok := c.Effect(p, pc)
			if !ok {
				t.Fatalf("%s: nothing known at %#x", name, pc)
			}
			most = max(most, len(e.Saved))
			code, err := f.DataAt(pc, p.End-pc)
			if err != nil {
				t.Fatal(err)
			}
			in, err := disasm.Decode(arch.AMD64, code, pc)
			if err != nil {
				t.Fatal(err)
			}
			if pc == p.Start && (e.SP != 0 || !e.HasSP || len(e.Saved) != 0) {
				t.Errorf("%s: %+v at the start", name, e)
			}
			if pc = in.Next(); pc == p.End && (e.SP != redZone || !e.HasSP || e.HasFP || len(e.Saved) != 0 || e.Written&^arch.Mask(arch.RAX) != 0) {
				t.Errorf("%s: %+v before the last instruction", name, e)
			}
		}
		if want := map[string]int{"work": 2, "inner": 10}[name]; most != want {
			t.Errorf("%s: at most %d registers saved, want %d", name, most, want)
		}
	}
	if _, ok := c.Effect(Place{Start: f.Entry, End: f.Entry + 8}, f.Entry+4); ok {
		t.Error("an effect of original code")
	}
}

// TestEffectWithBranches: what is saved before a branch stays known, what is changed
// anywhere counts.
func TestEffectWithBranches(t *testing.T) {
	data := append([]byte(nil), binaryOf(t)...)
	_, f := open(t, data)
	s, _ := f.SymByName("inner" + suffix)
	off, _ := f.VaddrToOff(s.Value)
	code := []byte{0x48, 0x8d, 0x64, 0x24, 0x80, 0x53, 0x55, 0x48, 0x89, 0xe5} // lea -128(%rsp),%rsp; push %rbx; push %rbp; mov %rsp,%rbp
	code = append(code, 0x74, 0x03)                                            // je over the next
	code = append(code, 0x4d, 0x31, 0xe4)                                      // xor %r12,%r12
	code = append(code, 0xff, 0xc0, 0x4d, 0x31, 0xed)                          // inc %eax; xor %r13,%r13
	copy(data[off:], code)
	c, _ := open(t, data)
	at := s.Value + uint64(len(code)) - 3 // before r13 is changed: a jump might come back
	e, ok := c.Effect(Place{Start: s.Value, End: s.Value + uint64(len(code)), Tramp: true}, at)
	want := arch.Mask(arch.R12) | arch.Mask(arch.R13) | arch.Mask(arch.RAX)
	if !ok || !e.HasFP || e.HasSP || e.Written != want || len(e.Saved) != 2 || e.Saved[0] != (SavedReg{arch.RBX, 8}) {
		t.Errorf("%+v, %v", e, ok)
	}
}

func FuzzTrapMap(f *testing.F) {
	f.Add(trapMapBytes(0, bias+0x1000, bias+0x2000), uint64(0x4030), uint64(bias))
	f.Add(trapMapBytes(-1, 0x1000, 0x2000)[:40], uint64(0x4030), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr, bias uint64) {
		for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.PPC64} {
			traps, _ := ReadTrapMap(&memory{a.Truncate(addr + bias), data}, a, addr, bias)
			if len(traps)*2*a.WordSize > len(data) {
				t.Fatalf("%d entries from %d bytes", len(traps), len(data))
			}
		}
	})
}

// FuzzOriginal damages the rewritten program.
func FuzzOriginal(f *testing.F) {
	data := binaryOf(f)
	f.Add(uint16(0), []byte{})
	f.Add(uint16(0x1240), []byte{0xe9, 0, 0, 0, 0, 0xe9, 1, 2})
	f.Add(uint16(0x12a0), []byte{0x48, 0x8d, 0x64, 0x24, 0x80, 0x48, 0x83, 0xe4, 0xe0})
	f.Fuzz(func(t *testing.T, at uint16, patch []byte) {
		damaged := append([]byte(nil), data...)
		if int(at) < len(damaged) {
			copy(damaged[at:], patch)
		}
		c, file := open(t, damaged)
		if c == nil {
			return
		}
		for addr := c.start; addr < min(c.end, c.start+0x400); addr++ {
			p, ok := c.Original(addr)
			if ok && !p.Tramp && c.Contains(p.Addr) {
				t.Fatalf("%#x comes from relocated code, %#x", addr, p.Addr)
			}
			if ok && p.Tramp {
				c.Effect(p, addr)
			}
		}
		_ = file
	})
}

func BenchmarkMap(b *testing.B) {
	data := binaryOf(b)
	for b.Loop() {
		c, f := open(b, data)
		s, _ := f.SymByName("work" + suffix)
		if _, ok := c.Original(s.Value); !ok {
			b.Fatal("not mapped")
		}
	}
}
