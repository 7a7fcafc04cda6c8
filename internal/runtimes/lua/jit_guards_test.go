package lua

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where a small process of LuaJIT has what besides what one of Lua has.
const (
	atNative, atUpvalue, atConstants = 0x5400, 0x5500, 0x5600
	atMachine, atTraces, atTrace     = 0x9000, 0x9100, 0x9200
	atSnapshots, atMap, atIR         = 0x9300, 0x9400, 0x9500
	atInlined, atMachineCode         = 0x5700, 0x400000
)

// A jitFake is the memory of a process of LuaJIT.
type jitFake struct {
	fake
	r *runtime
	w uint64 // slots of a link between frames
}

// set writes a field.
func (m jitFake) set(at uint64, field string, v uint64) {
	if m.r.narrow(field) {
		m.Put32(at+m.r.at(field), uint32(v))
		return
	}
	m.Words[at+m.r.at(field)] = v
}

// text puts a string.
func (m jitFake) text(at uint64, s string) {
	m.Zero(at, 40+uint64(len(s)))
	m.Put(at+m.r.at("object.type"), jitTypes[tagString])
	m.Put32(at+m.r.at("string.length"), uint32(len(s)))
	m.Put(at+m.r.at("string.text"), []byte(s)...)
}

// object is a value that is an object.
func (m jitFake) object(at uint64, tag byte) uint64 {
	if m.w == 1 {
		return at | uint64(^uint32(jitTypes[tag]))<<32
	}
	return at | ^uint64(jitTypes[tag])<<addressBits
}

// frame puts a link and a function on the stack.
func (m jitFake) frame(at, function, link uint64) {
	if m.w == 1 {
		m.Words[at] = function | link<<32
		return
	}
	m.Words[at-8], m.Words[at] = m.object(function, tagFunction), link
}

// op is an instruction.
func (m jitFake) op(name string, a, c, b byte) uint32 {
	n := slices.IndexFunc(m.r.opcodes, func(o opcode) bool { return o.name == name })
	return uint32(n) | uint32(a)<<8 | uint32(c)<<16 | uint32(b)<<24
}

// outer and inner are the frames of the two functions.
func (m jitFake) outer() uint64 { return atStack + 8*(2*m.w-1) }
func (m jitFake) inner() uint64 { return m.outer() + 8*(m.w+1) }

// prototype puts what a closure of Lua is made of, and the closure.
func (m jitFake) prototype(closure, at uint64, first uint32) {
	r := m.r
	code := at + r.at("function.size")
	m.Zero(at, r.at("function.size")+80)
	m.Put(at+r.at("object.type"), jitTypes[tagPrototype51])
	m.Put32(at+r.at("function.codecount"), 4)
	m.Put32(at+r.at("function.constantcount"), 1)
	m.Put32(at+r.at("function.bytes"), uint32(r.at("function.size")+72))
	m.Put32(at+r.at("function.line"), first)
	m.Put32(at+r.at("function.linecount"), 9)
	m.Put(at+r.at("function.parameters"), 1)
	m.Put(at+r.at("function.upvaluecount"), 1)
	m.set(at, "function.constants", atConstants+8)
	m.set(at, "function.source", atSource)
	m.set(at, "function.lines", code+16)
	m.set(at, "function.variables", code+24)
	m.set(at, "function.upvalues", code+56)
	for i, op := range []uint32{m.op("FUNCF", 3, 0, 0), m.op("GGET", 1, 0, 0), m.op("CALL", 1, 2, 1), m.op("RET0", 0, 1, 0)} {
		m.Put32(code+4*uint64(i), op)
	}
	m.Put(code+16, 1, 2, 3)
	m.Put(code+24, append([]byte("amount\x00"), 0, 4, 0)...)
	m.Put(code+56, []byte("up\x00")...)
	m.Zero(closure, 64)
	m.Put(closure+r.at("object.type"), jitTypes[tagFunction])
	m.set(closure, "closure.function", code)
	m.set(closure, "closure.upvalues", atUpvalue)
}

