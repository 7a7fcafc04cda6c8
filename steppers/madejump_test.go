package steppers_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestJumpTableInCode: .NET has the tables of jumps behind its functions, in memory that may be written and run.
func TestJumpTableInCode(t *testing.T) {
	const code = "\x55\x48\x89\xe5" + // push rbp; mov rbp, rsp
		"\x83\xff\x01\x77\x18" + // cmp edi, 1; ja made+0x21
		"\x89\xff\x48\x8d\x05\x4e\x00\x00\x00" + // mov edi, edi; lea rax, [made+0x60]
		"\x8b\x04\xb8\x48\x8d\x35\xe4\xff\xff\xff" + // mov eax, [rax+4*rdi]; lea rsi, [made]
		"\x48\x01\xf0\xff\xe0" + // add rax, rsi; jmp rax
		"\x5d\xc3\x0f\x0b" + // 0x21: pop rbp; ret; ud2
		"\x06\x06\x06\x06" + // no instructions
		"\x90\xff\xd3\xc9\xc3" // 0x29: nop; call rbx; leave; ret
	for _, tt := range []struct {
		perm libstate.Perm
		data uint64 // where the table is from made on
		want string
	}{
		{libstate.Read | libstate.Write | libstate.Exec, 0x60, "0x7f0000000108 sp 0x7ffe00000210"},
		{libstate.Read | libstate.Exec, 0x60, "0x7f0000000108 sp 0x7ffe00000210"},
		{libstate.Read | libstate.Write, 0x60, "none"}, // no code at all
	} {
		p := newProc(map[string]uint64{"rip": made + 0x2c, "rsp": stack + 0x1f0, "rbp": stack + 0x200})
		b := []byte(strings.Repeat("\xcc", 0x1000))
		copy(b, code)
		binary.LittleEndian.PutUint32(b[tt.data:], 0x29)
		binary.LittleEndian.PutUint32(b[tt.data+4:], 0x21)
		copy(b[0x103:], "\xe8\xf8\x00\x00\x00") // call made+0x200, from which nothing leads to the function any more
		copy(b[0x200:], "\x5e\xc3")
		p.add(made, tt.perm, b)
		p.put(stack+0x200, 0x77, made+0x108)
		syms := madeSymbols{tabled{list: []unwind.MadeTable{{Start: made, End: made + 0x2e}}}}
		w := walker(t, mapper{p}, syms, must(steppers.NewAnalysisStepper(arch.AMD64, nil)))
		got := outcome(w, called(t, w, made+0x2c, stack+0x1f0, stack+0x200))
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v: %s; want %s", tt.perm, got, tt.want)
		}
	}
}
