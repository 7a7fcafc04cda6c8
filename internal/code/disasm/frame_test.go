package disasm

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A frameCase is a function with the expected state before each instruction.
type frameCase struct {
	name  string
	typ   FrameType
	insts []string // "bytes: state"
}

var frameCases = []frameCase{
	{"standard", StandardFrame, []string{
		"f3 0f 1e fa: unset", "55: unset", "48 89 e5: halfset", "53: set", "48 83 ec 18: set", "31 c0: set",
		"48 8b 5d f8: set", "c9: set", "c3: unset"}},
	{"pop rbp", StandardFrame, []string{
		"55: unset", "48 89 e5: halfset", "89 f8: set", "5d: set", "c3: unset"}},
	{"interleaved prologue", StandardFrame, []string{
		"31 c0: unset", "55: unset", "89 f1: halfset", "48 8b ec: halfset", "41 54: set", "41 5c: set", "5d: set", "c3: unset"}},
	{"epilogue of many pops", StandardFrame, []string{
		"55: unset", "48 89 e5: halfset", "41 57: set", "53: set", "48 8d 65 f0: set", "5b: set", "41 5f: set", "5d: set", "c3: unset"}},
	{"tail call", StandardFrame, []string{
		"55: unset", "48 89 e5: halfset", "ff d0: set", "5d: set", "e9 00 10 00 00: unset"}},
	{"early return before the prologue", StandardFrame, []string{
		"48 85 ff: unset", "74 07: unset", "55: unset", "48 89 e5: halfset", "ff d0: set", "5d: set", "c3: unset"}},
	{"early return in the middle", StandardFrame, []string{
		"48 85 ff: unset", "75 03: unset", "31 c0: unset", "c3: unset", // ret: 75 03 leads past it
		"55: unset", "48 89 e5: halfset", "ff d0: set", "5d: set", "c3: unset"}},
	{"prologue after padding", StandardFrame, []string{
		"85 ff: unset", "74 05: unset", "31 c0: unset", "c3: unset", "66 90: unset", "55: unset", "48 89 e5: halfset", "5d: set", "c3: unset"}},
	{"two epilogues", StandardFrame, []string{
		"55: unset", "48 89 e5: halfset", "85 ff: set", "74 04: set", "ff d0: set", "5d: set", "c3: unset", "ff d2: set", "c9: set", "c3: unset"}},
	{"save only", SaveFPOnlyFrame, []string{
		"55: unset", "53: set", "89 fd: set", "ff d0: set", "89 e8: set", "5b: set", "5d: set", "c3: unset"}},
	{"push before rbp's makes no standard frame", SaveFPOnlyFrame, []string{
		"41 57: unset", "55: unset", "48 89 e5: set", "5d: set", "41 5f: unset", "c3: unset"}},
	{"push between", SaveFPOnlyFrame, []string{
		"55: unset", "53: set", "48 89 e5: set", "5b: set", "5d: set", "c3: unset"}},
	{"realigned", StandardFrame, []string{
		"4c 8d 54 24 08: unset", "48 83 e4 e0: unset", "41 ff 72 f8: unset", "55: unset", "48 89 e5: halfset", "41 52: set",
		"ff d0: set", "41 5a: set", "5d: set", "49 8d 62 f8: unset", "c3: unset"}},
	{"Go's assembly: stored, not pushed", StandardFrame, []string{
		"48 83 ec 30: unset", "48 89 6c 24 28: unset", "48 8d 6c 24 28: unset", "48 83 ec 18: set", "e8 00 00 00 00: set", "48 83 c4 18: set",
		"48 8b 6c 24 28: set", "48 83 c4 30: unset", "c3: unset"}},
	{"stored beside the return address", NoFrame, []string{
		"48 83 ec 30: unset", "48 89 6c 24 20: unset", "48 8d 6c 24 20: unset", "ff d0: unset", "48 83 c4 30: unset", "c3: unset"}},
	{"no frame", NoFrame, []string{
		"48 83 ec 08: unset", "ff d0: unset", "48 83 c4 08: unset", "c3: unset"}},
	{"0x55 inside an immediate", NoFrame, []string{
		"b8 55 48 89 e5: unset", "c3: unset"}},
	{"enter", StandardFrame, []string{
		"c8 10 00 00: unset", "90: set", "c9: set", "c3: unset"}},
}