// smallJIT is a process of LuaJIT in which a function of C was called by one of Lua, laid out as a column of the table says.
func smallJIT(column int) (*runtime, jitFake) {
	r := &runtime{memory: memory{p: &tasks.Process{}, jit: true, version: version{minor: 1}}, columns: jitTable.Get()}
	r.layout, r.opcodes, r.globalState = r.columns[column].layout, r.columns[column].opcodes, atGlobal
	m := jitFake{fake{remotetest.Words{}}, r, r.at("words.frame")}
	r.Reader = procmem.Reader{Memory: m, Arch: arch.AMD64}
	m.Zero(atGlobal, 0x500)
	m.Zero(atState, 0x100)
	m.Zero(atStack, 0x400)
	m.Put(atState+r.at("object.type"), jitTypes[tagThread])
	m.set(atGlobal, "global.main", atState)
	m.set(atGlobal, "global.current", atState)
	m.Words[atGlobal+r.at("global.registry")] = m.object(atTable, tagTable)
	m.Put32(atGlobal+r.at("global.cfunction"), m.op("FUNCC", 0, 0, 0))
	m.text(atName+0x40, "__index")
	m.set(atGlobal, "global.names", atName+0x40)
	m.Put32(atGlobal+r.at("global.running"), 0xfffffffe)
	for field, v := range map[string]uint64{"state.global": atGlobal, "state.stack": atStack, "state.last": atStack + 0x300,
		"state.call": m.inner() + 8, "state.top": m.inner() + 16, "state.frame": atMachine} {
		m.set(atState, field, v)
	}
	m.Zero(atMachine, 96)
	m.set(atMachine, "frame.state", atState)
	m.text(atSource, "@shop.lua")
	m.text(atName, "work")
	m.Zero(atConstants, 16)
	if m.w == 1 {
		m.Put32(atConstants+4, atName)
	} else {
		m.Words[atConstants] = atName
	}
	m.prototype(atClosure, atPrototype, 10)
	m.Zero(atNative, 64)
	m.Put(atNative+r.at("object.type"), jitTypes[tagFunction])
	m.Put(atNative+r.at("closure.kind"), 1)
	m.set(atNative, "closure.native", native)
	m.Zero(atUpvalue, 64)
	m.set(atUpvalue, "upvalue.at", atUpvalue+48)
	m.Words[atUpvalue+48] = m.object(atTable, tagTable)
	m.frame(m.outer(), atClosure, 8*m.w|linkNative)
	m.Words[m.outer()+8] = 0x401c000000000000 // 7
	m.frame(m.inner(), atNative, atPrototype+r.at("function.size")+12)
	m.Words[m.inner()+8] = m.object(atTable, tagTable)
	m.Zero(atTable, 64)
	m.Put(atTable+r.at("object.type"), jitTypes[tagTable])
	m.Put32(atTable+r.at("table.arraysize"), 3)
	m.set(atTable, "table.array", atArray)
	m.set(atTable, "table.nodes", atNodes)
	m.Words[atArray], m.Words[atArray+8], m.Words[atArray+16] = ^uint64(0), 0x4014000000000000, m.object(atTable, tagTable)
	for i := uint64(0); i < 32; i += 8 {
		m.Words[atNodes+i] = ^uint64(0)
	}
	return r, m
}

// bothJIT does for the youngest layouts with references of 8 bytes and of 4.
func bothJIT(t *testing.T, do func(t *testing.T, column int)) {
	t.Helper()
	for column := range 2 {
		t.Run(jitTable.Get()[column].name, func(t *testing.T) { do(t, column) })
	}
}

// linkPattern is what is wrong with a link between calls.
var linkPattern = regexp.MustCompile("^(a return to|a link|arguments)")

