package provenance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Behind a call that does not return control comes from jumps only.
func TestLeadingBehindEnd(t *testing.T) {
	f := function(t, arch.AMD64, `
		85 ff # 0 test edi,edi
		78 05 # 2 js 9
		e8 00 10 00 00 # 4 call out
		e8 00 10 00 00 # 9 call out`)
	all := func(uint64) bool { return true }
	if got := f.Leading(base+9, 4, all, nil); !slices.Equal(got, []uint64{base + 2, base + 4}) {
		t.Errorf("%#x", got)
	}
	if got := f.Leading(base+9, 4, all, func(addr uint64) bool { return addr == base+4 }); !slices.Equal(got, []uint64{base + 2}) {
		t.Errorf("the first call ends: %#x", got)
	}
}

func TestLeading(t *testing.T) {
	const two = `
		85 ff # 0 test edi,edi
		78 08 # 2 js 12
		83 fe 07 # 4 cmp esi,7
		7f 03 # 7 jg 12
		89 f0 # 9 mov eax,esi
		c3 # 11 ret
		90 # 12 nop
		e8 00 10 00 00 # 13 call out`
	for _, c := range []struct {
		name, code string
		call       uint64
		silent     []uint64 // instructions without a line
		most       int
		want       []uint64
	}{
		{"two jumps", two, 13, nil, 2, []uint64{2, 7}},
		{"more than may be", two, 13, nil, 1, nil},
		{"a jump without a line", two, 13, []uint64{7}, 2, nil},
		{"no code at the address", two, 14, nil, 2, nil},
		{"one jump", `
			85 ff # 0 test edi,edi
			78 01 # 2 js 5
			c3 # 4 ret
			e8 00 10 00 00 # 5 call out`, 5, nil, 2, []uint64{2}},
		{"straight code", `
			85 ff # 0 test edi,edi
			e8 00 10 00 00 # 2 call out`, 2, nil, 2, nil},
		{"through code without a line", `
			85 ff # 0 test edi,edi
			78 06 # 2 js 10
			31 c0 # 4 xor eax,eax
			eb 02 # 6 jmp 10
			90 # 8 nop
			90 # 9 nop
			e8 00 10 00 00 # 10 call out`, 10, []uint64{6}, 2, []uint64{2, 4}},
		{"a loop before it", `
			ff cf # 0 dec edi
			75 fc # 2 jne 0
			e8 00 10 00 00 # 4 call out`, 4, nil, 2, []uint64{2}},
		{"in a loop", `
			85 ff # 0 test edi,edi
			78 02 # 2 js 6
			31 c0 # 4 xor eax,eax
			e8 00 10 00 00 # 6 call out
			eb f9 # 11 jmp 6`, 6, []uint64{11}, 2, []uint64{2, 4}},
		{"both ways of one jump", `
			85 ff # 0 test edi,edi
			78 02 # 2 js 6
			31 c0 # 4 xor eax,eax
			e8 00 10 00 00 # 6 call out`, 6, []uint64{4}, 2, []uint64{2}},
		{"the function's start and a loop", `
			31 c0 # 0 xor eax,eax
			e8 00 10 00 00 # 2 call out
			eb f9 # 7 jmp 2`, 2, nil, 2, []uint64{0, 7}},
		{"a start without a line", `
			31 c0 # 0 xor eax,eax
			e8 00 10 00 00 # 2 call out
			eb f9 # 7 jmp 2`, 2, []uint64{0}, 2, nil},
		{"a jump to anywhere", `
			85 ff # 0 test edi,edi
			78 08 # 2 js 12
			83 fe 07 # 4 cmp esi,7
			7f 03 # 7 jg 12
			55 # 9 push rbp
			ff e0 # 10 jmp rax
			90 # 12 nop
			e8 00 10 00 00 # 13 call out`, 13, nil, 2, nil},
	} {
		f := function(t, arch.AMD64, c.code)
		got := f.Leading(base+c.call, c.most, func(addr uint64) bool { return !slices.Contains(c.silent, addr-base) }, nil)
		for i := range got {
			got[i] -= base
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// tableCode is fakeCode whose data the program does not write to.
type tableCode struct{ fakeCode }

func (c tableCode) DataAt(addr uint64) []byte { return c.CodeAt(addr) }

// TestLeadingTable: a jump by a table goes in more than one way. Without a line of its own it hides the way.
func TestLeadingTable(t *testing.T) {
	raw := function(t, arch.AMD64, `
		83 ff 01 # 0 cmp edi,1
		77 0f # 3 ja 20
		ff 24 fd 20 10 00 00 # 5 jmp [rdi*8+0x1020]
		31 c0 # 12 xor eax,eax
		e8 00 10 00 00 # 14 call out
		c3 # 19 ret
		c3 # 20 ret
		90 90 90 90 90 90 90 90 90 90 90 # 21 the table: 12 and 14
		0c 10 00 00 00 00 00 00 0e 10 00 00 00 00 00 00`).code.(fakeCode)
	f := New(arch.AMD64, ABIOf(arch.AMD64, false), tableCode{raw}, base, base+uint64(len(raw.code)))
	for silent, want := range map[uint64][]uint64{base: {base + 5, base + 12}, base + 5: nil} {
		got := f.Leading(base+14, 4, func(addr uint64) bool { return addr != silent }, nil)
		if !slices.Equal(got, want) {
			t.Errorf("without a line at %#x: %#x, want %#x", silent, got, want)
		}
	}
}
