package lua

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/unwind/arch"
)

// repeated is a memory that is the same every 256 bytes from an address on, but for a word that leads on.
type repeated struct {
	fake
	from, word, next uint64
}

func (m repeated) ReadMem(at arch.Address, b []byte) (int, error) {
	if at < m.from {
		return m.fake.ReadMem(at, b)
	}
	for i := range b {
		a := at + uint64(i)
		v := m.word
		if a&0xf8 == m.next {
			v = a&^0xff + 0x100
		} else if a&0xf8 != 0 {
			v = 0
		}
		b[i] = byte(v >> (8 * (a & 7)))
	}
	return len(b), nil
}

func (m repeated) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(at, b[:])
	return arch.AMD64.Word(b[:]), err
}

// TestDepth: there is an end to calls.
func TestDepth(t *testing.T) {
	fixture.Long(t)
	r, m := small()
	r.Memory = repeated{m, 1 << 24, atStack + 48, r.at("call.previous")}
	m.Words[atState+r.at("state.call")] = 1 << 24
	if list, err := r.calls(atState); err != errDeep || len(list) != maxDepth {
		t.Errorf("%d calls, %v", len(list), err)
	}
}

// small51 is the small process of 5.1.5, in which the records of calls are an array.
func small51() (*runtime, fake) {
	r, m := small()
	_, fresh := small()
	for at := range fresh.Words {
		if at >= atInner && at < atInner+0x200 || at >= atState && at < atState+0x100 || at >= atGlobal && at < atGlobal+0x400 || at >= atClosure && at < atClosure+0x200 {
			m.Words[at] = 0
		}
	}
	r.use(version{1, 5})
	m.Words[atGlobal+r.at("global.main")] = atState
	m.Put(atState+8, tagThread)
	m.Put(atClosure+8, tagFunction)
	for name, v := range map[string]uint64{"state.global": atGlobal, "state.stack": atStack, "state.top": atStack + 96, "state.last": atStack + 160,
		"state.base": atInner, "state.call": atInner + 40, "state.savedpc": atCode + 8} {
		m.Words[atState+r.at(name)] = v
	}
	m.Words[atStack+24] = tagFunction
	m.Zero(atInner, 0x100)
	record := uint64(atInner + 40)
	m.Words[record], m.Words[record+8] = atStack+32, atStack+16
	m.Words[atClosure+r.at("closure.function")] = atPrototype
	m.Zero(atPrototype, 128)
	m.Put(atPrototype+8, 9)
	m.Words[atPrototype+r.at("function.code")], m.Words[atPrototype+r.at("function.lines")] = atCode, atLines
	m.Put32(atPrototype+r.at("function.codecount"), 4)
	m.Put32(atPrototype+r.at("function.linecount"), 4)
	m.Put32(atPrototype+r.at("function.line"), 10)
	m.Put32(atPrototype+r.at("function.lastline"), 19)
	m.Zero(atLines, 16)
	for i := range uint64(4) {
		m.Put32(atLines+4*i, uint32(11+i))
	}
	return r, m
}