// TestJITGuards: each thing that is wrong is seen.
func TestJITGuards(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		want := []string{"work", "function <shop.lua:10> shop.lua:12 amount=7"}
		if got, err := told(r); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v", got, err)
		}
		_, own := r.variables(&call{f: r.functionOf(atClosure), function: value{atClosure, kindFunction}, base: m.outer() + 8, pc: 2}, nil, true, tasks.Limits{})
		if len(own) != 1 || own[0].Name != "up" || own[0].Value != "{[0]=nil, 5, {...}}" && own[0].Value != "{5, {...}}" {
			t.Errorf("%+v", own)
		}
		size := r.at("function.size")
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"a frame beyond the stack": func(_ *runtime, m jitFake) { m.set(atState, "state.call", atStack+0x300+maxExtra+24) },
			"a frame between slots": func(_ *runtime, m jitFake) {
				m.set(atState, "state.call", m.inner()+12)
				m.Words[m.inner()+4&^7] = m.object(atNative, tagFunction)
			},
			"no function":                  func(r *runtime, m jitFake) { m.Put(atNative+r.at("object.type"), jitTypes[tagTable]) },
			"a function of C without code": func(_ *runtime, m jitFake) { m.set(atNative, "closure.native", 0) },
			"a prototype that is none":     func(r *runtime, m jitFake) { m.Put(atPrototype+r.at("object.type"), jitTypes[tagTable]) },
			"no instructions":              func(r *runtime, m jitFake) { m.Put32(atPrototype+r.at("function.codecount"), 0) },
			"instructions without end": func(r *runtime, m jitFake) {
				m.Put32(atPrototype+r.at("function.codecount"), maxInstructions+1)
				m.Put32(atPrototype+r.at("function.bytes"), 1<<31)
			},
			"instructions beyond the object":  func(r *runtime, m jitFake) { m.Put32(atPrototype+r.at("function.bytes"), uint32(size)) },
			"constants without end":           func(r *runtime, m jitFake) { m.Put32(atPrototype+r.at("function.constantcount"), 1<<31) },
			"a last line without end":         func(r *runtime, m jitFake) { m.Put32(atPrototype+r.at("function.linecount"), 1<<31) },
			"lines that start again":          func(r *runtime, m jitFake) { m.Put32(atPrototype+r.at("function.linecount"), 1<<32-5) },
			"a source that is no string":      func(r *runtime, m jitFake) { m.Put(atSource+r.at("object.type"), jitTypes[tagTable]) },
			"a source that does not end":      func(r *runtime, m jitFake) { m.Put(atSource+r.at("string.text")+9, 'x') },
			"a return to no code":             func(_ *runtime, m jitFake) { m.frame(m.inner(), atNative, 0x600000) },
			"a link that leads to itself":     func(_ *runtime, m jitFake) { m.frame(m.inner(), atNative, linkNative) },
			"a link to before memory":         func(_ *runtime, m jitFake) { m.frame(m.inner(), atNative, 1<<20|linkNative) },
			"arguments of another function":   func(_ *runtime, m jitFake) { m.frame(m.inner(), atNative, 8*(m.w+1)|linkVararg) },
			"arguments below all calls":       func(_ *runtime, m jitFake) { m.frame(m.outer(), atClosure, 8*m.w|linkVararg) },
			"a call of what is none, forever": func(_ *runtime, m jitFake) { m.frame(m.inner(), atState, linkNative) },
		} {
			r, m := smallJIT(column)
			harm(r, m)
			got, err := told(r)
			if err == nil || strings.HasSuffix(what, "beyond the stack") && !strings.Contains(err.Error(), "not on the stack") || linkPattern.MatchString(what) && err != errLink {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"a return between instructions": func(r *runtime, m jitFake) {
				m.set(atClosure, "closure.function", atPrototype+size)
				m.frame(m.inner(), atNative, atPrototype+size+13)
			},
			"a line beyond the function": func(_ *runtime, m jitFake) { m.Put(atPrototype+size+17, 200) },
			"no lines":                   func(_ *runtime, m jitFake) { m.set(atPrototype, "function.lines", 0) },
		} {
			r, m := smallJIT(column)
			harm(r, m)
			if got, err := told(r); err == nil && (len(got) != 2 || !strings.Contains(got[1], "shop.lua:10~")) {
				t.Errorf("%s: %q", what, got)
			}
		}
	})
}

// TestJITKinds: continuations, variable arguments and what is no function are passed.
func TestJITKinds(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		m.Put(atPrototype+r.at("function.flags"), jitVararg)
		// The variables of the outer function are two slots and a link above its arguments, which are its parameter and two more.
		old, at := m.outer(), m.outer()+8*(3+m.w)
		m.Words[old+16], m.Words[old+24] = 0x4014000000000000, m.object(atTable, tagTable)
		m.frame(at, atClosure, 8*(3+m.w)|linkVararg)
		m.Words[at+8] = 0x401c000000000000
		// It compares, which calls a metamethod: a continuation has the place.
		above := at + 8*(2+2*m.w)
		m.frame(above, atNative, (above-at)|linkContinue)
		back := atPrototype + r.at("function.size") + 12
		if m.w == 1 {
			m.Words[above-8] = back << 32
		} else {
			m.Words[above-16], m.Words[above-24] = back, 0x400500
		}
		m.set(atState, "state.call", above+8)
		m.set(atState, "state.top", above+16)
		want := []string{"work", "function <shop.lua:10> shop.lua:12 amount=7 ...1=5 ...2={5, {...}}"}
		if got, err := told(r); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
		// A call of what is no function is left out.
		r, m = smallJIT(column)
		top := m.inner() + 8*(m.w+1)
		m.frame(top, atState, (top-m.inner())|linkNative)
		m.set(atState, "state.call", top+8)
		m.set(atState, "state.top", top+16)
		if got, err := told(r); err != nil || len(got) != 2 {
			t.Errorf("%q, %v", got, err)
		}
		// What C calls has its place in the frame of the virtual machine; frames of no call are passed.
		r, m = smallJIT(column)
		m.frame(m.inner(), atNative, (m.inner()-m.outer())|linkNative)
		m.set(atMachine, "frame.previous", atMachine+0x200)
		m.Zero(atMachine+0x200, 96)
		m.set(atMachine+0x200, "frame.previous", atMachine+0x300)
		m.Put32(atMachine+0x200+r.at("frame.results"), ^uint32(0x3000-1)) // it was made for what is above
		m.Zero(atMachine+0x300, 96)
		m.set(atMachine+0x300, "frame.pc", atPrototype+r.at("function.size")+12)
		if got, err := told(r); err != nil || len(got) != 2 || !strings.Contains(got[1], "shop.lua:12 ") {
			t.Errorf("%q, %v", got, err)
		}
		m.Put32(atMachine+0x300+r.at("frame.results"), 2)
		if got, _ := told(r); len(got) != 2 || !strings.Contains(got[1], "shop.lua:12 ") {
			t.Errorf("a frame that returns values: %q", got)
		}
		m.Put32(atMachine+0x300+r.at("frame.results"), ^uint32(0))
		if got, _ := told(r); len(got) != 2 || !strings.Contains(got[1], "shop.lua:12 ") {
			t.Errorf("a frame that was made for what is below: %q", got)
		}
		m.set(atMachine+0x200, "frame.previous", atMachine) // a circle
		n := nativeFrame{r, atStack, atMachine + 0x200}
		if n.previous(); n.at != 0 {
			t.Errorf("an older frame is at %#x", n.at)
		}
		if got, err := told(r); err != nil || len(got) != 2 || !strings.Contains(got[1], "shop.lua:10~") {
			t.Errorf("%q, %v", got, err)
		}
		if list := r.jitChain([]uint64{atMachine, atMachine + 0x300}); !slices.Equal(list, []uint64{atState}) {
			t.Errorf("%#x", list)
		}
		m.set(atMachine, "frame.state", atTable)
		if list := r.jitChain([]uint64{atMachine}); list != nil {
			t.Errorf("%#x", list)
		}
		m.set(atMachine, "frame.state", atState)
		m.set(atState, "state.frame", atMachine+0x100)
		if list := r.jitChain([]uint64{atMachine}); list != nil {
			t.Errorf("the thread does not lead to the frame: %#x", list)
		}
	})
}

