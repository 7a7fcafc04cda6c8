package lua

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where the native side of a process has what: LuaJIT's module, another one, and code of none.
const (
	atModule, atOther = 0x700000, 0x800000
	atPanic           = atOther + 0x100
)

// A ran is a process with modules. Code of LuaJIT's module has no names, code of the other one has the name of a function of 16 bytes.
type ran struct {
	*remotetest.Stopped
	unwind.SymbolReader
}

func (s *ran) SymbolAt(lib *libstate.Library, at unwind.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{Name: "f", Addr: at &^ 15, Size: 16}, lib.Start == atOther
}

// runs puts modules into a small process.
func (m jitFake) runs() *ran {
	own := remotetest.Module("/libluajit.so", atModule)
	s := &ran{Stopped: remotetest.NewStopped(m.Words, own, remotetest.Module("/app", atOther))}
	m.r.lib, m.r.p = own, &tasks.Process{State: s, Symbols: s}
	return s
}

func (s *ran) frame(t *testing.T, pc, sp uint64, regs map[arch.Reg]uint64) *unwind.Frame {
	t.Helper()
	return remotetest.Frame(t, s, pc, sp, regs)
}

// TestJITInterpreted: where the virtual machine is in its own code is believed of a function that is on the stack of Lua, of an instruction of it.
func TestJITInterpreted(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		for what, c := range map[string]struct {
			harm func(r *runtime, m jitFake, regs map[arch.Reg]uint64)
			want bool
		}{
			"as it is":             {func(*runtime, jitFake, map[arch.Reg]uint64) {}, true},
			"the last instruction": {func(r *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RBX] += 4 }, true},
			"another thread runs":  {func(r *runtime, m jitFake, _ map[arch.Reg]uint64) { m.set(atGlobal, "global.current", atTable) }, false},
			"it does not interpret": {func(r *runtime, m jitFake, _ map[arch.Reg]uint64) {
				m.Put32(atGlobal+r.at("global.running"), 0xfffffffe)
			}, false},
			"code of another module": {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RIP] = atOther + 0x1000 }, false},
			"a base below the stack": {func(r *runtime, m jitFake, regs map[arch.Reg]uint64) {
				m.frame(atStack-8, atClosure, 0)
				regs[arch.RDX] = atStack
			}, false},
			"a base beyond the stack": {func(_ *runtime, m jitFake, regs map[arch.Reg]uint64) {
				m.Zero(atStack+0x400, 0x40)
				m.frame(atStack+0x400, atClosure, 0)
				regs[arch.RDX] = atStack + 0x408
			}, false},
			"a base between slots": {func(_ *runtime, m jitFake, regs map[arch.Reg]uint64) {
				for at, v := range map[uint64]uint64{0: m.Words[m.outer()], 8: m.Words[m.outer()-8]} {
					for i := range uint64(8) {
						m.Put(m.outer()+0x20-at+4+i, byte(v>>(8*i)))
					}
				}
				regs[arch.RDX] = m.outer() + 8 + 0x24
			}, false},
			"no function":                    {func(r *runtime, m jitFake, _ map[arch.Reg]uint64) { m.Put(atClosure+r.at("object.type"), 1) }, false},
			"a function of C":                {func(_ *runtime, m jitFake, _ map[arch.Reg]uint64) { m.frame(m.outer(), atNative, 0) }, false},
			"the beginning of the code":      {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RBX] -= 12 }, false},
			"behind the code":                {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RBX] += 8 }, false},
			"between instructions":           {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RBX]-- }, false},
			"no base":                        {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { delete(regs, arch.RDX) }, false},
			"no instruction":                 {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { delete(regs, arch.RBX) }, false},
			"upper halves that nobody needs": {func(_ *runtime, _ jitFake, regs map[arch.Reg]uint64) { regs[arch.RDX] |= 7 << 32 }, column == 1},
		} {
			r, m := smallJIT(column)
			s := m.runs()
			m.Put32(atGlobal+r.at("global.running"), ^uint32(0))
			regs := map[arch.Reg]uint64{arch.RIP: atModule + 0x100, arch.RDX: m.outer() + 8, arch.RBX: atPrototype + r.at("function.size") + 12}
			c.harm(r, m, regs)
			pc := regs[arch.RIP]
			delete(regs, arch.RIP)
			got, ok := r.interpreted(atState, []*unwind.Frame{s.frame(t, pc, 0x900000, regs)})
			if ok != c.want || ok && (got.frame != m.outer() || got.pc != regs[arch.RBX]) {
				t.Errorf("%s: %+v, %t", what, got, ok)
			}
		}
	})
}

