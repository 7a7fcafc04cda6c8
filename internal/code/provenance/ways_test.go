package provenance

import (
	"slices"
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
	if f.Start() != base {
		t.Errorf("it starts at %#x", f.Start())
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
	if v := f.Argument(base+1, 0); v.Kind != Unknown {
		t.Errorf("where there is no instruction: %s", text(f, v))
	}
}
