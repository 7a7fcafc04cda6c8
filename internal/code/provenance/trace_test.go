package provenance

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// fakeCode is code at base, and nothing else.
type fakeCode struct {
	base uint64
	code []byte
}

func (c fakeCode) CodeAt(addr uint64) []byte {
	if addr < c.base || addr-c.base >= uint64(len(c.code)) {
		return nil
	}
	return c.code[addr-c.base:]
}
func (c fakeCode) DataAt(uint64) []byte    { return nil }
func (c fakeCode) FuncAt(addr uint64) bool { return addr == c.base || addr == elsewhere }
func (c fakeCode) NoReturn(uint64) bool    { return false }

const base = 0x1000

// elsewhere is where another function begins.
const elsewhere = 0x2000

func function(t *testing.T, a *arch.Arch, code string) *Func {
	t.Helper()
	var raw []byte
	for _, line := range strings.Split(code, "\n") {
		text, _, _ := strings.Cut(line, "#")
		for _, b := range strings.Fields(text) {
			var v byte
			if _, err := fmt.Sscanf(b, "%02x", &v); err != nil {
				t.Fatal(err)
			}
			raw = append(raw, v)
		}
	}
	f := New(a, ABIOf(a, false), fakeCode{base, raw}, base, base+uint64(len(raw)))
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	return f
}

// text describes a value and what it was made of.
func text(f *Func, v *Value) string { return within(f, v, nil) }

// within describes a value that is a part of others.
func within(f *Func, v *Value, outer []*Value) string {
	if slices.Contains(outer, v) {
		return "again"
	}
	part := func(w *Value) string { return within(f, w, append(outer, v)) }
	sum := func() string {
		var parts []string
		if v.Base != arch.NoReg {
			parts = append(parts, part(f.Before(v.At, Reg(v.Base))))
		}
		if v.Index != arch.NoReg {
			parts = append(parts, fmt.Sprintf("%s*%d", part(f.Before(v.At, Reg(v.Index))), v.Scale))
		}
		return strings.Join(append(parts, fmt.Sprint(v.K)), "+")
	}
	switch v.Kind {
	case Entry:
		return f.arch.RegName(v.Reg)
	case EntrySlot:
		return fmt.Sprintf("stack%+d", v.K)
	case Const:
		return fmt.Sprint(v.K)
	case StackAddr:
		return fmt.Sprintf("&stack%+d", v.K)
	case Load:
		return fmt.Sprintf("[%s]%d", sum(), v.Size)
	case Slot:
		return "slot(" + part(f.Stored(v)) + ")"
	case Sum:
		return "(" + sum() + ")"
	case Cut:
		return fmt.Sprintf("low%d(%s)", v.Size, part(f.Before(v.At, Reg(v.Base))))
	case Join:
		var parts []string
		for _, a := range v.Alternatives() {
			parts = append(parts, part(a))
		}
		return "one of " + strings.Join(parts, " | ")
	case Arith:
		parts := []string{fmt.Sprintf("%d bytes of op%d", v.Size, v.Op), part(f.Before(v.At, Reg(v.Base)))}
		if v.Index != arch.NoReg || v.Mem {
			parts = append(parts, part(f.Second(v)))
		} else {
			parts = append(parts, fmt.Sprint(v.K))
		}
		return strings.Join(parts, " ")
	case Added:
		return fmt.Sprintf("slot(%s)%+d", part(f.addedTo(v)), v.K)
	case Result:
		return fmt.Sprintf("result@%#x", v.At)
	}
	return v.Kind.String()
}

