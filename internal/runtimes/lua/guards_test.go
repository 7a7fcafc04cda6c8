package lua

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A fake is the memory of a process.
type fake struct{ remotetest.Words }

// string puts a short string of 5.4.
func (m fake) string(at uint64, s string) {
	m.Zero(at, 40+uint64(len(s)))
	m.Put(at+8, tagString)
	m.Put(at+11, byte(len(s)))
	m.Put(at+24, []byte(s)...)
}

// Where a small process of 5.4.4 has what.
const (
	atGlobal, atState, atStack              = 0x1000, 0x2000, 0x3000
	atInner, atOuter                        = 0x4000, 0x4100 // records of calls
	atClosure, atPrototype, atCode, atLines = 0x5000, 0x5100, 0x6000, 0x6100
	atAbs, atSource, atName, atVariables    = 0x6200, 0x7000, 0x7100, 0x7200
	atTable, atArray, atNodes               = 0x8000, 0x8100, 0x8200
	native                                  = 0x400100
)

// small is a process in which a function of C was called by one of Lua.
func small() (*runtime, fake) {
	m := fake{remotetest.Words{}}
	r := &runtime{memory: memory{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, p: &tasks.Process{}}, states: map[uint64]bool{}}
	r.use(version{4, 4})
	m.Zero(atGlobal, 0x400)
	m.Words[atGlobal+r.at("global.main")] = atState
	m.Zero(atState, 0x100)
	m.Put(atState+8, tagThread)
	for name, v := range map[string]uint64{"state.global": atGlobal, "state.stack": atStack, "state.top": atStack + 96, "state.last": atStack + 160, "state.call": atInner} {
		m.Words[atState+r.at(name)] = v
	}
	m.Zero(atStack, 192)
	m.Words[atStack+16], m.Words[atStack+24] = atClosure, collectable|tagFunction
	m.Words[atStack+32], m.Words[atStack+40] = 7, tagNumber
	m.Words[atStack+48], m.Words[atStack+56] = native, 1<<4|tagFunction
	m.Words[atStack+64], m.Words[atStack+72] = atTable, collectable|tagTable
	for at, to := range map[uint64][3]uint64{atInner: {atStack + 48, atOuter, 2}, atOuter: {atStack + 16, atState + r.at("state.base"), 0}} {
		m.Zero(at, 64)
		m.Words[at], m.Words[at+r.at("call.previous")] = to[0], to[1]
		m.Put(at+r.at("call.status"), byte(to[2]))
	}
	m.Words[atOuter+r.at("call.savedpc")] = atCode + 8
	m.Zero(atClosure, 64)
	m.Put(atClosure+8, tagFunction)
	m.Words[atClosure+r.at("closure.function")] = atPrototype
	m.Zero(atPrototype, 128)
	m.Put(atPrototype+8, 10)
	m.Words[atPrototype+r.at("function.code")], m.Words[atPrototype+r.at("function.lines")] = atCode, atLines
	m.Words[atPrototype+r.at("function.source")] = atSource
	m.Put32(atPrototype+r.at("function.codecount"), 4)
	m.Put32(atPrototype+r.at("function.linecount"), 4)
	m.Put32(atPrototype+r.at("function.line"), 10)
	m.Put32(atPrototype+r.at("function.lastline"), 19)
	m.Put(atPrototype+r.at("function.parameters"), 1)
	m.Words[atPrototype+r.at("function.variables")] = atVariables
	m.Put32(atPrototype+r.at("function.variablecount"), 1)
	m.Zero(atVariables, 16)
	m.Words[atVariables] = atName
	m.Put32(atVariables+12, 4)
	m.Zero(atCode, 16)
	m.Zero(atLines, 8)
	m.Put(atLines, 1, 1, 1, 1)
	m.string(atSource, "@shop.lua")
	m.string(atName, "amount")
	m.Zero(atTable, 64)
	m.Put(atTable+8, tagTable)
	m.Put32(atTable+r.at("table.arraysize"), 2)
	m.Words[atTable+r.at("table.array")], m.Words[atTable+r.at("table.nodes")] = atArray, atNodes
	m.Zero(atArray, 32)
	m.Words[atArray], m.Words[atArray+8], m.Words[atArray+16], m.Words[atArray+24] = 5, tagNumber, atTable, collectable|tagTable
	m.Zero(atNodes, 24)
	return r, m
}