// TestJITStates: threads are looked for in the registers that calls preserve, and in what frames of LuaJIT have first.
func TestJITStates(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		s := m.runs()
		tried := func(frames ...*unwind.Frame) (list []uint64) {
			r.candidates(frames, func(v uint64) bool { list = append(list, v); return v == 99 })
			return list
		}
		const sp = 0x900000
		m.Zero(sp, 64)
		m.Words[sp] = 41 | 42<<32
		young := s.frame(t, atOther+0x1000, sp, map[arch.Reg]uint64{arch.RAX: 5, arch.RBX: 6})
		old := s.frame(t, atOther+0x1000, sp, map[arch.Reg]uint64{arch.RAX: 7, arch.RBX: 8})
		if got := tried(young, old); !slices.Contains(got, 5) || !slices.Contains(got, 6) || slices.Contains(got, 7) || !slices.Contains(got, 8) || slices.Contains(got, 41) {
			t.Errorf("%d", got)
		}
		own := s.frame(t, atModule+0x100, sp, nil)
		if got := tried(own); !slices.Contains(got, 41) || !slices.Contains(got, 41|42<<32) {
			t.Errorf("%d", got)
		}
		if got := tried(s.frame(t, atOther+0x1000, sp, map[arch.Reg]uint64{arch.RAX: 99}), old); slices.Contains(got, 8) {
			t.Errorf("it goes on: %d", got)
		}
		many := slices.Repeat([]*unwind.Frame{old}, maxFrames+1)
		many[maxFrames] = s.frame(t, atOther+0x1000, sp, map[arch.Reg]uint64{arch.RBX: 99})
		if slices.Contains(tried(many...), 99) {
			t.Error("a stack without end is searched")
		}
		r.p.Budget = budget.Of(8)
		if slices.Contains(tried(old, old, old, s.frame(t, atOther+0x1000, sp, map[arch.Reg]uint64{arch.RBX: 99})), 99) {
			t.Error("it costs nothing")
		}
		r.p.Budget = nil
		// Without proof it is the thread that runs, once; a proof is preferred.
		if got := r.jitStates([]*unwind.Frame{old}, []uint64{atTable, atState, atState}); !slices.Equal(got, []uint64{atState}) {
			t.Errorf("%#x", got)
		}
		m.set(atGlobal, "global.current", atTable)
		if got := r.jitStates([]*unwind.Frame{old}, []uint64{atState}); len(got) > 0 {
			t.Errorf("another one runs: %#x", got)
		}
		proved := s.frame(t, atModule+0x100, atMachine, nil)
		if got := r.jitStates([]*unwind.Frame{proved}, nil); !slices.Equal(got, []uint64{atState}) {
			t.Errorf("%#x", got)
		}
		many = slices.Repeat([]*unwind.Frame{old}, maxFrames+1)
		many[maxFrames] = proved
		if got := r.jitStates(many, nil); len(got) > 0 {
			t.Errorf("far away: %#x", got)
		}
	})
}

// TestJITPanics: the function that LuaJIT calls when nobody catches an error is known by where it begins.
func TestJITPanics(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		s := m.runs()
		inside, other := s.frame(t, atPanic+4, 0x900000, nil), s.frame(t, atPanic+0x24, 0x900000, nil)
		if r.panics(atState, []*unwind.Frame{inside}) {
			t.Error("there is no such function")
		}
		m.Words[atGlobal+r.at("global.panic")] = atPanic
		if !r.panics(atState, []*unwind.Frame{other, inside}) || r.panics(atState, []*unwind.Frame{other}) {
			t.Error("it is not the function that is known")
		}
	})
}

// TestJITCaller: the caller of compiled code is who called the virtual machine that jumped to it, of which a frame has proof.
func TestJITCaller(t *testing.T) {
	for what, c := range map[string]struct {
		harm func(s *ran, r *runtime, m jitFake)
		pc   uint64
		want unwind.Status
	}{
		"as it is":              {func(*ran, *runtime, jitFake) {}, atMachineCode + 0x30, unwind.StatusSuccess},
		"code of a module":      {func(*ran, *runtime, jitFake) {}, atModule + 0x30, unwind.StatusNotMe},
		"another processor":     {func(s *ran, _ *runtime, _ jitFake) { s.CPU = arch.ARM64 }, atMachineCode + 0x30, unwind.StatusNotMe},
		"no modules":            {func(s *ran, _ *runtime, _ jitFake) { s.Libs = nil }, atMachineCode + 0x30, unwind.StatusNotMe},
		"no compiled code":      {func(_ *ran, _ *runtime, m jitFake) { m.set(atGlobal, "global.compiled", 0) }, atMachineCode + 0x30, unwind.StatusNotMe},
		"a return to no module": {func(_ *ran, r *runtime, m jitFake) { m.Words[atMachine+r.at("frame.size")-8] = 0x600000 }, atMachineCode + 0x30, unwind.StatusNotMe},
		"no return":             {func(_ *ran, r *runtime, m jitFake) { delete(m.Words, atMachine+r.at("frame.size")-8) }, atMachineCode + 0x30, unwind.StatusNotMe},
	} {
		r, m := traced(0)
		s := m.runs()
		m.Zero(atMachine-64, 64)
		m.Zero(atMachine, r.at("frame.size"))
		m.set(atMachine, "frame.state", atState)
		for _, reg := range saved {
			m.Words[atMachine+uint64(reg.at)] = 0x1000 + uint64(reg.reg)
		}
		m.set(atMachine, "frame.state", atState)
		m.Words[atMachine+r.at("frame.size")-8] = atOther + 0x200
		for i := uint64(0); i < maxOwn*8; i += 8 {
			m.Words[atMachine+i] |= 0 // it is there
		}
		c.harm(s, r, m)
		st := NewCompiled(func() *tasks.Process { return r.p })
		st.Find = func(*tasks.Process) *runtime { return r }
		in, out := s.frame(t, c.pc, atMachine-64, nil), s.frame(t, 0, 0, nil)
		if got := st.CallerFrame(in, out); got != c.want {
			t.Errorf("%s: %v", what, got)
			continue
		}
		if c.want != unwind.StatusSuccess {
			continue
		}
		rbx, _, ok := out.Reg(arch.RBX)
		if out.RA() != atOther+0x200 || out.SP() != atMachine+r.at("frame.size") || out.FP() != 0x1000+uint64(arch.RBP) || !ok || rbx != 0x1000+uint64(arch.RBX) {
			t.Errorf("%s: %#x at %#x, %#x, %#x %t", what, out.RA(), out.SP(), out.FP(), rbx, ok)
		}
	}
	if st := NewCompiled(func() *tasks.Process { return nil }); st.Name() != "LuaJIT" {
		t.Error(st.Name())
	} else if r, m := traced(0); st.CallerFrame(m.runs().frame(t, atMachineCode, atMachine, nil), nil) != unwind.StatusNotMe {
		t.Errorf("%v is somebody's", r)
	}
}

