package dwarfvars

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestBeforeGoFrame asks for a local variable of Go in a function that asks for a larger stack: it has not made its frame, and what lies at the variable's place is below
// the stack pointer.
func TestBeforeGoFrame(t *testing.T) {
	number := base("int", types.EncSigned, 8)
	v := die(dwarf.TagVariable, handAttr{dwarf.AttrName, "v"}, handAttr{dwarf.AttrType, number}, handAttr{dwarf.AttrDeclLine, 7},
		handAttr{dwarf.AttrLocation, append([]byte{byte(op.Fbreg)}, sleb(-0x20)...)})
	for _, c := range []struct {
		name string
		size uint64 // from the stack pointer to the CFA
		line any
		want bool
	}{
		{"without a frame", 8, 7, false},
		{"just short of it", 0x18, 7, false},
		{"C, which has no stack to ask for", 8, nil, true},
	} {
		p := newHand(arch.AMD64, 0x100)
		sp := uint64(handBase + 0x40)
		p.regs.Set(p.arch.SP, sp)
		p.put(sp+c.size-0x20, 8, 0x5151)
		frames := p.walkBy(t, func(_, out *unwind.Frame) { out.SetRA(1); out.SetCalleeCFA(sp + c.size) })
		lang := dwarf.LangGo
		if c.line == nil {
			lang = dwarf.LangC99
		}
		u := unit(t, p.arch.ByteOrder, 8, lang, number, die(dwarf.TagSubprogram, handAttr{dwarf.AttrFrameBase, ops(op.CallFrameCFA)}).with(v))
		a := handActivation(p, frames, 0, dwarf.DIE{Unit: u, Off: u.Root()})
		if got := a.declared(a.variable(v.in(u))); got != c.want {
			t.Errorf("%s: declared %v, want %v", c.name, got, c.want)
		}
		a.Close()
	}
}