// TestJITPlaces: the place of the youngest function is in the frame of the virtual machine; of functions of LuaJIT's own none is known.
func TestJITPlaces(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		m.set(atState, "state.call", m.outer()+8)
		m.set(atState, "state.top", m.outer()+24)
		m.set(atMachine, "frame.pc", atPrototype+r.at("function.size")+12)
		want := []string{"function <shop.lua:10> shop.lua:12~ amount=7"}
		if got, err := told(r); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
		f := r.functionOf(atClosure)
		if r.position(f, f.code) != 0 || r.jitLine(f, 0) != 10 || r.position(f, f.code+4) != 0 || r.position(f, f.code+16) != 3 || r.position(f, f.code+20) != -1 {
			t.Error("instructions are not where they are")
		}
		m.Put32(atPrototype+r.at("function.line"), jitBuiltin)
		if f := r.readJITFunction(atPrototype); f == nil || f.source != "[builtin:@shop.lua]" || f.first != 0 || r.jitLine(f, 2) != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// Endless is a stack of calls of C without end.
type endless struct {
	fake
	from, function uint64
}

func (m endless) ReadMem(at arch.Address, b []byte) (int, error) {
	if at < m.from {
		return m.fake.ReadMem(at, b)
	}
	for i := range b {
		v := uint64(16 | linkNative)
		if a := at + uint64(i); a&8 == 0 {
			v = m.function
		}
		b[i] = byte(v >> (8 * ((at + uint64(i)) & 7)))
	}
	return len(b), nil
}

func (m endless) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(at, b[:])
	return arch.AMD64.Word(b[:]), err
}

// TestJITDepth: there is an end to calls.
func TestJITDepth(t *testing.T) {
	fixture.Long(t)
	r, m := smallJIT(0)
	const stack = 1 << 24
	r.Memory = endless{m.fake, stack, m.object(atNative, tagFunction)}
	for field, v := range map[string]uint64{"state.stack": stack, "state.last": stack + 8*maxStack, "state.call": stack + 8*maxStack, "state.top": stack + 8*maxStack} {
		m.set(atState, field, v)
	}
	if list, err := r.jitCalls(atState, 0); err != errDeep || len(list) != maxDepth {
		t.Errorf("%d calls, %v", len(list), err)
	}
}

