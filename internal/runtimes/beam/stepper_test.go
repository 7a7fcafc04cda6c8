package beam

import (
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCaller: the caller of Erlang's code is behind the registers of a scheduler, where a call of the virtual machine returns to, and nowhere else.
func TestCaller(t *testing.T) {
	const own, other, pc = 0x900000, 0x980000, atModule + 0x250
	const returns = own + 0x40
	type regs = map[arch.Reg]uint64
	var behind uint64 // the registers, and the room that was left
	for name, c := range map[string]struct {
		change func(*machine, regs)
		want   unwind.Status
	}{
		"as it is":                           {func(*machine, regs) {}, unwind.StatusSuccess},
		"behind something else":              {func(m *machine, _ regs) { m.Words[behind+8], m.Words[behind+24] = other+0x40, returns }, unwind.StatusSuccess},
		"the register is not known":          {func(_ *machine, in regs) { delete(in, registersAt) }, unwind.StatusNotMe},
		"the registers of nobody":            {func(_ *machine, in regs) { in[registersAt] += 64 }, unwind.StatusNotMe},
		"those of a scheduler of no thread":  {func(m *machine, _ regs) { m.pointer = 0x123450 }, unwind.StatusNotMe},
		"the call of another module":         {func(m *machine, _ regs) { m.Words[behind+8] = other + 0x40 }, unwind.StatusNotMe},
		"the call of no module":              {func(m *machine, _ regs) { m.Words[behind+8] = 0x123450 }, unwind.StatusNotMe},
		"no call is there":                   {func(m *machine, _ regs) { m.Words[behind+8] = returns + 16 }, unwind.StatusNotMe},
		"where calls put no return address":  {func(m *machine, _ regs) { m.Words[behind], m.Words[behind+8] = returns, 0 }, unwind.StatusNotMe},
		"beyond the room that was left":      {func(m *machine, _ regs) { m.Words[behind+8], m.Words[behind+72] = 0, returns }, unwind.StatusNotMe},
		"what is behind is not in the dump":  {func(m *machine, _ regs) { delete(m.Words, behind) }, unwind.StatusNotMe},
		"a virtual machine that interprets":  {func(m *machine, _ regs) { m.Put32(atFlavor, 0) }, unwind.StatusNotMe},
		"there is no virtual machine at all": {func(m *machine, _ regs) { delete(m.symbols, "etp_otp_release") }, unwind.StatusNotMe},
	} {
		m := newMachine()
		lib := remotetest.Module("/beam.smp", own)
		m.Libs = libstate.NewTable([]*libstate.Library{lib, remotetest.Module("/libc.so.6", other)}, 0)
		line := m.at("registers.line")
		behind = atX - m.at("registers.x") + m.at("registers.size") + line
		m.Zero(behind, 128)
		m.Words[behind+8] = returns
		for _, at := range []uint64{own, other} {
			m.Zero(at, 128)
			m.Put(at+0x40-5, 0xe8)
		}
		in := regs{registersAt: atX, processAt: atFirst}
		c.change(m, in)
		st := NewCompiled(func() *tasks.Process {
			p := m.process()
			p.Modules = []*libstate.Library{lib}
			return p
		})
		out := remotetest.Frame(t, m, 0, 0, regs{processAt: 5})
		if got := st.CallerFrame(remotetest.Frame(t, m, pc, atStack, in), out); got != c.want {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if c.want != unwind.StatusSuccess {
			continue
		}
		if _, _, known := out.Reg(processAt); known || out.RA() != returns || m.Words[out.SP()-8] != returns || out.RALocation() != unwind.AtAddress(out.SP()-8) || out.Trust() != unwind.TrustCFI {
			t.Errorf("%s: %#x at %#x, its register is known: %t", name, out.RA(), out.SP(), known)
		}
	}
}
