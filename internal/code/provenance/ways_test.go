package provenance

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// waysCode calls, jumps over a call, and leaves by a tail call or a return.
const waysCode = `
	bf 11 00 00 00 # 0: mov edi,0x11
	ff d0 # 5: call rax
	85 f6 # 7: test esi,esi
	74 02 # 9: je 0xd
	ff d3 # b: call rbx
	85 d2 # d: test edx,edx
	74 05 # f: je 0x16
	e9 ea 0f 00 00 # 11: jmp elsewhere
	ff 25 00 20 00 00 # 16: jmp [rip+0x2000]`

func TestReaches(t *testing.T) {
	f := function(t, arch.AMD64, waysCode)
	none := func(uint64) bool { return false }
	for _, c := range []struct {
		from, to, stop uint64
		want           bool
	}{
		{0, 0xd, 0xff, true},
		{0, 0xd, 0xb, true}, // the jump passes it
		{0, 0xd, 9, false},
		{0xd, 0, 0xff, false},
		{5, 5, 0xff, false}, // no loop
		{5, 0xb, 0xb, true}, // only what is between stops
		{5, 0xb, 5, true},
		{1, 0xd, 0xff, false}, // no instruction
		{0, 0xc, 0xff, false},
	} {
		if got := f.Reaches(base+c.from, base+c.to, func(at uint64) bool { return at == base+c.stop }); got != c.want {
			t.Errorf("from %#x to %#x without %#x: %v", c.from, c.to, c.stop, got)
		}
	}
	loop := function(t, arch.AMD64, "ff d0\n eb fc # jmp to the call")
	if !loop.Reaches(base, base, none) {
		t.Error("the loop does not lead back to its start")
	}
}

func TestCalls(t *testing.T) {
	f := function(t, arch.AMD64, waysCode)
	var calls, returns []uint64
	for in := range f.Calls {
		calls = append(calls, in.PC-base)
	}
	for at := range f.Returns {
		returns = append(returns, at-base)
	}
	if want := []uint64{5, 0xb, 0x11, 0x16}; !slices.Equal(calls, want) {
		t.Errorf("calls %#x, want %#x", calls, want)
	}
	if want := []uint64{0x11, 0x16}; !slices.Equal(returns, want) {
		t.Errorf("returns %#x, want %#x", returns, want)
	}
	for range f.Calls { // ends when it is told to
		break
	}
	for range f.Returns {
		break
	}
	returns = nil
	for at := range function(t, arch.AMD64, "90 # nop\nc3 # ret").Returns {
		returns = append(returns, at-base)
	}
	if want := []uint64{1}; !slices.Equal(returns, want) {
		t.Errorf("a function that returns: %#x, want %#x", returns, want)
	}
	table := function(t, arch.AMD64, "ff 24 c5 00 20 00 00 # jmp [rax*8+0x2000]")
	for in := range table.Calls {
		t.Errorf("a jump through a table is a call: %+v", in.Kind == disasm.JumpIndirect)
	}
	for code, want := range map[string][]uint64{
		"ff 15 00 20 00 00 # call [rip+0x2000]\nc3 # ret":                        {6},
		"eb 00 # jmp to the next\nc3 # ret":                                      {2},
		"85 d2 # test edx,edx\n74 02 # je 6\nff e0 # jmp rax\nff 20 # jmp [rax]": nil,
	} {
		if returns := slices.Collect(function(t, arch.AMD64, code).Returns); !slices.Equal(returns, added(base, want)) {
			t.Errorf("%s: leaves at %#x", code, returns)
		}
	}
	lost := function(t, arch.AMD64, waysCode)
	reread(lost).left = 0
	for in := range lost.Calls {
		t.Errorf("a call in code that cannot be read: %#x", in.PC)
	}
	for at := range lost.Returns {
		t.Errorf("code that cannot be read leaves at %#x", at)
	}
	if f.Start() != base {
		t.Errorf("it starts at %#x", f.Start())
	}
}

func added(base uint64, offsets []uint64) (out []uint64) {
	for _, o := range offsets {
		out = append(out, base+o)
	}
	return out
}