// TestJITDecides: the layout is the one that memory agrees with, and nothing else is one.
func TestJITDecides(t *testing.T) {
	for column := range jitTable.Get() {
		r, _ := smallJIT(column)
		want := r.layout
		r.layout, r.opcodes = nil, nil
		if !r.decide(atState) {
			t.Errorf("%s is not known", r.columns[column].name)
			continue
		}
		for field, v := range want {
			if o := r.layout[field]; o != v && !strings.HasPrefix(field, "trace.") && !strings.HasPrefix(field, "global.trace") && !strings.HasPrefix(field, "snapshot.") &&
				field != "opcodes" && field != "global.dispatch" && field != "global.segments" {
				t.Errorf("%s: %s is %d, not %d", r.columns[column].name, field, o, v)
			}
		}
	}
	bothJIT(t, func(t *testing.T, column int) {
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"a registry that is none":         func(r *runtime, m jitFake) { m.Words[atGlobal+r.at("global.registry")] = 0 },
			"a table that is none":            func(r *runtime, m jitFake) { m.Put(atTable+r.at("object.type"), 0) },
			"another name":                    func(_ *runtime, m jitFake) { m.text(atName+0x40, "__call") },
			"another instruction":             func(r *runtime, m jitFake) { m.Put32(atGlobal+r.at("global.cfunction"), m.op("MOV", 0, 0, 0)) },
			"a running thread that is none":   func(_ *runtime, m jitFake) { m.set(atGlobal, "global.current", atTable) },
			"a running thread of another":     func(r *runtime, m jitFake) { m.other(m, 0xa000); m.set(atGlobal, "global.current", 0xa000) },
			"a main thread of another":        func(r *runtime, m jitFake) { m.other(m, 0xa000); m.set(atGlobal, "global.main", 0xa000) },
			"no thread":                       func(r *runtime, m jitFake) { m.Put(atState+r.at("object.type"), 0) },
			"a state between words":           nil,
			"a budget that is used up before": func(r *runtime, _ jitFake) { r.p.Budget = budget.Of(1) },
		} {
			r, m := smallJIT(column)
			at := uint64(atState)
			if harm == nil {
				at += 4
				m.Put(at+r.at("object.type"), jitTypes[tagThread])
			} else {
				harm(r, m)
			}
			r.layout, r.opcodes = nil, nil
			if r.decide(at) || r.layout != nil {
				t.Errorf("%s: %s is taken", what, r.columnName)
			}
		}
	})
}

// other puts a thread of another global state.
func (m jitFake) other(_ jitFake, at uint64) {
	m.Zero(at, 0x100)
	m.Put(at+m.r.at("object.type"), jitTypes[tagThread])
	m.set(at, "state.global", 0xb000)
}

// TestJITTables: tables are bounded, and a circle ends.
func TestJITTables(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"an array without end": func(r *runtime, m jitFake) {
				m.Put32(atTable+r.at("table.arraysize"), 1<<25)
				r.Memory = remotetest.Full{Words: m.Words}
			},
			"nodes without end": func(r *runtime, m jitFake) {
				m.Put32(atTable+r.at("table.mask"), 1<<25-1)
				r.Memory = remotetest.Full{Words: m.Words}
			},
			"nodes not there":     func(_ *runtime, m jitFake) { m.set(atTable, "table.nodes", 0xc000) },
			"an array not there":  func(_ *runtime, m jitFake) { m.set(atTable, "table.array", 0xc000) },
			"an array between":    func(_ *runtime, m jitFake) { m.set(atTable, "table.array", atArray+4) },
			"no element's type":   func(_ *runtime, m jitFake) { m.Words[atArray+8] = m.object(atTrace, tagPrototype51) },
			"a budget for less":   func(r *runtime, m jitFake) { m.Put32(atTable+r.at("table.mask"), 1<<20); r.p.Budget = budget.Of(20) },
			"a table that is not": func(r *runtime, m jitFake) { m.Put(atTable+r.at("object.type"), 1) },
		} {
			r, m := smallJIT(column)
			harm(r, m)
			if r.each(atTable, func(entry) bool { return true }) {
				t.Errorf("%s is not seen", what)
			}
		}
		r, m := smallJIT(column)
		if got := r.show(value{atTable, kindTable}, tasks.Limits{}); got != "{5, {...}}" {
			t.Errorf("%s", got)
		}
		m.Words[atNodes], m.Words[atNodes+8] = m.object(atName, tagString), 0x4024000000000000
		if got := r.show(value{atTable, kindTable}, tasks.Limits{}); got != `{5, {...}, [10]="work"}` {
			t.Errorf("%s", got)
		}
	})
}