// TestTrace traces the registers and the bytes of the frame of testdata/trace.txt.
func TestTrace(t *testing.T) {
	raw, err := os.ReadFile("testdata/trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	arches := map[string]*arch.Arch{"amd64": arch.AMD64, "x32": arch.X32, "x86": arch.X86, "arm": arch.ARM, "arm64": arch.ARM64,
		"ppc64le": arch.PPC64LE, "riscv64": arch.RISCV64, "s390x": arch.S390X}
	cases := strings.Split(strings.TrimSpace(string(raw)), "\n\n")
	for _, c := range cases[1:] {
		head, body, _ := strings.Cut(c, "\n")
		code, want, ok := strings.Cut(body, "\n\t= ")
		where, name, named := strings.Cut(head, ": ")
		on, place, _ := strings.Cut(where, " ")
		t.Run(on+": "+name, func(t *testing.T) {
			a := arches[on]
			if a == nil || !ok || !named {
				t.Fatalf("no case: %s", c)
			}
			var p Place
			if _, err := fmt.Sscanf(place, "stack%d/%d", &p.off, &p.size); err != nil {
				if p.reg, ok = a.RegByName(place); !ok {
					t.Fatalf("%s has no register %s", on, place)
				}
			}
			f := function(t, a, code)
			last := f.steps[len(f.steps)-1].Addr
			if got := text(f, f.Before(last, p)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestOpaque goes through code with an indirect jump that may stay in it: joins are not trusted.
func TestOpaque(t *testing.T) {
	f := function(t, arch.AMD64, `
		53 # push rbx
		48 89 f8 # mov rax,rdi
		48 85 f6 # test rsi,rsi
		74 02 # je L
		ff e2 # jmp rdx
		5b # pop rbx
		74 01 # je M
		90 # nop
		c3 # ret`)
	last := f.steps[len(f.steps)-1].Addr
	if got := text(f, f.Before(last, Reg(arch.RAX))); !f.Opaque() || got != "unknown" {
		t.Errorf("opaque %v: %s, want unknown", f.Opaque(), got)
	}
	// A jump to the next instruction is no join.
	f = function(t, arch.AMD64, `
		48 89 f8 # mov rax,rdi
		74 00 # je L
		53 # push rbx
		48 85 f6 # test rsi,rsi
		74 02 # je M
		ff e2 # jmp rdx
		5b # pop rbx
		c3 # ret`)
	if got := text(f, f.Before(base+5, Reg(arch.RAX))); !f.Opaque() || got != "rdi" {
		t.Errorf("opaque %v: %s, want rdi", f.Opaque(), got)
	}
	f = function(t, arch.AMD64, `
		48 89 f8 # mov rax,rdi
		ff e2 # jmp rdx`)
	if f.Opaque() {
		t.Error("a tail call makes the function opaque")
	}
}

// TestLimits goes to the limits and one beyond them.
func TestLimits(t *testing.T) {
	// joins joins one within the other: each asks for the one before it
	joins := func(n int) string {
		return "48 89 f8\n" + strings.Repeat("48 85 f6\n74 03\n48 ff c9\n", n) + "c3"
	}
	for n, want := range map[int]string{1: "rdi", maxNested: "rdi", maxNested + 1: "unknown"} {
		f := function(t, arch.AMD64, joins(n))
		last := f.steps[len(f.steps)-1].Addr
		if got := text(f, f.Before(last, Reg(arch.RAX))); got != want {
			t.Errorf("%d joins: %s, want %s", n, got, want)
		}
		if f.nested != 0 {
			t.Errorf("%d joins are still waiting", f.nested)
		}
	}
	f := function(t, arch.AMD64, joins(1))
	last := f.steps[len(f.steps)-1].Addr
	steps := func() string { return text(f, f.Before(last, Reg(arch.RAX))) }
	f.left = 0
	if got := steps(); got != "unknown" {
		t.Errorf("no steps left: %s", got)
	}
	// As many joins as are kept, and one more.
	for more, want := range []string{"rdi", "unknown"} {
		f = function(t, arch.AMD64, joins(1))
		for i := range maxJoins - 1 + more {
			f.known[key{place: Frame(int64(i), 8)}] = unknown
		}
		if got := text(f, f.Before(last, Reg(arch.RAX))); got != want {
			t.Errorf("%d joins are known: %s, want %s", maxJoins-1+more, got, want)
		}
	}
	for left, want := range []string{"unknown", "unknown", "unknown", "rdi"} {
		f = function(t, arch.AMD64, "48 89 f8\n90\nc3")
		f.left = left
		if got := text(f, f.Before(base+4, Reg(arch.RAX))); got != want {
			t.Errorf("%d steps left: %s, want %s", left, got, want)
		}
	}
	for _, c := range []struct {
		nops int
		ok   bool
	}{{maxCode - 1, true}, {maxCode, false}} {
		code := []byte(strings.Repeat("\x90", c.nops) + "\xc3")
		f := New(arch.AMD64, ABIOf(arch.AMD64, false), fakeCode{base, code}, base, base+uint64(len(code)))
		if (f != nil) != c.ok {
			t.Errorf("%d instructions: followed %v, want %v", len(code), f != nil, c.ok)
		}
	}
}

// TestManyWays: loops that leave a join of many values alone have the same join.
func TestManyWays(t *testing.T) {
	const ways = maxMeet + 8
	var code strings.Builder
	code.WriteString("48 89 f8\n") // mov rax,rdi
	for i := range ways {
		// test rsi,rsi; je to the end; mov rax,i
		rel := binary.LittleEndian.AppendUint32(nil, uint32(7+16*(ways-1-i)))
		fmt.Fprintf(&code, "48 85 f6 0f 84 % x 48 c7 c0 %02x 00 00 00\n", rel, i)
	}
	join := uint64(base + 3 + 16*ways)
	code.WriteString("90\n")                     // where the ways meet
	code.WriteString("48 ff ce\n75 fb\n75 f9\n") // L: dec rsi; jne L; jne L
	code.WriteString("48 85 f6\n74 01\n90\n")    // test rsi,rsi; je M; nop
	code.WriteString("c3")                       // M
	f := function(t, arch.AMD64, code.String())
	v := f.Before(join+14, Reg(arch.RAX))
	if v.Kind != Join || v.At != join || len(v.Alternatives()) != ways+1 {
		t.Errorf("%s made at %#x of %d values, want a join at %#x of %d", v.Kind, v.At, len(v.Alternatives()), join, ways+1)
	}
}

// TestJoinsThatWait: what a register may be where paths meet is the same whatever was asked before, also where one join waits for another.
func TestJoinsThatWait(t *testing.T) {
	const want = "one of [rdx+0]8 | [rsi+0]8"
	for _, order := range [][]uint64{{2, 10, 14}, {10, 2, 14}, {14, 10, 2}} {
		f := function(t, arch.AMD64, `
			eb 0d # 0 jmp 15
			48 85 f6 # 2 test rsi,rsi
			74 03 # 5 je 10
			48 8b 3e # 7 mov rdi,[rsi]
			75 f6 # 10 jne 2
			90 # 12 nop
			90 # 13 nop
			c3 # 14 ret
			48 8b 3a # 15 mov rdi,[rdx]
			eb ee # 18 jmp 2`)
		for _, at := range order {
			got := strings.Split(strings.TrimPrefix(text(f, f.Before(base+at, Reg(arch.RDI))), "one of "), " | ")
			slices.Sort(got)
			if got := "one of " + strings.Join(got, " | "); got != want {
				t.Errorf("%d of %d: %s, want %s", at, order, got, want)
			}
		}
	}
}

// FuzzTrace traces every register and some words of the frame through random code: it must end, and values must
// come from that code.
func FuzzTrace(f *testing.F) {
	f.Add([]byte{0x48, 0x89, 0xf8, 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8, 0xc3}, uint8(0))
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x75, 0xf8, 0x48, 0x8b, 0x45, 0xf8, 0x5d, 0xc3}, uint8(0))
	f.Add([]byte{0xe8, 0xfb, 0xff, 0xff, 0xff, 0x74, 0xf9, 0xeb, 0xf7}, uint8(0))
	f.Add([]byte{0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe0, 0x07, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}, uint8(1))
	f.Add([]byte("0A07"), uint8(33)) // a jump to where there is no code
	arches := []*arch.Arch{arch.AMD64, arch.ARM64, arch.X86, arch.ARM, arch.PPC64LE, arch.RISCV64, arch.S390X, arch.Loong64}
	f.Fuzz(func(t *testing.T, code []byte, which uint8) {
		a := arches[int(which)%len(arches)]
		if len(code) > 4096 {
			return
		}
		fn := New(a, ABIOf(a, false), fakeCode{base, code}, base, base+uint64(len(code)))
		if fn == nil {
			return
		}
		last := fn.steps[0].Addr
		for i := range fn.steps { // those outside of the code only end what jumps there
			if at := fn.steps[i].Addr; at-base <= uint64(len(code)) {
				last = at
			}
		}
		s := &State{PC: last, CFA: 0x8000, HasCFA: true,
			Reg:  func(r arch.Reg) (uint64, bool) { return uint64(r), r%2 == 0 },
			Read: func(addr uint64, _ int) (uint64, bool) { return addr, true }}
		e := fn.Evaluator(s)
		look := func(p Place) {
			v := fn.Before(last, p)
			for _, w := range v.Alternatives() {
				if w.Kind == Join || w.Kind != Unknown && w.Kind != Const && w.At-base > uint64(len(code)) {
					t.Fatalf("%v made at %#x", w.Kind, w.At)
				}
				e.Value(w, v.At)
			}
			e.Value(v, 0)
			e.FormOf(v)
		}
		for r := range arch.Reg(a.NumRegs()) {
			look(Reg(r))
		}
		for off := int64(-64); off < 32; off += 8 {
			look(Frame(off, 8))
		}
		fn.Operand(last)
	})
}
