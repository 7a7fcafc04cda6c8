package php

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A call is a function that has begun.
type call struct {
	at    uint64 // of its record; 0 for a function without one
	f     *function
	op    uint64 // the instruction that runs, or that called
	flags uint32
	args  uint32
	this  uint64 // 0 without
	outer bool   // a new run of the virtual machine began with it
}

// A function is what is read of one.
type function struct {
	at            uint64
	kind          byte
	name, class   string
	scope         uint64
	file          string
	first, end    uint32
	opcodes       uint64
	last          uint32 // number of its instructions
	arguments     uint32 // that are declared
	variables     uint32 // with names: these are the first arguments
	temporaries   uint32
	handler       uint64
	readNames     sync.Once
	names         []string // of the variables
	flags         uint32
	variableNames uint64
	argumentInfo  uint64
}

// Types of functions.
const (
	funcInternal = 1
	funcUser     = 2
	funcFile     = 4 // the code of a file, or of eval
)

// Flags of calls: how what is called was called.
const (
	callTop = 1 << 17 // the virtual machine was entered for it
)

// Limits on what memory can ask for.
const (
	maxDepth        = 1 << 17
	maxInstructions = 1 << 24
	maxVariables    = 512
	maxDelegated    = 1 << 12
)

// A chainError says why a list of calls ends early.
type chainError string

func (e chainError) Error() string { return string(e) }

const (
	errCycle chainError = "the list of its PHP calls is a circle"
	errDeep  chainError = "it has too many PHP calls"
	errLimit chainError = "the limit of the analysis is reached in its PHP calls"
)

// chain lists the calls from the youngest on. With an error it has those before the damage.
func (r *runtime) chain(youngest uint64) ([]call, error) {
	var list []call
	slow, half := youngest, false
	for at := youngest; at != 0; {
		if len(list) >= maxDepth {
			return list, errDeep
		}
		if r.p.Spend(8) != nil {
			return list, errLimit
		}
		c, previous, err := r.callAt(at)
		switch {
		case err != nil:
			return list, err
		case c.f != nil:
			list = append(list, c)
		default:
			list = r.delegated(list, at)
		}
		at = previous
		if half {
			slow = r.field(slow, "call.previous")
		}
		half = !half
		if at != 0 && at == slow {
			return list, errCycle
		}
	}
	return list, nil
}

// callAt reads a record of a call. It has no function if it only stands between others.
func (r *runtime) callAt(at uint64) (c call, previous uint64, err error) {
	b := []byte(nil)
	if at%8 == 0 {
		b = r.Bytes(at, int(r.at("call.symbols")))
	}
	if b == nil {
		return call{}, 0, fmt.Errorf("its PHP call at %#x is not there", at)
	}
	word := func(name string) uint64 { return r.Arch.Word(b[r.at(name):]) }
	order := r.Arch.ByteOrder
	this := r.at("call.this")
	c = call{at: at, op: word("call.opline"), flags: order.Uint32(b[this+8:]), args: order.Uint32(b[this+12:])}
	if c.flags&0xff == typeObject {
		c.this = word("call.this")
	}
	c.outer = c.flags&callTop != 0
	previous = word("call.previous")
	if fn := word("call.func"); fn != 0 {
		if c.f = r.functionAt(fn); c.f == nil {
			return call{}, 0, fmt.Errorf("its PHP call at %#x has no function", at)
		}
		if !r.inside(&c) && c.f.kind != funcInternal {
			c.op = 0
		}
	}
	return c, previous, nil
}

// delegated adds the generators between one that runs and the one that delegates to it by "yield from" at last: each of them waits for the one
// before. A record without a function stands for them, whose object is the last of them.
func (r *runtime) delegated(list []call, at uint64) []call {
	b := r.Bytes(at+r.at("call.this"), 16)
	if b == nil || b[8] != typeObject {
		return list
	}
	object := r.Arch.Word(b)
	toCall, toNode, ok := generatorAt(at - object)
	if !ok || !r.counted(object, typeObject) {
		return list
	}
	var between []call
	seen := map[uint64]bool{}
	for range maxDelegated {
		parent := r.Word(object + toNode)
		if parent == 0 || seen[object] || !r.counted(parent, typeObject) || r.p.Spend(8) != nil {
			break
		}
		seen[object] = true
		c, _, err := r.callAt(r.Word(object + toCall))
		if err != nil || c.f == nil {
			break
		}
		c.outer = false
		between = append(between, c)
		object = parent
	}
	for i := len(between) - 1; i >= 0; i-- {
		list = append(list, between[i])
	}
	return list
}

// generatorAt says where generators have their call and what they delegate to, by where they have the record that stands for them: in 7.4, in 8.2
// and later; of 8.0 and 8.1 either.
func generatorAt(record uint64) (call, node uint64, ok bool) {
	switch record {
	case 200:
		return 64, 160, true
	case 184:
		return 56, 152, true
	}
	return 0, 0, false
}

// inside reports whether the instruction of a call is one of its function.
func (r *runtime) inside(c *call) bool {
	size := r.at("op.size")
	return c.op >= c.f.opcodes && c.op < c.f.opcodes+uint64(c.f.last)*size && (c.op-c.f.opcodes)%size == 0
}

// functionAt reads a function; nil if there is none.
func (r *runtime) functionAt(at uint64) *function {
	return r.functions.Get(at, func() *function { return r.readFunction(at) })
}