// TestJITValues: a value is a number, or what its type says.
func TestJITValues(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		tag := func(n uint64) uint64 {
			if m.w == 1 {
				return ^n << 32
			}
			return ^n << addressBits
		}
		for bits, want := range map[uint64]string{
			^uint64(0): "nil", tag(1) | 1<<40: "false", tag(2) | 1<<40: "true", 0: "0", 0x3fb999999999999a: "0.1", 0xfff0000000000000: "-inf", 0xfff8000000000000: "nan",
			0x7ff0000000000000: "inf", 0xc008000000000000: "-3", m.object(atName, tagString): `"work"`, m.object(atNative, tagFunction): "function 0x5400",
			m.object(atClosure, tagFunction): "function <shop.lua:10>", m.object(atState, tagThread): "thread 0x2000", m.object(atTrace, tagData): "userdata 0x9200",
		} {
			if got := r.show(r.packed(bits), tasks.Limits{}); got != want && want != "false" && want != "true" {
				t.Errorf("%#x: %s, want %s", bits, got, want)
			}
		}
		// Pointers of the program: the upper bits are in a list.
		m.set(atGlobal, "global.segments", 0xd000)
		m.Put32(0xd004, 0x7fff)
		if got := r.light(1<<lightLow | 0x1234); got != 0x7fff_0000_1234 {
			t.Errorf("%#x", got)
		}
		if got := r.light(lightNone << lightLow); got != 0 {
			t.Errorf("%#x", got)
		}
	})
}

// traced makes the youngest call of the small process one that compiled code runs, which has called the same function once more.
func traced(column int) (*runtime, jitFake) {
	r, m := smallJIT(column)
	m.Put32(atGlobal+r.at("global.running"), 1)
	m.Put32(atGlobal+r.at("global.tracecount"), 2)
	m.set(atGlobal, "global.compiled", m.outer()+8)
	m.Words[atGlobal+r.at("global.traces")] = atTraces
	m.Zero(atTraces, 16)
	if m.w == 1 {
		m.Put32(atTraces+4, atTrace)
	} else {
		m.Words[atTraces+8] = atTrace
	}
	m.Zero(atTrace, 128)
	m.Put(atTrace+r.at("object.type"), jitTrace)
	m.Put(atTrace+r.at("trace.number"), 1)
	code := atPrototype + r.at("function.size")
	m.set(atTrace, "trace.function", atPrototype)
	m.set(atTrace, "trace.start", code+4)
	m.set(atTrace, "trace.code", atMachineCode)
	m.Put32(atTrace+r.at("trace.size"), 0x100)
	m.set(atTrace, "trace.snapshots", atSnapshots)
	m.Put(atTrace+r.at("trace.snapshotcount"), 2)
	m.set(atTrace, "trace.map", atMap)
	m.Put32(atTrace+r.at("trace.mapcount"), 12)
	m.set(atTrace, "trace.instructions", atIR)
	m.prototype(atInlined, atInlined+0x80, 30)
	size := r.at("snapshot.size")
	m.Zero(atSnapshots, 3*size)
	m.Put(atSnapshots+size+r.at("snapshot.code"), 0x20)
	m.Zero(atMap, 64)
	m.Zero(atIR, 256)
	inlined := atInlined + 0x80 + r.at("function.size") + 8 // where the inlined function is
	if m.w == 1 {
		m.Put(atSnapshots+size+r.at("snapshot.count"), 1)
		m.Put32(atMap, 2<<24|snapFrame|2)
		m.Put32(atMap+4, uint32(inlined))
		m.Put32(atMap+8, uint32(code+12))
		m.Put32(atIR+16, atInlined)
	} else {
		m.Put(atSnapshots+size+r.at("snapshot.count"), 2)
		m.Put32(atMap, 3<<24|2)
		m.Put32(atMap+4, 4<<24|snapFrame|4)
		m.Words[atMap+8] = inlined<<8 | 3
		m.Words[atIR+24] = atInlined
		m.Words[atIR+40] = code + 12
	}
	return r, m
}