// Test51: calls of 5.1 are an array; what leads below it, and variables that are not on the stack, are seen.
func Test51(t *testing.T) {
	r, _ := small51()
	if got, err := told(r); err != nil || len(got) != 1 || got[0] != `function <?:10> :12~` {
		t.Fatalf("%q, %v", got, err)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"calls below the first": func(r *runtime, m fake) {
			m.Words[atState+r.at("state.base")] = atInner + 60
			m.Zero(atInner-0x400, 0x400)
			for at := uint64(atInner + 40); at > atInner-0x300; at -= 40 {
				m.Words[at], m.Words[at+8] = atStack+32, atStack+16
			}
		},
		"variables below the function": func(_ *runtime, m fake) { m.Words[atInner+40] = atStack + 16 },
		"variables beyond the stack":   func(_ *runtime, m fake) { m.Words[atInner+40] = atStack + 176 },
		"variables between two":        func(_ *runtime, m fake) { m.Words[atInner+40] = atStack + 40 },
		"a function of C without code": func(r *runtime, m fake) {
			m.Put(atClosure+r.at("closure.isc"), 1)
			m.Words[atClosure+r.at("closure.native")] = 0
		},
		"a closure of C that is nothing": func(r *runtime, m fake) {
			m.Put(atClosure+r.at("closure.isc"), 1)
			m.Put(atClosure+8, tagTable)
			m.Words[atClosure+r.at("closure.native")] = native
		},
	} {
		r, m := small51()
		harm(r, m)
		got, err := told(r)
		if err == nil || what == "calls below the first" && (!strings.Contains(err.Error(), "leads to") || len(got) > 2) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// TestLines: a line is one that a function can have.
func TestLines(t *testing.T) {
	r, m := small()
	f := r.functionAt(atPrototype)
	for what, c := range map[string]struct {
		harm func(f *function)
		pc   int
		want int
	}{
		"as it is":             {func(*function) {}, 1, 12},
		"no lines":             {func(f *function) { f.lines = 0 }, 1, 0},
		"behind the lines":     {func(*function) {}, 4, 0},
		"lines not there":      {func(f *function) { f.lines = 0xf0000 }, 1, 0},
		"from a known place":   {func(f *function) { f.abs, f.absCount = atAbs, 1 }, 3, 52},
		"places not there":     {func(f *function) { f.abs, f.absCount = 0xf0000, 1 }, 3, 0},
		"a place behind it":    {func(f *function) { f.abs, f.absCount = atAbs, 1 }, 1, 12},
		"no line that can be":  {func(f *function) { f.first = 1 << 31 }, 1, 0},
		"a line that is below": {func(f *function) { f.first = 0; f.lines = atAbs + 0x40 }, 1, 0},
	} {
		m.Zero(atAbs, 0x48)
		m.Put32(atAbs, 2)
		m.Put32(atAbs+4, 51)
		m.Put(atAbs+0x40, 0xff, 0xff)
		g := &function{code: f.code, codes: f.codes, lines: f.lines, lineCount: f.lineCount, first: f.first}
		c.harm(g)
		if got := r.lineAt(g, c.pc); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
	r.use(version{3, 6})
	m.Put32(atLines, 1<<31)
	if got := r.lineAt(&function{lines: atLines, lineCount: 1}, 0); got != 0 {
		t.Errorf("%d", got)
	}
	r.use(version{4, 4})
	r.Memory = remotetest.Full{Words: m.Words}
	r.p.Budget = budget.Of(3)
	if got := r.lineAt(&function{lines: atLines, lineCount: 1 << 20, first: 1}, 1<<19); got != 0 {
		t.Errorf("the lines of a function without end cost less than 3 units: %d", got)
	}
}

// TestNames: variables and those of outer functions are within the bounds that a function says.
func TestNames(t *testing.T) {
	r, m := small()
	f := r.functionAt(atPrototype)
	f.upvalueCount, f.upvalues = 1, 0xa000
	m.Zero(0xa000, 64)
	m.Words[0xa000], m.Words[0xa010] = atName, atName
	if r.upvalue(f, 0) != "amount" || r.upvalue(f, 1) != "?" || r.upvalue(f, -1) != "?" {
		t.Errorf("%s %s %s", r.upvalue(f, 0), r.upvalue(f, 1), r.upvalue(f, -1))
	}
	if f.upvalues = 0; r.upvalue(f, 0) != "?" {
		t.Error(r.upvalue(f, 0))
	}
	// More names than a function can have, and those of which there is no memory.
	m.Words[atVariables+16] = 0
	g := &function{variables: atVariables, variableCount: 1 << 31}
	if n := len(r.readVariableNames(g)); n != 1 {
		t.Errorf("%d names", n)
	}
	r.Memory = remotetest.Full{Words: m.Words}
	if n := len(r.readVariableNames(g)); n != maxVariables {
		t.Errorf("%d names", n)
	}
	r.p.Budget = budget.Of(10)
	if n := len(r.readVariableNames(g)); n > 10 {
		t.Errorf("%d names cost less than 10 units", n)
	}
	if i, ok := r.instruction(f, -1); ok {
		t.Error(i)
	}
	if i, ok := r.instruction(f, int(f.codes)); ok {
		t.Error(i)
	}
}