// told is all that is said of the small process.
func told(r *runtime) (list []string, err error) {
	if r.global(atState) != atGlobal {
		return nil, errors.New("no state")
	}
	calls, err := r.calls(atState)
	for i := range calls {
		c := &calls[i]
		text := r.functionName(c, callerOf(calls, i))
		if c.f != nil {
			line, approximate := r.line(c)
			text += " " + c.f.source + ":" + string(rune('0'+line/10)) + string(rune('0'+line%10))
			if approximate {
				text += "~"
			}
			args, _ := r.variables(c, nil, true, tasks.Limits{})
			for _, a := range args {
				text += " " + a.Name + "=" + a.Value
			}
		}
		list = append(list, text)
	}
	return list, err
}

// other makes a thread of the same global state.
func (m fake) other(r *runtime, at uint64, tag byte) {
	m.Words[at+r.at("state.global")] = atGlobal
	m.Put(at+8, tag)
	m.Words[atGlobal+r.at("global.main")] = at
}

// TestStates: what is no state of Lua is not taken for one.
func TestStates(t *testing.T) {
	for what, harm := range map[string]func(r *runtime, m fake){
		"no thread":                      func(r *runtime, m fake) { m.other(r, 0x9000, tagThread); m.Put(atState+8, tagTable) },
		"a main thread that is none":     func(r *runtime, m fake) { m.other(r, 0x9000, tagTable) },
		"a main thread of another state": func(r *runtime, m fake) { m.other(r, 0x9000, tagThread); m.Words[0x9000+r.at("state.global")] = 0x9100 },
		"a global state between words":   func(r *runtime, m fake) { m.Words[atState+r.at("state.global")] = atGlobal + 4 },
		"no stack":                       func(r *runtime, m fake) { m.Words[atState+r.at("state.stack")] = 0 },
		"a top below the stack":          func(r *runtime, m fake) { m.Words[atState+r.at("state.top")] = atStack - 16 },
		"a top between slots":            func(r *runtime, m fake) { m.Words[atState+r.at("state.top")] = atStack + 24 },
		"a stack that ends before":       func(r *runtime, m fake) { m.Words[atState+r.at("state.last")] = atStack - 16 },
		"a stack of a terabyte":          func(r *runtime, m fake) { m.Words[atState+r.at("state.last")] = atStack + 1<<40 },
		"no call":                        func(r *runtime, m fake) { m.Words[atState+r.at("state.call")] = 0 },
	} {
		r, m := small()
		r.Memory = remotetest.Full{Words: m.Words}
		if r.global(atState) != atGlobal {
			t.Fatal("the state is not found")
		}
		harm(r, m)
		if r.global(atState) != 0 {
			t.Error(what)
		}
	}
}