// TestJITTraces: a snapshot that is damaged is not used; what compiled code has not written is not a value.
func TestJITTraces(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		say := func(r *runtime, native uint64) string {
			list, err := r.jitCalls(atState, native)
			text := ""
			for i := range list {
				c := &list[i]
				args, _ := r.variables(c, nil, true, tasks.Limits{})
				text += fmt.Sprintf("%s:%d trace %d", r.functionName(c, callerOf(list, i)), r.lineAt(c.f, c.pc), c.trace)
				for _, a := range args {
					text += " " + a.Name + "=" + a.Value
				}
				text += "; "
			}
			if err != nil {
				text += err.Error()
			}
			return text
		}
		const alone = "function <shop.lua:10>:11 trace 1 amount=; "
		const both = "work:32 trace 1 amount=; function <shop.lua:10>:12 trace 1 amount=; "
		r, m := traced(column)
		if got := say(r, atMachineCode+0x30); got != both {
			t.Fatal(got)
		}
		if got := say(r, 0); got != alone {
			t.Error(got)
		}
		if r.traceAt(atGlobal, atMachineCode+0xff) != atTrace || r.traceAt(atGlobal, atMachineCode+0x100) != 0 || r.traceAt(atGlobal, atMachineCode-1) != 0 || !r.compiles(atGlobal) {
			t.Error("code is not where it is")
		}
		// The instruction that compiled code replaced is kept there.
		if got := r.position(r.functionOf(atClosure), atTrace+r.at("trace.instruction")+4); got != 1 {
			t.Errorf("%d", got)
		}
		first := r.functionOf(atClosure)
		m.set(atTrace, "trace.start", 0x600000)
		if got := r.position(first, atTrace+r.at("trace.instruction")+4); got != -1 {
			t.Errorf("%d", got)
		}
		size := r.at("snapshot.size")
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"code before all snapshots":  func(r *runtime, m jitFake) { m.Put(atSnapshots+r.at("snapshot.code"), 0x40) },
			"snapshots that are missing": func(_ *runtime, m jitFake) { m.set(atTrace, "trace.snapshots", 0xc000) },
			"entries beyond the map": func(_ *runtime, m jitFake) {
				m.Put32(atSnapshots+size, 13)
				m.set(atTrace, "trace.map", atMap-4*13)
			},
			"a map that ends":           func(r *runtime, m jitFake) { m.Put32(atTrace+r.at("trace.mapcount"), 2) },
			"a map that ends before":    func(r *runtime, m jitFake) { m.Put32(atTrace+r.at("trace.mapcount"), 1) },
			"entries up to the end":     func(_ *runtime, m jitFake) { m.Put32(atSnapshots+size, 11) },
			"more entries than the map": func(r *runtime, m jitFake) { m.Put(atSnapshots+size+r.at("snapshot.count"), 200) },
			"a map that is missing":     func(_ *runtime, m jitFake) { m.set(atTrace, "trace.map", 0xc000) },
			"a function of each time": func(_ *runtime, m jitFake) {
				m.Put(atMap+1, 0x80) // not a constant
			},
			"no place": func(_ *runtime, m jitFake) {
				m.Words[atMap+8] = 0
				m.Put32(atMap+4, 0)
				m.Put(atSnapshots+size+r.at("snapshot.count"), 0)
				m.Words[atMap] = 0
			},
		} {
			r, m := traced(column)
			harm(r, m)
			if got := say(r, atMachineCode+0x30); got != alone {
				t.Errorf("%s: %s", what, got)
			}
		}
		plain := "work:0 trace 0; function <shop.lua:10>:12 trace 0 amount=7; "
		for what, harm := range map[string]func(r *runtime, m jitFake){
			"another thread runs":   func(_ *runtime, m jitFake) { m.set(atGlobal, "global.current", 0) },
			"it interprets":         func(r *runtime, m jitFake) { m.Put32(atGlobal+r.at("global.running"), 0xffffffff) },
			"no code has a base":    func(_ *runtime, m jitFake) { m.set(atGlobal, "global.compiled", 0) },
			"a trace that is none":  func(r *runtime, m jitFake) { m.Put(atTrace+r.at("object.type"), 1) },
			"a trace of another":    func(r *runtime, m jitFake) { m.Put(atTrace+r.at("trace.number"), 7) },
			"a trace of no number":  func(r *runtime, m jitFake) { m.Put32(atGlobal+r.at("global.tracecount"), 1) },
			"a number without end":  func(r *runtime, m jitFake) { m.Put32(atGlobal+r.at("global.running"), maxTraces+1) },
			"traces without a list": func(r *runtime, m jitFake) { m.Words[atGlobal+r.at("global.traces")] = 0xc000 },
		} {
			r, m := traced(column)
			harm(r, m)
			want := error(errNoTrace)
			if what == "another thread runs" || what == "no code has a base" || what == "it interprets" {
				want = nil
			}
			if list, err := r.jitCalls(atState, 0); err != want || len(list) != 2 || list[0].trace != 0 || list[1].trace != 0 {
				t.Errorf("%s: %s, not %s", what, say(r, 0), plain)
			}
		}
	})
}

// TestJITMachineFrame: the frame in which compiled code runs is one that has a thread that has it.
func TestJITMachineFrame(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		for what, c := range map[string]struct {
			harm func(r *runtime, m jitFake)
			want uint64
		}{
			"as it is":             {func(*runtime, jitFake) {}, atMachine},
			"no compiled code":     {func(_ *runtime, m jitFake) { m.set(atGlobal, "global.compiled", 0) }, 0},
			"another frame":        {func(_ *runtime, m jitFake) { m.set(atState, "state.frame", atMachine+0x40) }, 0},
			"no thread":            {func(r *runtime, m jitFake) { m.Put(atState+r.at("object.type"), 1) }, 0},
			"a layout not decided": {func(r *runtime, _ jitFake) { r.layout, r.opcodes = nil, nil }, atMachine},
		} {
			r, m := traced(column)
			m.Zero(atMachine-64, 64)
			m.Zero(atMachine, maxOwn*8)
			m.set(atMachine, "frame.state", atState)
			c.harm(r, m)
			for i := uint64(0); i < maxOwn*8; i += 8 { // what the traces need
				if _, ok := m.Words[atMachine+i]; !ok {
					m.Words[atMachine+i] = 0
				}
			}
			if got := r.machineFrame(atMachine-64, false); got != c.want {
				t.Errorf("%s: %#x", what, got)
			}
		}
	})
}

