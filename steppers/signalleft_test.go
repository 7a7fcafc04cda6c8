package steppers_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestSignalLeft: the frame of a handler that has returned is found below the stack pointer only if it has all registers as they are.
func TestSignalLeft(t *testing.T) {
	const sp, context = stack + 0x3000, 40
	order := []arch.Reg{arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15, arch.RDI, arch.RSI, arch.RBP, arch.RBX, arch.RDX, arch.RAX,
		arch.RCX, arch.RSP, arch.RIP}
	for name, c := range map[string]struct {
		base   uint64 // where the frame lies
		change func(data []byte, regs *arch.RegSet)
		want   bool
	}{
		"as it was left":          {sp - 0x800, func([]byte, *arch.RegSet) {}, true},
		"at the lowest place":     {stack, func([]byte, *arch.RegSet) {}, true},
		"right below":             {sp - 0x1f8, func([]byte, *arch.RegSet) {}, true},
		"above the stack pointer": {sp, func([]byte, *arch.RegSet) {}, false},
		"another pc":              {sp - 0x800, func(_ []byte, r *arch.RegSet) { r.Set(arch.RIP, 0x401001) }, false},
		"another register":        {sp - 0x800, func(_ []byte, r *arch.RegSet) { r.Set(arch.RBX, 1) }, false},
		"another stack pointer":   {sp - 0x800, func(_ []byte, r *arch.RegSet) { r.Set(arch.RSP, sp+8) }, false},
		"no stack pointer":        {sp - 0x800, func(_ []byte, r *arch.RegSet) { *r = arch.RegSet{} }, false},
		"flags that changed":      {sp - 0x800, func(_ []byte, r *arch.RegSet) { r.Set(arch.EFLAGS, 0x10246) }, true},
		"written over":            {sp - 0x800, func(d []byte, _ *arch.RegSet) { d[sp-0x800-stack+context+8*3] ^= 1 }, false},
		"few registers known":     {sp - 0x800, func(_ []byte, r *arch.RegSet) { *r = few(r) }, false},
	} {
		data := make([]byte, stackLen)
		var regs arch.RegSet
		for i, r := range order {
			v := 0x1000 + uint64(i)<<16
			switch r {
			case arch.RSP:
				v = sp
			case arch.RIP:
				v = 0x401000
			}
			regs.Set(r, v)
			binary.LittleEndian.PutUint64(data[c.base-stack+context+8*uint64(i):], v)
		}
		at := c.base - stack + context
		binary.LittleEndian.PutUint64(data[at+152:], 4)          // the error code: a read by the program
		binary.LittleEndian.PutUint64(data[at+160:], 14)         // a page fault
		binary.LittleEndian.PutUint64(data[at+176:], 0x70000123) // its address
		c.change(data, &regs)
		p := &proc{segs: []seg{{libstate.Mapping{Start: stack, End: stack + stackLen}, data}}}
		got, ok := steppers.SignalLeft(p, &regs)
		if ok != c.want || ok && (got.Trap.Kind != steppers.TrapAccess || got.Trap.Addr != 0x70000123 || got.SP != c.base) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
	var regs arch.RegSet
	regs.Set(arch.RSP, 0x10)
	if _, ok := steppers.SignalLeft(&proc{}, &regs); ok {
		t.Error("a frame where there is no stack")
	}
}

// few leaves of registers the program counter and the stack pointer.
func few(r *arch.RegSet) (out arch.RegSet) {
	for _, reg := range []arch.Reg{arch.RIP, arch.RSP} {
		v, _ := r.Get(reg)
		out.Set(reg, v)
	}
	return out
}