func (r *runtime) readFunction(at uint64) *function {
	if at%8 != 0 {
		return nil
	}
	b := r.Bytes(at, int(r.at("func.end")+4))
	if b == nil {
		return nil
	}
	word := func(name string) uint64 { return r.Arch.Word(b[r.at(name):]) }
	number := func(name string) uint32 { return r.Arch.ByteOrder.Uint32(b[r.at(name):]) }
	f := &function{at: at, kind: b[0], scope: word("func.scope"), flags: number("func.flags"), arguments: number("func.arguments"), argumentInfo: word("func.arginfo")}
	if name := word("func.name"); name != 0 {
		if f.name = r.name(name); f.name == "" {
			return nil
		}
	}
	if f.scope != 0 {
		var ok bool
		if f.class, ok = r.className(f.scope); !ok {
			return nil
		}
	}
	switch f.kind {
	case funcInternal:
		f.handler = word("func.handler")
		return f
	case funcUser, funcFile:
	default:
		return nil
	}
	f.opcodes, f.last = word("func.opcodes"), number("func.last")
	f.first, f.end = number("func.line"), number("func.end")
	f.variables, f.temporaries, f.variableNames = number("func.lastvar"), number("func.temporaries"), word("func.vars")
	f.file = r.name(word("func.file"))
	if f.file == "" || f.opcodes == 0 || f.opcodes%8 != 0 || f.last == 0 || f.last > maxInstructions || f.variables > maxInstructions || f.temporaries > maxInstructions || f.first > f.end {
		return nil
	}
	if f.kind == funcUser && f.scope != 0 && r.has("class.aliases") {
		f.name = r.alias(f)
	}
	return f
}

// maxMethods limits the methods of a class, and the names that it gives to those of traits.
const maxMethods = 1 << 10

// alias is the name that a class gave to a method of a trait: in 7.4 functions do not have it themselves, but their class lists them by it.
func (r *runtime) alias(f *function) string {
	rules := r.field(f.scope, "class.aliases")
	if rules == 0 {
		return f.name
	}
	methods, _ := r.array(f.scope+r.at("class.functions"), maxMethods)
	i := slices.IndexFunc(methods, func(e element) bool { return e.text && e.value.value == f.at })
	if i < 0 || strings.EqualFold(methods[i].key, f.name) {
		return f.name
	}
	for k := range uint64(maxMethods) {
		rule := r.Word(rules + 8*k)
		if rule == 0 || r.p.Spend(1) != nil {
			break
		}
		if name := r.name(r.field(rule, "alias.name")); strings.EqualFold(name, methods[i].key) {
			return name
		}
	}
	return f.name
}

// Instructions that lines and names depend on.
const (
	opInclude        = 73
	opFrameless      = 204 // to 207: a function that needs no record, since 8.4
	opFramelessLast  = 207
	opHandlException = 149
)

// instruction returns the number of the instruction at an address.
func (r *runtime) instruction(at uint64) byte {
	if at == 0 {
		return 0
	}
	v, _ := r.U8(at + r.at("op.code"))
	return v
}

// line is where a call is; approximate if only its function is known.
func (r *runtime) line(c *call) (line int, approximate bool) {
	if c.f.kind == funcInternal {
		return 0, false
	}
	if c.op != 0 {
		if n := r.number(c.op, "op.line"); n >= 1 && n < 1<<31 {
			return int(n), false
		}
	}
	return int(c.f.first), true
}

// called is the name of a function, as PHP's stack traces have it. caller is the next call outward; nil if there is none.
func (r *runtime) called(c, caller *call) string {
	if c.f.name == "" {
		if caller != nil && caller.f.kind != funcInternal && r.instruction(caller.op) == opInclude {
			switch r.number(caller.op, "op.extended") {
			case 1:
				return "eval"
			case 2:
				return "include"
			case 4:
				return "include_once"
			case 8:
				return "require"
			case 16:
				return "require_once"
			}
		}
		return "{main}"
	}
	switch {
	case c.f.class == "":
		return c.f.name
	case c.this != 0:
		return c.f.class + "->" + c.f.name
	}
	return c.f.class + "::" + c.f.name
}

// calls lists the calls of a thread as PHP's stack traces do: without those that have no name, and with functions that have no record.
func (r *runtime) calls(s state) ([]call, error) {
	list, err := r.chain(r.Word(s.executor + r.at("globals.current")))
	out := make([]call, 0, len(list))
	for i := range list {
		c := list[i]
		if c.f.kind == funcInternal && c.f.name == "" {
			if c.outer && len(out) > 0 {
				out[len(out)-1].outer = true // a fiber begins
			}
			continue
		}
		if c.f.kind != funcInternal {
			if c.op == 0 || r.instruction(c.op) == opHandlException {
				r.excepted(&c, s)
			}
			if code := r.instruction(c.op); r.version == "8.4" && code >= opFrameless && code <= opFramelessLast {
				if f := r.frameless(c.op); f != nil {
					out = append(out, call{f: f})
				}
			}
		}
		out = append(out, c)
	}
	return out, err
}

// excepted finds the instruction of a call that looks for who handles an exception: the one that raised it.
func (r *runtime) excepted(c *call, s state) {
	was := c.op
	if c.op = r.Word(s.executor + r.at("globals.before")); !r.inside(c) {
		c.op = was
		if was != 0 && !r.inside(c) {
			c.op = 0
		}
	}
}

// frameless returns the function that an instruction calls without a record.
func (r *runtime) frameless(op uint64) *function {
	table := r.Word(r.symbol("zend_flf_functions"))
	n := r.number(op, "op.extended")
	if table == 0 || n > 1<<12 {
		return nil
	}
	f := r.functionAt(r.Word(table + 8*uint64(n)))
	if f == nil || f.kind != funcInternal || f.name == "" {
		return nil
	}
	return f
}