// TestJITNames: names of variables that do not end, or are too many, are none.
func TestJITNames(t *testing.T) {
	bothJIT(t, func(t *testing.T, column int) {
		r, m := smallJIT(column)
		at := atPrototype + r.at("function.size") + 24
		m.Put(at, append([]byte{1, 0, 2, 4, 0, 3}, "late\x00\x81\x01\x05\x00"...)...)
		var got []string
		for _, v := range r.variableNames(r.functionOf(atClosure)) {
			got = append(got, fmt.Sprintf("%s %d %d", v.name, v.from, v.to))
		}
		if want := []string{"(for index) 0 2", "(for generator) 0 3", "late 129 134"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for what, harm := range map[string]func(f *function){
			"behind the object": func(f *function) { f.variables = f.end },
			"before the code":   func(f *function) { f.variables = f.code - 8 },
			"far behind":        func(f *function) { f.variables = f.end + 8 },
		} {
			f := *r.readJITFunction(atPrototype)
			harm(&f)
			if names := r.jitVariableNames(&f); len(names) != 0 {
				t.Errorf("%s: %v", what, names)
			}
		}
		f := r.readJITFunction(atPrototype)
		if r.upvalue(f, 0) != "up" || r.upvalue(f, 1) != "?" || r.upvalue(f, -1) != "?" || r.jitConstant(f, 0) != "work" || r.jitConstant(f, 1) != "?" || r.jitConstant(f, -1) != "?" {
			t.Error("names are not those that are there")
		}
		f.upvalueCount = 200
		if got := r.upvalue(f, 199); got != "?" {
			t.Errorf("%q", got)
		}
		f.upvalues = f.end
		if got := r.upvalue(f, 0); got != "?" {
			t.Errorf("%q", got)
		}
		// Moves that lead to one another end.
		r, m = smallJIT(column)
		code := atPrototype + r.at("function.size")
		m.Zero(code, 4*200)
		for i := uint64(1); i < 150; i++ {
			m.Put32(code+4*i, m.op("MOV", 1, 1, 0))
		}
		f = r.readJITFunction(atPrototype)
		f.codes, f.variables = 150, 0
		if kind, name := r.jitNameOf(f, 149, 1); kind != "" {
			t.Errorf("%s %s", kind, name)
		}
		if kind, _ := r.jitNameOf(f, maxSearched+1, 1); kind != "" {
			t.Error("a function without end is searched")
		}
	})
}

// TestJITCosts: calls, traces and snapshots without end are charged.
func TestJITCosts(t *testing.T) {
	for what, ask := range map[string]func(r *runtime, m jitFake){
		"traces": func(r *runtime, m jitFake) {
			m.Put32(atGlobal+r.at("global.tracecount"), 60000)
			r.traceAt(atGlobal, 1)
		},
		"snapshots": func(r *runtime, m jitFake) {
			m.Put(atTrace+r.at("trace.snapshotcount"), 0xff, 0xff)
			m.set(atTrace, "trace.snapshots", 0xe00000)
			r.Memory = remotetest.Full{Words: m.Words}
			r.jitCalls(atState, atMachineCode+0x30)
		},
	} {
		r, m := traced(0)
		b := budget.Of(500)
		r.p.Budget = b
		if ask(r, m); b.Err() == nil {
			t.Errorf("%s without end cost less than 500 units", what)
		}
	}
	r, m := smallJIT(0)
	const stack = 0x100000
	m.Zero(stack, 0x8000)
	at := uint64(stack + 24)
	m.frame(at, atNative, 16|linkNative)
	for range 900 {
		m.frame(at+24, atNative, 24|linkNative)
		at += 24
	}
	for field, v := range map[string]uint64{"state.stack": stack, "state.last": stack + 0x8000, "state.call": at + 8, "state.top": at + 16} {
		m.set(atState, field, v)
	}
	if list, err := r.jitCalls(atState, 0); err != nil || len(list) != 901 {
		t.Errorf("%d calls, %v", len(list), err)
	}
	r.p.Budget = budget.Of(1000)
	if list, err := r.jitCalls(atState, 0); err != errLimit || len(list) > 1000/8 {
		t.Errorf("%d calls, %v", len(list), err)
	}
}
