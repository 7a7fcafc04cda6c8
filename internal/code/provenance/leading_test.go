package provenance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

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
	} {
		f := function(t, arch.AMD64, c.code)
		got := f.Leading(base+c.call, c.most, func(addr uint64) bool { return !slices.Contains(c.silent, addr-base) })
		for i := range got {
			got[i] -= base
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
