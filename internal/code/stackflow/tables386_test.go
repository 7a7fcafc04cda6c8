package stackflow_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestPositionIndependentTables: the tables of position-independent code of i386 have offsets from the global offset table, whose
// address the function computes from its own: 0x4000.
func TestPositionIndependentTables(t *testing.T) {
	const (
		asked = "53 e8 3a 00 00 00 81 c3 fa 2f 00 00 83 f8 02 "    // push %ebx; call 0x1040; add $0x2ffa,%ebx; cmp $2,%eax
		here  = "53 e8 00 00 00 00 5b 81 c3 fa 2f 00 00 83 f8 02 " // push %ebx; call 1f; 1: pop %ebx; add $0x2ffa,%ebx; cmp $2,%eax
		jump  = "77 0b 8b 84 83 30 d0 ff ff 01 d8 ff e0 "          // ja; mov 0x1030-0x4000(%ebx,%eax,4),%eax; add %ebx,%eax; jmp *%eax
		plain = "77 0e c1 e0 02 8b 84 18 30 d0 ff ff 01 d8 ff e0 " // ja; shl $2,%eax; mov 0x1030-0x4000(%eax,%ebx,1),%eax; the same
		added = "77 0b 89 d9 03 8c 83 30 d0 ff ff ff e1 "          // ja; mov %ebx,%ecx; add 0x1030-0x4000(%ebx,%eax,4),%ecx; jmp *%ecx
		other = "77 0b 8b 84 83 30 d0 ff ff 01 f0 ff e0 "          // add %esi,%eax instead
		four  = "77 0b 8b 84 58 30 d0 ff ff 01 d8 ff e0 "          // mov 0x1030-0x4000(%eax,%ebx,2),%eax instead
		ways  = "5b c3 5b c3"                                      // pop %ebx; ret
		thunk = "8b 1c 24 c3"                                      // mov (%esp),%ebx; ret
	)
	for _, tc := range []struct {
		name, code, thunk string
		jump              uint64
		want              []uint64
	}{
		{"gcc", asked + jump, thunk, 0x1a, []uint64{0x101c, 0x101e, 0x101c}},
		{"gcc with control-flow protection", asked + jump, "f3 0f 1e fb " + thunk, 0x1a, []uint64{0x101c, 0x101e, 0x101c}},
		{"gcc, not optimised", asked + plain, thunk, 0x1d, []uint64{0x101f, 0x1021, 0x101f}},
		{"gcc, optimised for size", asked + added, thunk, 0x1a, []uint64{0x101c, 0x101e, 0x101c}},
		{"clang", here + jump, "c3", 0x1b, []uint64{0x101d, 0x101f, 0x101d}},
		{"another word of the stack", asked + jump, "8b 5c 24 04 c3", 0x1a, nil},
		{"another register", asked + jump, "8b 34 24 c3", 0x1a, nil},
		{"more than that", asked + jump, "8b 1c 24 43 c3", 0x1a, nil},
		{"a return that pops", asked + jump, "8b 1c 24 c2 04 00", 0x1a, nil},
		{"another base", asked + other, thunk, 0x1a, nil},
		{"a scaled base", asked + four, thunk, 0x1a, nil},
	} {
		body := code(tc.code, ways)
		end := 0x1000 + uint64(len(body))
		to := byte(tc.jump + 2) // the first way
		body = append(body, make([]byte, 0x30-len(body))...)
		body = append(body, to, 0xd0, 0xff, 0xff, to+2, 0xd0, 0xff, 0xff, to, 0xd0, 0xff, 0xff, 0, 0, 0, 0)
		text := bytesAt{0x1000, append(body, code(tc.thunk)...)}
		_, steps := stackflow.Follow(arch.X86, text, 0x1000, end, 1<<14)
		i := slices.IndexFunc(steps, func(s stackflow.Step) bool { return s.Addr == 0x1000+tc.jump })
		if i < 0 {
			t.Errorf("%s: no jump", tc.name)
			continue
		}
		if got := steps[i].To; !slices.Equal(got, tc.want) {
			t.Errorf("%s: leads to %#x, want %#x", tc.name, got, tc.want)
		}
	}
}

// TestPopsBehindTable: a function that pops an argument may have a table of jumps before its return; a linkage stub has none.
func TestPopsBehindTable(t *testing.T) {
	for _, tc := range []struct {
		callee string
		want   string
	}{
		{"83 f8 02 8b 04 85 00 20 00 00 ff e0 c2 04 00", "esp+4"}, // cmp $2,%eax; mov 0x2000(,%eax,4),%eax; jmp *%eax; ret $4
		{"ff 25 00 20 00 00 c2 04 00", "esp+8"},                   // jmp *0x2000
		{"f3 0f 1e fb ff a3 0c 00 00 00 c2 04 00", "esp+8"},       // endbr32; jmp *12(%ebx)
	} {
		// push %eax; call 0x1010; ret
		body := code("50", "e8 0a 00 00 00", "c3 90 90 90 90 90 90 90 90 90", tc.callee)
		f := stackflow.Analyze(arch.X86, bytesAt{0x1000, body}, 0x1000, 0x1007)
		rows, _ := f.Rows(nil, 0x1006)
		if len(rows) != 1 {
			t.Fatalf("%s: %d rows", tc.callee, len(rows))
		}
		if got := describeOf(arch.X86, rows); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.callee, got, tc.want)
		}
	}
}

// TestTableOfParts: a table of known length also leads to a part of the function that lies elsewhere; the others are followed.
func TestTableOfParts(t *testing.T) {
	const (
		asked = "83 ff 02 77 10 " // cmp edi,2; ja
		open  = "90 90 90 90 90 " // no bounds
		jump  = "48 8d 15 24 00 00 00 48 63 04 ba 48 01 d0 ff e0 c3 c3 c3"
		at    = 0x1013
	)
	for _, tc := range []struct {
		name, code string
		cold       byte // where the code of the other part is, from the table
		end        uint64
		want       []uint64
	}{
		{"a part elsewhere", asked + jump, 0x20, 0x1018, []uint64{0x1016, 0x1017}},
		{"no code there", asked + jump, 0x70, 0x1018, nil},
		{"of unknown length", open + jump, 0x20, 0x1018, nil},
		{"within the function", asked + jump, 0xe5, 0x1018, []uint64{0x1015, 0x1016, 0x1017}},
	} {
		body := code(tc.code)
		body = append(body, make([]byte, 0x30-len(body))...)
		high := byte(0)
		if tc.cold > 0x80 {
			high = 0xff
		}
		body = append(body, tc.cold, high, high, high, 0xe6, 0xff, 0xff, 0xff, 0xe7, 0xff, 0xff, 0xff)
		body = append(body, make([]byte, 0x50-len(body))...)
		body = append(body, 0xc3)
		_, steps := stackflow.Follow(arch.AMD64, bytesAt{0x1000, body}, 0x1000, tc.end, 1<<14)
		i := slices.IndexFunc(steps, func(s stackflow.Step) bool { return s.Addr == at })
		if i < 0 {
			t.Errorf("%s: no jump", tc.name)
		} else if got := steps[i].To; !slices.Equal(got, tc.want) {
			t.Errorf("%s: to %#x, want %#x", tc.name, got, tc.want)
		}
	}
}
