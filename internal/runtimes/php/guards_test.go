package php

import (
	"math"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A fake is the memory of a process.
type fake struct{ remotetest.Words }

// string puts a string of PHP.
func (m fake) string(at uint64, s string) {
	m.Zero(at, 32+uint64(len(s)))
	m.Words[at], m.Words[at+16] = typeString<<32|1, uint64(len(s))
	m.Put(at+24, []byte(s)...)
}

func (r *runtime) set32(m fake, at uint64, field string, v uint32) {
	m.Put32(at+r.at(field), v)
}

// Where a small process of 8.2 has what.
const (
	atName, atFile, atClass, atClassName = 0x1000, 0x1100, 0x2000, 0x2400
	atFunction, atCode                   = 0x3000, 0x4000
	atCall, atOuter                      = 0x5000, 0x5100
)

// small is a process that runs Shop::pay, called by the main program.
func small() (*runtime, fake) {
	m := fake{remotetest.Words{}}
	r := &runtime{memory: memory{Reader: procmem.Reader{Memory: m, Arch: arch.AMD64}, layout: tableLayout(layoutsText, "8.2"), version: "8.2", p: &tasks.Process{}}}
	m.string(atName, "pay")
	m.string(atFile, "/srv/shop.php")
	m.string(atClassName, "Shop")
	m.Zero(atClass, 0x200)
	m.Words[atClass], m.Words[atClass+8] = classUser, atClassName
	for _, f := range []uint64{atFunction, atFunction + 0x200} {
		m.Zero(f, 0x100)
		m.Words[f] = funcUser
		m.Words[f+r.at("func.opcodes")] = atCode
		m.Words[f+r.at("func.file")] = atFile
		r.set32(m, f, "func.last", 4)
		r.set32(m, f, "func.line", 3)
		r.set32(m, f, "func.end", 9)
	}
	m.Words[atFunction+r.at("func.name")], m.Words[atFunction+r.at("func.scope")] = atName, atClass
	m.Zero(atCode, 4*32)
	r.set32(m, atCode+32, "op.line", 5)
	for at, next := range map[uint64]uint64{atCall: atOuter, atOuter: 0} {
		m.Zero(at, 0x60)
		m.Words[at], m.Words[at+r.at("call.previous")] = atCode+32, next
	}
	m.Words[atCall+r.at("call.func")], m.Words[atOuter+r.at("call.func")] = atFunction, atFunction+0x200
	r.set32(m, atOuter+8, "call.this", callTop)
	return r, m
}

// names are the calls as text.
func names(r *runtime) (list []string, err error) {
	calls, err := r.chain(atCall)
	for i := range calls {
		var caller *call
		if i+1 < len(calls) {
			caller = &calls[i+1]
		}
		list = append(list, r.called(&calls[i], caller))
	}
	return list, err
}

// TestGuards: each thing that is wrong is seen.
func TestGuards(t *testing.T) {
	r, _ := small()
	if got, err := names(r); err != nil || !slices.Equal(got, []string{"Shop::pay", "{main}"}) {
		t.Fatalf("%q, %v", got, err)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"a name that does not end":         func(_ *runtime, m fake) { m.Put(atName+24+3, 'x') },
		"a name that is no string":         func(_ *runtime, m fake) { m.Words[atName] = typeArray<<32 | 1 },
		"a name of a terabyte":             func(_ *runtime, m fake) { m.Words[atName+16] = 1 << 40 },
		"a class of no type":               func(_ *runtime, m fake) { m.Words[atClass] = 7 },
		"a class without a name":           func(_ *runtime, m fake) { m.Words[atClass+8] = 0 },
		"a function of no type":            func(_ *runtime, m fake) { m.Words[atFunction] = 3 },
		"no instructions":                  func(r *runtime, m fake) { r.set32(m, atFunction, "func.last", 0) },
		"instructions without end":         func(r *runtime, m fake) { r.set32(m, atFunction, "func.last", math.MaxUint32) },
		"instructions between words":       func(r *runtime, m fake) { m.Words[atFunction+r.at("func.opcodes")] = atCode + 3 },
		"variables without end":            func(r *runtime, m fake) { r.set32(m, atFunction, "func.lastvar", math.MaxUint32) },
		"a function that ends before":      func(r *runtime, m fake) { r.set32(m, atFunction, "func.end", 1) },
		"no file":                          func(r *runtime, m fake) { m.Words[atFunction+r.at("func.file")] = 0 },
		"a function that is not there":     func(r *runtime, m fake) { m.Words[atCall+r.at("call.func")] = 0x9000 },
		"a call between words":             func(r *runtime, m fake) { m.Words[atCall+r.at("call.previous")] = atOuter + 4 },
		"a circle":                         func(r *runtime, m fake) { m.Words[atOuter+r.at("call.previous")] = atCall },
		"a call that is not there":         func(r *runtime, m fake) { m.Words[atOuter+r.at("call.previous")] = 0x9000 },
		"a function that lies between two": func(r *runtime, m fake) { m.Words[atCall+r.at("call.func")] = atFunction + 4 },
	} {
		r, m := small()
		harm(r, m)
		if got, err := names(r); err == nil || what == "a circle" && err != errCycle {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// TestLines: an instruction that is none of the function's says nothing.
func TestLines(t *testing.T) {
	for op, want := range map[uint64]int{atCode + 32: 0x107, atCode + 33: 3, atCode + 4*32: 3, atCode - 32: 3, 0: 3} {
		r, m := small()
		m.Zero(atCode-32, 6*32)
		for at := uint64(atCode - 32); at < atCode+5*32; at += 32 { // there is code around it
			r.set32(m, at, "op.line", 0x107)
		}
		m.Words[atCall] = op
		c, _, err := r.callAt(atCall)
		if err != nil {
			t.Fatal(err)
		}
		line, approximate := r.line(&c)
		if line != want || approximate != (want == 3) {
			t.Errorf("at %#x: line %d, approximate %t", op, line, approximate)
		}
	}
}

// TestCharged: a list of calls without an end is read as far as the budget goes.
func TestCharged(t *testing.T) {
	r, m := small()
	for i := range uint64(5000) { // all of them are there
		at := 0x100000 + i*0x100
		m.Zero(at, 0x60)
		m.Words[at+r.at("call.func")], m.Words[at+r.at("call.previous")] = atFunction, at+0x100
	}
	b := budget.Of(1000)
	r.p = &tasks.Process{Budget: b}
	if list, err := r.chain(0x100000); err == nil || len(list) > 1000/8 {
		t.Errorf("%d calls, %v", len(list), err)
	}
}

// TestValuesAreBounded: arrays that lead to themselves, that are wide and that say that they are, end.
func TestValuesAreBounded(t *testing.T) {
	r, m := small()
	const array, data = 0x20000, 0x30000
	m.Zero(array, 56)
	m.Words[array] = typeArray<<32 | 1
	m.Words[array+8] = packed
	m.Words[array+16], m.Words[array+24] = data, 1<<32|1
	m.Words[data], m.Words[data+8] = array, typeArray
	text := func(most tasks.Limits) string { return r.valueOf("v", zval{value: array, kind: typeArray}, most).Value }
	if got, want := text(tasks.Limits{}), "array(1) { [0]=> array(1) { *RECURSION* } }"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m.Words[array+24] = math.MaxUint64 // it says that it has four billion
	for i := range uint64(1000) {
		m.Words[data+16*i], m.Words[data+16*i+8] = i, typeLong
	}
	if got, want := text(tasks.Limits{Elements: 2}), "array(4294967295) { [0]=> int(0) [1]=> int(1) ... }"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := len(r.tree(zval{value: array, kind: typeArray}, tasks.Limits{}).Children); n != remote.TreeElements {
		t.Errorf("%d parts", n)
	}
	m.Words[array] = typeString<<32 | 1
	if got := text(tasks.Limits{}); got != "?" {
		t.Errorf("what is no array is %s", got)
	}
}

// TestPrologue reads how execute_ex begins in builds by gcc 12 and 14, and nothing of other code.
func TestPrologue(t *testing.T) {
	twelve := []byte{0x41, 0x55, 0x41, 0x54, 0x55, 0x53, 0x48, 0x83, 0xec, 0x78, 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0x48, 0x89, 0x44, 0x24, 0x68, 0x31, 0xc0,
		0x4c, 0x89, 0x74, 0x24, 0x48, 0x49, 0x89, 0xfe, 0x4c, 0x89, 0x7c, 0x24, 0x40, 0x48, 0x85, 0xff}
	fourteen := []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x55, 0x41, 0x54, 0x53, 0x48, 0x81, 0xec, 0xa8, 0, 0, 0,
		0x4c, 0x89, 0x75, 0xc8, 0x49, 0x89, 0xfe, 0x4c, 0x89, 0x7d, 0xc0, 0x48}
	for _, c := range []struct {
		code []byte
		want frameShape
		ok   bool
	}{
		{twelve, frameShape{[]arch.Reg{arch.R13, arch.R12, arch.RBP, arch.RBX}, 160, 160 - 0x48, 160 - 0x40}, true},
		{fourteen, frameShape{[]arch.Reg{arch.RBP, arch.R13, arch.R12, arch.RBX}, 208, 16 + 0x38, 16 + 0x40}, true},
		{[]byte{0xc3, 0, 0, 0, 0, 0, 0, 0, 0}, frameShape{}, false},
		{twelve[:8], frameShape{}, false},
		{nil, frameShape{}, false},
		{slices.Repeat([]byte{0x53}, 96), frameShape{}, false},
	} {
		got, ok := prologue(c.code)
		if ok != c.ok || !slices.Equal(got.saved, c.want.saved) || got.size != c.want.size || got.call != c.want.call || got.instruction != c.want.instruction {
			t.Errorf("% x: %+v, %t", c.code, got, ok)
		}
	}
}

// TestKey: with which key threads ask for their globals.
func TestKey(t *testing.T) {
	r, m := small()
	code := func(b ...byte) (uint32, bool) {
		m.Zero(0x6000, 32)
		m.Put(0x6000, b...)
		return r.keyOf(0x6000)
	}
	m.Words[0x7000] = 2
	if key, ok := code(0x8b, 0x3d, 0xfa, 0x0f, 0, 0); key != 2 || !ok {
		t.Errorf("%d, %t", key, ok)
	}
	if key, ok := code(0xf3, 0x0f, 0x1e, 0xfa, 0x8b, 0x3d, 0xf6, 0x0f, 0, 0); key != 2 || !ok {
		t.Errorf("%d, %t", key, ok)
	}
	m.Words[0x7000] = specificKeys
	if _, ok := code(0x8b, 0x3d, 0xfa, 0x0f, 0, 0); ok {
		t.Error("a key that the thread's own block does not have")
	}
	if _, ok := code(0x90, 0x3d, 0xfa, 0x0f, 0, 0); ok {
		t.Error("other code")
	}
}

// TestLastError: an error is one of a known kind with texts that are strings.
func TestLastError(t *testing.T) {
	r, m := small()
	const core = 0x8000
	m.Zero(core, 0x300)
	m.string(0x8400, "Uncaught Trouble: none: left in /srv/shop.php:7\nStack trace:\n#0 /srv/shop.php(9): Shop->pay(1)\n#1 {main}\n  thrown")
	set := func(kind uint32, message uint64) (lastError, bool) {
		r.set32(m, core, "error.type", kind)
		r.set32(m, core, "error.line", 7)
		m.Words[core+r.at("error.message")], m.Words[core+r.at("error.file")] = message, atFile
		return r.lastError(state{core: core})
	}
	for _, kind := range []uint32{0, 3, 1 << 15} {
		if e, ok := set(kind, 0x8400); ok {
			t.Errorf("%d: %+v", kind, e)
		}
	}
	if e, ok := set(errorFatal, atClass); ok {
		t.Errorf("without a message: %+v", e)
	}
	e, ok := set(errorFatal, 0x8400)
	want := tasks.Exception{Language: "php", Type: "Trouble", Message: "none: left", Function: "Shop->pay", File: "/srv/shop.php", Line: 7}
	if got := e.raised(); !ok || got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, version := range []string{"8.0", "8.1", "8.3"} { // found where 8.2 or 8.4 has it
		r.layout, r.version = tableLayout(layoutsText, version), version
		if e, ok := r.lastError(state{core: core}); !ok || e.line != 7 {
			t.Errorf("%s: %+v, %t", version, e, ok)
		}
	}
}

// TestLayouts: all versions are in the table, with all that is read of each.
func TestLayouts(t *testing.T) {
	for _, v := range versions {
		l := tableLayout(layoutsText, v.version)
		for _, field := range []string{"globals.current", "call.func", "func.end", "op.line", "array.packed", "module.zts", "request.uri"} {
			if !l.has(field) {
				t.Errorf("%s has no %s", v.version, field)
			}
		}
	}
	if tableLayout(layoutsText, "8.9") != nil || versionOf(20300101) != "" {
		t.Error("a version that is not known has a layout")
	}
	if at := (layout{}).at("x"); at < 1<<56 {
		t.Errorf("a field that is not there is at %#x", at)
	}
}

// TestFloats compares with what var_dump of 8.2 writes.
func TestFloats(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", -0.25: "-0.25", 0.1: "0.1", 1e14: "100000000000000", 1e16: "10000000000000000", 1e17: "1.0E+17", 123456789012345: "123456789012345", 1e25: "1.0E+25", 1.5e-7: "1.5E-7", 0.0001: "0.0001", 0.00001: "1.0E-5",
		math.Inf(1): "INF", math.Inf(-1): "-INF", 123456789012345678: "1.2345678901234568E+17"} {
		if got := floatText(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}

func TestBare(t *testing.T) {
	for _, c := range [][3]string{{"int(7)", "int", "7"}, {"float(1.5)", "float", "1.5"}, {"bool(true)", "bool", "true"}, {`string(5) "a) b"`, "string", `"a) b"`}, {"NULL", "void", "NULL"}, {"?", "string", "?"}} {
		if got := bare(c[0], c[1]); got != c[2] {
			t.Errorf("%s is %s, want %s", c[0], got, c[2])
		}
	}
}

// TestDelegated: generators that delegate to one another are told once each, and what is no generator is not.
func TestDelegated(t *testing.T) {
	const object, parent = 0x20000, 0x21000
	build := func() (*runtime, fake, uint64) {
		r, m := small()
		toCall, toNode, _ := generatorAt(184)
		for _, at := range []uint64{object, parent} {
			m.Zero(at, 0x200)
			m.Words[at] = typeObject<<32 | 1
			m.Words[at+toCall] = atCall
		}
		m.Words[object+toNode] = parent
		record := uint64(object + 184)
		m.Words[record+r.at("call.this")], m.Words[record+r.at("call.this")+8] = object, typeObject
		return r, m, record
	}
	r, _, record := build()
	if list := r.delegated(nil, record); len(list) != 1 {
		t.Fatalf("%d generators", len(list))
	}
	for what, harm := range map[string]func(m fake, node uint64){
		"no object":             func(m fake, _ uint64) { m.Words[object] = typeArray<<32 | 1 },
		"a parent that is none": func(m fake, _ uint64) { m.Words[parent] = typeArray<<32 | 1 },
		"no parent":             func(m fake, node uint64) { m.Words[object+node] = 0 },
	} {
		r, m, record := build()
		harm(m, 152)
		if list := r.delegated(nil, record); len(list) != 0 {
			t.Errorf("%s: %d generators", what, len(list))
		}
	}
	r, m, record := build()
	m.Words[parent+152] = object
	if list := r.delegated(nil, record); len(list) != 2 {
		t.Errorf("a circle: %d generators", len(list))
	}
}

// A threaded process has one thread.
type threaded struct {
	unwind.ProcessState
	fake
	regs arch.RegSet
}

func (s *threaded) Arch() *arch.Arch                               { return arch.AMD64 }
func (s *threaded) ThreadIDs() ([]unwind.ThreadID, error)          { return []unwind.ThreadID{1}, nil }
func (s *threaded) ReadMem(at arch.Address, b []byte) (int, error) { return s.fake.ReadMem(at, b) }
func (s *threaded) ReadWord(at arch.Address) (uint64, error)       { return s.fake.ReadWord(at) }
func (s *threaded) Registers(unwind.ThreadID) (arch.RegSet, error) { return s.regs, nil }

// offsets has the symbols of a build whose code is not in the dump.
type offsets struct{ unwind.SymbolReader }

func (offsets) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	if name == "executor_globals_offset" {
		return unwind.Symbol{Name: name, Addr: 0xa000}, true
	}
	return unwind.Symbol{}, false
}

// TestKeyWithoutCode: a call that runs in its function proves with which key threads ask for their globals, and nothing less.
func TestKeyWithoutCode(t *testing.T) {
	const pointer, block, other, offset = 0x30000, 0x40000, 0x50000, 0x100
	build := func() (*runtime, fake) {
		r, m := small()
		s := &threaded{fake: m}
		s.regs.Set(arch.FSBase, pointer)
		r.safe = true
		r.p = &tasks.Process{State: s, Symbols: offsets{}}
		m.Words[0xa000] = offset
		m.Zero(pointer+specificValues, specificSize*specificKeys)
		for key, at := range map[uint64]uint64{3: block, 5: other} {
			m.Words[pointer+specificValues+specificSize*key], m.Words[pointer+specificValues+specificSize*key+8] = 1, at
			m.Zero(at, 0x1000)
		}
		m.Words[block+offset+r.at("globals.current")] = atCall
		return r, m
	}
	r, _ := build()
	if err := r.openSafe(); err != nil || r.key != 3 {
		t.Fatalf("key %d, %v", r.key, err)
	}
	for what, harm := range map[string]func(r *runtime, m fake){
		"no call": func(r *runtime, m fake) { m.Words[block+offset+r.at("globals.current")] = 0 },
		"a call without a function": func(r *runtime, m fake) {
			m.Words[atCall+r.at("call.func")], m.Words[atCall+r.at("call.previous")] = 0, 0
		},
		"calls outside of their functions": func(_ *runtime, m fake) { m.Words[atCall], m.Words[atOuter] = atCode+4*32, atCode-32 },
		"another key with calls":           func(r *runtime, m fake) { m.Words[other+offset+r.at("globals.current")] = atOuter },
		"a key that is not used":           func(_ *runtime, m fake) { m.Words[pointer+specificValues+specificSize*3] = 0 },
		"an offset of a terabyte":          func(_ *runtime, m fake) { m.Words[0xa000] = 1 << 40 },
		"a block between words": func(r *runtime, m fake) {
			m.Words[pointer+specificValues+specificSize*3+8] = block + 4
			m.Put(block+4+offset+r.at("globals.current"), 0, 0x50, 0, 0, 0, 0, 0, 0)
		},
	} {
		r, m := build()
		harm(r, m)
		if err := r.openSafe(); err == nil {
			t.Errorf("%s: key %d", what, r.key)
		}
	}
}

// TestReferences: a value that leads to itself ends, and a reference is one.
func TestReferences(t *testing.T) {
	r, m := small()
	const at, reference = 0x20000, 0x20100
	m.Zero(reference, 0x40)
	m.Words[at], m.Words[at+8] = reference, typeReference
	m.Words[reference] = typeReference<<32 | 1
	m.Words[reference+r.at("reference.value")], m.Words[reference+r.at("reference.value")+8] = 7, typeLong
	if v, ok := r.zvalAt(at); !ok || v.kind != typeLong || v.value != 7 {
		t.Errorf("%+v, %t", v, ok)
	}
	m.Words[reference] = typeArray<<32 | 1
	if v, ok := r.zvalAt(at); ok && v.kind == typeLong {
		t.Errorf("what is no reference leads to %+v", v)
	}
	m.Words[at], m.Words[at+8] = at, typeIndirect
	b := budget.Of(1 << 10)
	r.Reader = r.Charged(b.Spend)
	if v, ok := r.zvalAt(at); ok || b.Err() != nil {
		t.Errorf("a circle is %+v, or is followed until the budget ends", v)
	}
}

// TestAlias: a method of a trait has the name that its class gave it, as the class wrote it.
func TestAlias(t *testing.T) {
	const rules, rule, other, list = 0x100000, 0x6100, 0x6200, 0x6300
	for name, c := range map[string]struct {
		change func(*runtime, fake)
		want   string
	}{
		"as it is":            {func(*runtime, fake) {}, "Aliased"},
		"no rules":            {func(r *runtime, m fake) { m.Words[atClass+r.at("class.aliases")] = 0 }, "pay"},
		"of another function": {func(_ *runtime, m fake) { m.Words[list] = 0x7000 }, "pay"},
		"no such rule":        {func(_ *runtime, m fake) { m.Words[rules+8] = 0 }, "pay"},
		"rules without an end": {func(_ *runtime, m fake) {
			for i := range uint64(maxMethods + 8) {
				m.Words[rules+8*i] = other
			}
			m.Words[rules+8*maxMethods] = rule
		}, "pay"},
		"its own name": {func(_ *runtime, m fake) { m.string(0x6480, "PAY"); m.string(0x6500, "pay") }, "pay"},
	} {
		r, m := small()
		r.layout = tableLayout(layoutsText, "7.4")
		m.string(0x6400, "Other")
		m.string(0x6480, "Aliased")
		m.string(0x6500, "aliased")
		for _, at := range []uint64{rules, rule, other} {
			m.Zero(at, 0x40)
		}
		m.Words[rules], m.Words[rules+8] = other, rule
		m.Words[other+r.at("alias.name")], m.Words[rule+r.at("alias.name")] = 0x6400, 0x6480
		m.Words[atClass+r.at("class.aliases")] = rules
		table := uint64(atClass) + r.at("class.functions")
		m.Put32(table+r.at("array.used"), 1)
		m.Put32(table+r.at("array.count"), 1)
		m.Words[table+r.at("array.data")] = list
		m.Zero(list, 32)
		m.Words[list], m.Words[list+8], m.Words[list+24] = atFunction, 14, 0x6500
		c.change(r, m)
		if got := r.alias(&function{at: atFunction, kind: funcUser, name: "pay", scope: atClass}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