// TestDecided finds the jump that decides whether control comes somewhere.
func TestDecided(t *testing.T) {
	f := function(t, arch.AMD64, waysCode)
	for at, want := range map[uint64]uint64{
		0xb: 9, 0x11: 0xf, 0x16: 0xf,
		0xd: 0xd, // two ways meet there
		7:   7,   // behind a call
		0:   0,   // where the function begins
		0xa: 0xa, // no instruction
	} {
		if got := f.Decided(base + at); got != base+want {
			t.Errorf("%#x is decided at %#x, want %#x", at, got-base, want)
		}
	}
	nops := function(t, arch.AMD64, "85 d2 # 0 test edx,edx\n74 12 # 2 je 16"+strings.Repeat("\n90", maxDecided+2)+"\nc3 # 16 ret")
	for at, want := range map[uint64]uint64{4: 2, 5: 2, 4 + maxDecided - 1: 2, 4 + maxDecided: 4 + maxDecided} {
		if got := nops.Decided(base + at); got != base+want {
			t.Errorf("the nop at %#x is decided at %#x, want %#x", at, got-base, want)
		}
	}
	call := function(t, arch.AMD64, "85 d2 # 0 test edx,edx\n74 04 # 2 je 8\nff d0 # 4 call rax\n90 # 6 nop\n90 # 7 nop\nc3 # 8 ret")
	for at, want := range map[uint64]uint64{4: 2, 6: 6, 7: 7} {
		if got := call.Decided(base + at); got != base+want {
			t.Errorf("%#x, by a call, is decided at %#x, want %#x", at, got-base, want)
		}
	}
	reread(call).gone = base + 2
	if got := call.Decided(base + 4); got != base+2 {
		t.Errorf("%#x decides, which cannot be read", got-base)
	}
	if gap := function(t, arch.AMD64, "75 7f # jne elsewhere\n90 # nop"); gap.Decided(base+0x81) != base {
		t.Error("code goes on at the next that is known, behind a gap")
	}
	if end := function(t, arch.AMD64, "90 # nop\n90 # nop"); end.Decided(base+1) != base+1 {
		t.Error("code that ends without a jump decides")
	}
}

func TestArgument(t *testing.T) {
	f := function(t, arch.AMD64, waysCode)
	if v := f.Argument(base+5, 0); v.Kind != Const || v.K != 0x11 {
		t.Errorf("first argument: %s", text(f, v))
	}
	if v := f.Argument(base+5, 6); v.Kind != Unknown {
		t.Errorf("seventh argument: %s", text(f, v))
	}
	f = function(t, arch.X86, `
		83 ec 0c # 0: sub esp,0xc
		6a 22 # 3: push 0x22
		6a 11 # 5: push 0x11
		ff d0 # 7: call eax
		83 c4 14 # 9: add esp,0x14
		c7 44 24 04 33 00 00 00 # c: mov dword [esp+4],0x33
		e9 e7 0f 00 00 # 14: jmp elsewhere`)
	for _, c := range []struct {
		call uint64
		n    int
		want int64
	}{{7, 0, 0x11}, {7, 1, 0x22}, {0x14, 0, 0x33}} {
		if v := f.Argument(base+c.call, c.n); v.Kind != Const || v.K != c.want {
			t.Errorf("argument %d at %#x: %s, want %#x", c.n, c.call, text(f, v), c.want)
		}
	}
	moved := function(t, arch.X86, "6a 22 # 0: push 0x22\n89 cc # 2: mov esp,ecx\nff d0 # 4: call eax\nc3")
	if v := moved.Argument(base+4, 0); v.Kind != Unknown {
		t.Errorf("on another stack: %s", text(moved, v))
	}
	reread(f).gone = base + 7
	if v := f.Argument(base+7, 0); v.Kind != Unknown && v.K == 0x11 {
		t.Errorf("of a call that cannot be read: %s", text(f, v))
	}
	if v := f.Argument(base+1, 0); v.Kind != Unknown {
		t.Errorf("where there is no instruction: %s", text(f, v))
	}
}