// TestGuards: each thing that is wrong is seen.
func TestGuards(t *testing.T) {
	r, _ := small()
	want := []string{"?", "function <shop.lua:10> shop.lua:12 amount=7"}
	if got, err := told(r); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%q, %v", got, err)
	}
	moved := func(m fake, from, to, n uint64) {
		b := make([]byte, n)
		m.ReadMem(from, b)
		m.Zero(to&^7, n+8)
		m.Put(to, b...)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"a call that is not there": func(r *runtime, m fake) { m.Words[atState+r.at("state.call")] = 0x9000 },
		"a call between words": func(r *runtime, m fake) {
			moved(m, atOuter, 0x4204, 64)
			m.Words[atInner+r.at("call.previous")] = 0x4204
		},
		"a list that ends": func(r *runtime, m fake) { m.Words[atOuter+r.at("call.previous")] = 0 },
		"a function below the stack": func(_ *runtime, m fake) {
			m.Words[atInner] = atStack - 16
			m.Words[atStack-16], m.Words[atStack-8] = native, 1<<4|tagFunction
		},
		"a function beyond the stack": func(_ *runtime, m fake) {
			m.Words[atInner] = atStack + 176
			m.Words[atStack+176], m.Words[atStack+184] = native, 1<<4|tagFunction
		},
		"a function between slots": func(_ *runtime, m fake) {
			m.Words[atInner] = atStack + 72
			m.Words[atStack+72], m.Words[atStack+80] = native, 1<<4|tagFunction
		},
		"a number as a function":         func(_ *runtime, m fake) { m.Words[atInner] = atStack + 32 },
		"a value of no type":             func(_ *runtime, m fake) { m.Words[atStack+56] = 15 },
		"a closure that is none":         func(_ *runtime, m fake) { m.Put(atClosure+8, tagTable) },
		"a prototype that is none":       func(_ *runtime, m fake) { m.Put(atPrototype+8, tagFunction) },
		"no instructions":                func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.codecount"), 0) },
		"instructions without end":       func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.codecount"), 1<<31) },
		"instructions between":           func(r *runtime, m fake) { m.Words[atPrototype+r.at("function.code")] = atCode + 2 },
		"lines without end":              func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.linecount"), 1<<31) },
		"places of lines without end":    func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.abslinecount"), 1<<31) },
		"a last line without end":        func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.lastline"), 1<<31) },
		"a function that ends before":    func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.lastline"), 3) },
		"a source that does not end":     func(_ *runtime, m fake) { m.Put(atSource+24+9, 'x') },
		"a source that is no string":     func(_ *runtime, m fake) { m.Put(atSource+8, tagTable) },
		"a circle":                       func(r *runtime, m fake) { m.Words[atOuter+r.at("call.previous")] = atInner },
		"a circle of another call alone": func(r *runtime, m fake) { m.Words[atOuter+r.at("call.previous")] = atOuter },
	} {
		r, m := small()
		harm(r, m)
		got, err := told(r)
		if err == nil || strings.Contains(what, "circle") && err != errCycle {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	// Where the place is not known, it is that of the function.
	for what, harm := range map[string]func(r *runtime, m fake){
		"a pc behind the function": func(r *runtime, m fake) {
			m.Put32(atPrototype+r.at("function.linecount"), 200)
			m.Zero(atLines, 400)
			m.Words[atOuter+r.at("call.savedpc")] = atCode + 400
		},
		"a pc between instructions":          func(r *runtime, m fake) { m.Words[atOuter+r.at("call.savedpc")] = atCode + 7 },
		"a difference of lines that is none": func(_ *runtime, m fake) { m.Put(atLines, 0x7f, 0x80) },
		"an instruction without a line":      func(r *runtime, m fake) { m.Put32(atPrototype+r.at("function.linecount"), 1) },
	} {
		r, m := small()
		harm(r, m)
		if got, _ := told(r); len(got) != 2 || !strings.Contains(got[1], "shop.lua:10~") {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestTexts: a string that cannot be so long is none.
func TestTexts(t *testing.T) {
	r, m := small()
	m.Put(atSource+8, 1<<4|tagString)
	m.Words[atSource+16] = 9
	if s, n, ok := r.text(atSource, 4); s != "@sho" || n != 9 || !ok {
		t.Errorf("%q, %d, %t", s, n, ok)
	}
	begin := uint64(atSource + 24)
	m.Words[atSource+16] = atGlobal - begin // beyond the end of memory, to a zero byte
	if s, n, ok := r.text(atSource, 4); ok {
		t.Errorf("%q, %d", s, n)
	}
}

// TestTables: tables are bounded, and a circle ends.
func TestTables(t *testing.T) {
	table := value{atTable, kindTable}
	r, _ := small()
	if got := r.show(table, tasks.Limits{}); got != "{5, {...}}" {
		t.Errorf("%s", got)
	}
	if d, ok := r.ValueAt(atTable, tasks.Limits{}); !ok || len(d.Children) != 2 || !d.Children[1].Data.Truncated {
		t.Errorf("%+v", d)
	}
	if got := r.show(table, tasks.Limits{Elements: 1}); got != "{5, ...}" {
		t.Errorf("%s", got)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"an array without end": func(r *runtime, m fake) {
			m.Put32(atTable+r.at("table.arraysize"), 1<<25)
			r.Memory = remotetest.Full{Words: m.Words}
		},
		"nodes without end": func(r *runtime, m fake) {
			m.Put(atTable+r.at("table.sizelog"), 25)
			r.Memory = remotetest.Full{Words: m.Words}
		},
		"nodes not there":       func(r *runtime, m fake) { m.Words[atTable+r.at("table.nodes")] = 0x9000 },
		"nodes between words":   func(r *runtime, m fake) { m.Zero(atNodes, 40); m.Words[atTable+r.at("table.nodes")] = atNodes + 4 },
		"an array not there":    func(r *runtime, m fake) { m.Words[atTable+r.at("table.array")] = 0x9000 },
		"an element of no type": func(_ *runtime, m fake) { m.Words[atArray+8] = 15 },
	} {
		r, m := small()
		harm(r, m)
		if r.each(atTable, func(entry) bool { return true }) {
			t.Errorf("%s: %s", what, r.show(table, tasks.Limits{}))
		}
	}
}

// TestCosts: what is read is charged, and ends with the budget.
func TestCosts(t *testing.T) {
	r, m := small()
	m.Put32(atTable+r.at("table.arraysize"), 1<<20)
	for i := uint64(0); i < 1<<14; i += 8 {
		m.Words[0x100000+i] = 0
	}
	m.Words[atTable+r.at("table.array")] = 0x100000
	b := budget.Of(100)
	r.p.Budget = b
	seen := 0
	if r.each(atTable, func(entry) bool { seen++; return true }) || b.Err() == nil {
		t.Errorf("a table of a million elements cost less than 100 units")
	}
	r, m = small() // of one whose array is empty, and that has many nodes
	m.Put32(atTable+r.at("table.arraysize"), 0)
	m.Put(atTable+r.at("table.sizelog"), 20)
	r.Memory = remotetest.Full{Words: m.Words}
	b = budget.Of(100)
	r.p.Budget = b
	if r.each(atTable, func(entry) bool { return true }) || b.Err() == nil {
		t.Errorf("a table of a million nodes cost less than 100 units")
	}
	r, m = small() // and calls that do not end
	for i := range uint64(5000) {
		at := 0x200000 + 0x100*i
		m.Zero(at, 64)
		m.Words[at], m.Words[at+r.at("call.previous")] = atStack+48, at+0x100
	}
	m.Words[atState+r.at("state.call")] = 0x200000
	r.p.Budget = budget.Of(1000)
	if list, err := r.calls(atState); err != errLimit || len(list) > 1000/8 {
		t.Errorf("%d calls, %v", len(list), err)
	}
}

// TestVersions: a version that is not in the table is refused, and a column is that of its release.
func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"$LuaVersion: Lua 5.4.4  Copyright (C)": "5.4.4 true", "$Lua: Lua 5.1.5 Copyright (C)": "5.1.5 true", "Lua 5.5.0 ": "5.5.0 false",
		"Lua 5.2.0 ": "5.2.0 false", "Lua 5.3.2 ": "5.3.2 false", "Lua 5.4.10 ": "5.4.10 false", "Lua 5.1 ": "5.1.0 true", "": "5.0.0 false",
	} {
		v, _ := parseVersion(text)
		got := v.String() + " false"
		if v.supported() {
			got = v.String() + " true"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for v, base := range map[version]uint64{{1, 5}: 80, {2, 3}: 128, {3, 6}: 96, {4, 0}: 96, {4, 2}: 88, {4, 8}: 96} {
		if got := tableLayout(layoutsText, v).at("state.base"); got != base {
			t.Errorf("%s: %d, want %d", v, got, base)
		}
		if len(opcodesOf(opcodesText, v)) < 38 {
			t.Errorf("%s has no instructions", v)
		}
	}
	if tableLayout(layoutsText, version{4, 4}).flag("flag.finalizer") != 0 || tableLayout(layoutsText, version{4, 3}).flag("flag.finalizer") == 0 {
		t.Error("since 5.4.4 the caller of a finalizer is marked")
	}
}

// TestChunks: code is named as Lua names it.
func TestChunks(t *testing.T) {
	for source, want := range map[string]string{
		"@a.lua": "a.lua", "=stdin": "stdin", "": `[string ""]`, "return 1": `[string "return 1"]`, "a\nb": `[string "a..."]`,
		strings.Repeat("x", 99): `[string "` + strings.Repeat("x", 45) + `..."]`,
	} {
		if got := chunk(source, false); got != want {
			t.Errorf("%q: %s, want %s", source, got, want)
		}
	}
}

// TestNumbers: numbers are written as Lua writes them.
func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{1: "1.0", 0.1: "0.1", 1e15: "1e+15", 1e14: "1e+14", 12345.678: "12345.678", -0.00001: "-1e-05", 1e100: "1e+100", 3.25: "3.25", 0: "0.0"} {
		if got := floatText(v, true); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := floatText(7, false); got != "7" {
		t.Error(got)
	}
}