// layout concatenates the case's code and returns the offsets and states.
func (c *frameCase) layout(t testing.TB) (code []byte, offs []int, states []string) {
	for _, s := range c.insts {
		b, state, _ := strings.Cut(s, ": ")
		offs = append(offs, len(code))
		states = append(states, state)
		code = append(code, unhex(t, b)...)
	}
	return code, offs, states
}

func TestFrameState(t *testing.T) {
	t.Parallel()
	// What follows in memory must not matter.
	next := []byte{0x0f, 0x1f, 0x40, 0x00, 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}
	for _, c := range frameCases {
		code, offs, states := c.layout(t)
		for _, tail := range [][]byte{nil, next} {
			all := append(code[:len(code):len(code)], tail...)
			for i, off := range offs {
				typ, st := FrameState(arch.AMD64, all, testPC, testPC+uint64(off))
				if typ != c.typ || st.String() != states[i] {
					t.Errorf("%s, with %d bytes after it: before %q: %v, %v; want %v", c.name, len(tail), c.insts[i], typ, st, c.typ)
				}
			}
		}
	}
	code, _, _ := frameCases[0].layout(t)
	for _, pc := range []uint64{testPC - 1, testPC + uint64(len(code))} {
		if typ, st := FrameState(arch.AMD64, code, testPC, pc); typ != UnknownFrame || st != FPUnknown {
			t.Errorf("pc outside the code: %v, %v", typ, st)
		}
	}
	if typ, st := FrameState(&arch.Arch{Name: "vax"}, code, testPC, testPC); typ != UnknownFrame || st != FPUnknown {
		t.Errorf("an unknown architecture: %v, %v", typ, st)
	}
}

func TestFrameStateNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		typ                 FrameType
		state               FPState
	}{
		{"at the entry", "90 90", "f3 0f 1e fa 55 48 89 e5 c3", StandardFrame, FPUnset},
		{"at push", "90 90", "55 48 89 e5 53", StandardFrame, FPUnset},
		{"at mov", "90 55", "48 89 e5 53", StandardFrame, FPHalfSet},
		{"after mov", "90 55 48 89 e5", "53 90", StandardFrame, FPSet},
		{"before leave", "90", "31 c0 c9 c3", StandardFrame, FPSet},
		{"at leave", "90", "c9 c3", StandardFrame, FPSet},
		{"after leave", "c9", "c3", UnknownFrame, FPUnset},
		{"at pop", "90", "5d c3", UnknownFrame, FPSet},
		{"before pops", "90", "48 83 c4 08 5b 5d c3", UnknownFrame, FPSet},
		{"middle", "90 90", "89 d8 ff d0 90", UnknownFrame, FPUnknown},
		{"another push first", "90", "41 57 55 48 89 e5", UnknownFrame, FPUnknown},
	} {
		before := unhex(t, c.before)
		code := append(before[:len(before):len(before)], unhex(t, c.after)...)
		typ, st := FrameStateNear(arch.AMD64, code, testPC, testPC+uint64(len(before)))
		if typ != c.typ || st != c.state {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, typ, st, c.typ, c.state)
		}
	}
}

func FuzzFrameState(f *testing.F) {
	for _, c := range frameCases {
		code, _, _ := c.layout(f)
		f.Add(code, uint16(len(code)/2))
	}
	f.Fuzz(func(t *testing.T, code []byte, off uint16) {
		pc := testPC + uint64(off)
		typ, st := FrameState(arch.AMD64, code, testPC, pc)
		if (typ == UnknownFrame) != (st == FPUnknown) {
			t.Fatalf("% x at %d: %v, %v", code, off, typ, st)
		}
		FrameStateNear(arch.AMD64, code, testPC, pc)
	})
}

func BenchmarkFrameState(b *testing.B) {
	code, offs, _ := frameCases[0].layout(b)
	pc := testPC + uint64(offs[len(offs)-2])
	b.ReportAllocs()
	for b.Loop() {
		FrameState(arch.AMD64, code, testPC, pc)
	}
}