// exporting is a process whose module exports what LuaJIT's does.
type exporting struct {
	*ran
	name string
}

func (e *exporting) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	return unwind.Symbol{Name: name}, lib.Start == atModule && name == e.name
}

// TestJITLeft: where compiled code has been left, the frame of the virtual machine is above what it keeps of that code.
func TestJITLeft(t *testing.T) {
	for what, c := range map[string]struct {
		harm   func(s *exporting, r *runtime, m jitFake)
		pc, sp uint64
		want   unwind.Status
	}{
		"as it is":               {func(*exporting, *runtime, jitFake) {}, atModule + 0x30, atMachine - 64, unwind.StatusSuccess},
		"code of no module":      {func(*exporting, *runtime, jitFake) {}, atMachineCode + 0x30, atMachine - 64, unwind.StatusNotMe},
		"code of another module": {func(s *exporting, _ *runtime, _ jitFake) {}, atOther + 0x30, atMachine - 64, unwind.StatusNotMe},
		"not LuaJIT's":           {func(s *exporting, _ *runtime, _ jitFake) { s.name = "lua_pcall" }, atModule + 0x30, atMachine - 64, unwind.StatusNotMe},
		"another processor":      {func(s *exporting, _ *runtime, _ jitFake) { s.CPU = arch.ARM64 }, atModule + 0x30, atMachine - 64, unwind.StatusNotMe},
		"LuaJIT of another one":  {func(_ *exporting, r *runtime, _ jitFake) { r.lib = &libstate.Library{} }, atModule + 0x30, atMachine - 64, unwind.StatusNotMe},
		"the machine's own":      {func(*exporting, *runtime, jitFake) {}, atModule + 0x30, atMachine, unwind.StatusNotMe},
		"no frame":               {func(_ *exporting, _ *runtime, m jitFake) { m.set(atState, "state.frame", atMachine+0x40) }, atModule + 0x30, atMachine - 64, unwind.StatusNotMe},
	} {
		r, m := traced(0)
		s := &exporting{m.runs(), setMode}
		m.Zero(atMachine-64, 64)
		m.Zero(atMachine, maxOwn*8)
		m.set(atMachine, "frame.state", atState)
		m.set(atGlobal, "global.compiled", 0)
		m.Words[atMachine+r.at("frame.size")-8] = atOther + 0x200
		c.harm(s, r, m)
		st := NewCompiled(func() *tasks.Process { return r.p })
		st.Find = func(*tasks.Process) *runtime { return r }
		w, err := unwind.NewWalker(s, unwind.WithSymbolReader(s))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		frame := func(pc, sp uint64) *unwind.Frame {
			f, err := unwind.NewFrame(pc, sp, 0, w)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		in, out := frame(c.pc, c.sp), frame(0, 0)
		if got := st.PastBottom(in, out); got != c.want {
			t.Errorf("%s: %v", what, got)
		} else if got == unwind.StatusSuccess && (out.RA() != atOther+0x200 || out.SP() != atMachine+r.at("frame.size")) {
			t.Errorf("%s: %#x at %#x", what, out.RA(), out.SP())
		}
		in.SetNonCall(true)
		if got := st.PastBottom(in, out); got != unwind.StatusNotMe {
			t.Errorf("%s: it made no call: %v", what, got)
		}
	}
}
