package lua

import (
	"strings"
)

// An instruction is one of the virtual machine's.
type instruction uint32

// An operand tells where an instruction has what; the places differ between the versions.
func (r *runtime) op(i instruction) string {
	return r.opcode(i).name
}

// opcode is what is known of an instruction; nothing if it is none.
func (r *runtime) opcode(i instruction) opcode {
	n := int(i & 0x3f)
	switch {
	case r.jit:
		n = int(i & 0xff)
	case r.minor == 4:
		n = int(i & 0x7f)
	}
	if n < len(r.opcodes) {
		return r.opcodes[n]
	}
	return opcode{}
}

// sets reports whether an instruction sets its register A.
func (r *runtime) sets(i instruction) bool { return r.opcode(i).sets }

// bits returns those of an instruction from one on.
func (i instruction) bits(from, count uint) int { return int(i >> from & (1<<count - 1)) }

func (r *runtime) a(i instruction) int {
	if r.jit {
		return i.bits(8, 8)
	}
	if r.minor == 4 {
		return i.bits(7, 8)
	}
	return i.bits(6, 8)
}

func (r *runtime) b(i instruction) int {
	if r.jit {
		return i.bits(24, 8)
	}
	if r.minor == 4 {
		return i.bits(16, 8)
	}
	return i.bits(23, 9)
}

func (r *runtime) c(i instruction) int {
	if r.jit {
		return i.bits(16, 8)
	}
	if r.minor == 4 {
		return i.bits(24, 8)
	}
	return i.bits(14, 9)
}

func (r *runtime) bx(i instruction) int {
	if r.jit {
		return i.bits(16, 16)
	}
	if r.minor == 4 {
		return i.bits(15, 17)
	}
	return i.bits(14, 18)
}

func (r *runtime) ax(i instruction) int {
	if r.minor == 4 {
		return i.bits(7, 25)
	}
	return i.bits(6, 26)
}

// jump is how far an instruction jumps.
func (r *runtime) jump(i instruction) int {
	if r.minor == 4 {
		return i.bits(7, 25) - (1<<25-1)>>1
	}
	return i.bits(14, 18) - (1<<18-1)>>1
}

// Limits of the search for a name: instructions of a function, and names that lead to names.
const (
	maxSearched = 1 << 16
	maxNames    = 8
)

// setBy finds the instruction before another that set a register last; -1 if it is not known.
func (r *runtime) setBy(f *function, before, register int) int {
	if before > maxSearched || r.p.Spend(1+before/16) != nil {
		return -1
	}
	b := r.Bytes(f.code, 4*min(before+1, int(f.codes)))
	if b == nil {
		return -1
	}
	at := func(pc int) instruction {
		if pc*4+4 > len(b) {
			return 0
		}
		return instruction(r.Arch.ByteOrder.Uint32(b[pc*4:]))
	}
	if strings.HasPrefix(r.op(at(before)), "MMBIN") { // the one before was not executed
		before--
	}
	found, target := -1, 0
	for pc := 0; pc < before; pc++ {
		i := at(pc)
		a := r.a(i)
		change := r.sets(i) && a == register
		switch op := r.op(i); op {
		case "LOADNIL":
			last := a + r.b(i)
			if r.minor == 1 {
				last = r.b(i)
			}
			change = a <= register && register <= last
		case "TFORCALL":
			change = register >= a+2
		case "CALL", "TAILCALL":
			change = register >= a
		case "TEST":
			change = change || r.minor == 2 && register == a
		case "SELF":
			change = change || r.minor == 1 && register == a+1
		case "TFORLOOP":
			change = change || r.minor == 1 && register >= a+2
		case "JMP", "FORLOOP", "FORPREP":
			dest := pc + 1 + r.jump(i)
			switch {
			case r.minor == 1 && pc < dest && dest <= before:
				if change {
					found = pc
				}
				pc = dest - 1
				continue
			case r.minor > 1 && op == "JMP" && dest <= before && dest > target:
				target = dest
			}
		case "SETLIST":
			if r.minor == 1 && r.c(i) == 0 {
				pc++
			}
		case "CLOSURE":
			if r.minor == 1 { // instructions that say what it takes with it
				if change {
					found = pc
				}
				n, _ := r.U8(r.Word(r.field(f.at, "function.functions")+8*uint64(r.bx(i))) + r.at("function.nups"))
				pc += int(n)
				continue
			}
		}
		switch {
		case change && pc < target: // it may not have been executed
			found = -1
		case change:
			found = pc
		}
	}
	return found
}

// environment is the variable that has a function's globals, since 5.2.
const environment = "_ENV"

// nameOf finds how a function names what is in a register; kind is "" if it does not.
func (r *runtime) nameOf(f *function, pc, register, depth int) (kind, name string) {
	if depth > maxNames {
		return "", ""
	}
	if name = r.local(f, register, pc); name != "" {
		return "local", name
	}
	at := r.setBy(f, pc, register)
	i, ok := r.instruction(f, at)
	if !ok {
		return "", ""
	}
	// within says of what is found in something whether that is the environment.
	within := func(upvalue bool) string {
		name := ""
		switch {
		case upvalue:
			name = r.upvalue(f, r.b(i))
		case r.minor == 4:
			_, name = r.nameOf(f, at, r.b(i), depth+1)
		default:
			name = r.local(f, r.b(i), at)
		}
		if name == environment {
			return "global"
		}
		return "field"
	}
	switch r.op(i) {
	case "MOVE":
		if r.b(i) < r.a(i) {
			return r.nameOf(f, at, r.b(i), depth+1)
		}
	case "GETGLOBAL":
		return "global", r.constant(f, r.bx(i))
	case "GETTABUP":
		return within(true), r.key(f, at, r.c(i), r.minor == 4, depth)
	case "GETTABLE":
		return within(false), r.key(f, at, r.c(i), false, depth)
	case "GETFIELD":
		return within(false), r.key(f, at, r.c(i), true, depth)
	case "GETI":
		return "field", "integer index"
	case "GETUPVAL":
		return "upvalue", r.upvalue(f, r.b(i))
	case "LOADK":
		if s := r.constant(f, r.bx(i)); s != "?" && r.minor > 1 {
			return "constant", s
		}
	case "LOADKX":
		next, _ := r.instruction(f, at+1)
		if s := r.constant(f, r.ax(next)); s != "?" {
			return "constant", s
		}
	case "SELF":
		return "method", r.key(f, at, r.c(i), r.minor == 4 && i.bits(15, 1) == 1, depth)
	}
	return "", ""
}

// inConstants is the bit that says of an operand that it is a constant, until 5.3.
const inConstants = 1 << 8

// key is the name of a key: a constant, or what is in a register if that is one.
func (r *runtime) key(f *function, pc, operand int, constant bool, depth int) string {
	switch {
	case constant:
		return r.constant(f, operand)
	case r.minor < 4 && operand&inConstants != 0:
		return r.constant(f, operand&^inConstants)
	case r.minor == 1:
		return "?"
	}
	if kind, name := r.nameOf(f, pc, operand, depth+1); kind == "constant" {
		return name
	}
	return "?"
}

// constant is one of a function's if it is a text, else "?".
func (r *runtime) constant(f *function, i int) string {
	if i < 0 || i >= int(f.constCount) {
		return "?"
	}
	v, ok := r.valueAt(f.constants + r.valueSize()*uint64(i))
	if !ok || v.kind != kindString {
		return "?"
	}
	if s := r.name(v.bits); s != "" {
		return s
	}
	return "?"
}

// upvalue is the name of a variable of an outer function; "?" if it has none.
func (r *runtime) upvalue(f *function, i int) string {
	if r.jit {
		return r.jitUpvalue(f, i)
	}
	if i < 0 || i >= int(f.upvalueCount) || f.upvalues == 0 {
		return "?"
	}
	if s := r.name(r.Word(f.upvalues + r.at("upvalue.size")*uint64(i))); s != "" {
		return s
	}
	return "?"
}

// local is the name of the variable in a register at an instruction; "" if it has none.
func (r *runtime) local(f *function, register, pc int) string {
	n := 0
	for _, v := range r.variableNames(f) {
		if int64(v.from) > int64(pc) {
			break
		}
		if int64(pc) < int64(v.to) {
			if n == register {
				return v.name
			}
			n++
		}
	}
	return ""
}

// variableNames are those of a function, in the order in which they begin.
func (r *runtime) variableNames(f *function) []variableName {
	f.readNames.Do(func() { f.names = r.readVariableNames(f) })
	return f.names
}

func (r *runtime) readVariableNames(f *function) (names []variableName) {
	if r.jit {
		return r.jitVariableNames(f)
	}
	size := r.at("variable.size")
	for i := range uint64(min(f.variableCount, maxVariables)) {
		b := r.Bytes(f.variables+i*size, int(size))
		if b == nil || r.p.Spend(1) != nil {
			break
		}
		name := r.name(r.Arch.Word(b))
		if name == "" {
			name = "?"
		}
		names = append(names, variableName{name, r.Arch.ByteOrder.Uint32(b[r.at("variable.from"):]), r.Arch.ByteOrder.Uint32(b[r.at("variable.to"):])})
	}
	return names
}

// metamethod is the one that an instruction calls; "" if it calls none.
func metamethod(op string) string {
	switch op {
	case "SELF", "GETTABUP", "GETTABLE", "GETI", "GETFIELD":
		return "index"
	case "SETTABUP", "SETTABLE", "SETI", "SETFIELD":
		return "newindex"
	case "LTI", "GTI":
		return "lt"
	case "LEI", "GEI":
		return "le"
	case "UNM", "BNOT", "LEN", "CONCAT", "EQ", "LT", "LE":
		return strings.ToLower(op)
	case "CLOSE", "RETURN":
		return "close"
	}
	return ""
}

// arithmetic are the instructions that call metamethods themselves until 5.3.
const arithmetic = " ADD SUB MUL MOD POW DIV IDIV BAND BOR BXOR SHL SHR "

// called finds how the instruction that runs in a caller names what it called.
func (r *runtime) called(caller *call) (kind, name string) {
	i, ok := r.instruction(caller.f, caller.pc)
	if !ok {
		return "", ""
	}
	if r.jit {
		return r.jitCalled(caller, i)
	}
	op := r.op(i)
	prefix := "__"
	if r.minor == 4 {
		prefix = ""
	}
	switch {
	case op == "CALL" || op == "TAILCALL" || r.minor == 1 && op == "TFORLOOP":
		return r.nameOf(caller.f, caller.pc, r.a(i), 0)
	case r.minor == 1:
		return "", ""
	case op == "TFORCALL":
		return "for iterator", "for iterator"
	case strings.HasPrefix(op, "MMBIN"):
		g := r.field(caller.state, "state.global")
		return "metamethod", strings.TrimPrefix(r.name(r.Word(g+r.at("global.names")+8*uint64(r.c(i)))), "__")
	case op != "" && r.minor < 4 && strings.Contains(arithmetic, " "+op+" "):
		return "metamethod", "__" + strings.ToLower(op)
	case metamethod(op) != "" && (r.minor == 4 || op != "RETURN" && op != "CLOSE"):
		return "metamethod", prefix + metamethod(op)
	}
	return "", ""
}

// codeName is the name that the calling code gives a call; "" if it has none. caller is the next call outward on the same stack.
func (r *runtime) codeName(c, caller *call) string {
	switch {
	case c.flags&r.flag("flag.finalizer") != 0:
		return "__gc"
	case r.tail(c):
		return ""
	case caller == nil: // no call: Lua itself runs finalizers as it ends
		if flags, ok := r.U16(r.baseCall(c.state) + r.at("call.status")); ok && uint64(flags)&r.flag("flag.finalizes") != 0 {
			return "__gc"
		}
		return ""
	case caller.flags&r.flag("flag.hooked") != 0 && (r.minor == 4 || caller.f != nil && r.minor == 3):
		return "?"
	case caller.flags&r.flag("flag.finalizes") != 0:
		return "__gc"
	case caller.f == nil:
		return ""
	}
	_, name := r.called(caller)
	return name
}

// functionName is the name of a call as Lua's stack traces have it: that by which the function is found in a loaded module, the one
// that the caller has for it, or where it is written.
func (r *runtime) functionName(c, caller *call) string {
	if r.minor > 2 {
		if name := r.globalName(c); name != "" {
			return name
		}
	}
	if name := r.codeName(c, caller); name != "" {
		return name
	}
	switch {
	case c.f == nil && (r.minor == 2 || r.jit):
		if name := r.globalName(c); name != "" {
			return name
		}
		return unnamed
	case c.f == nil:
		return unnamed
	case c.f.first == 0 && (!r.jit || c.f.last > 0):
		return "main chunk"
	}
	return "function <" + place(c.f) + ">"
}

// unnamed is the name of a function of C that has none.
const unnamed = "?"

// Limits of the search for functions in modules.
const (
	maxModules = 1 << 10
	maxMembers = 1 << 12
)

// registryGlobals is the element of the registry that has the globals, since 5.2.
const registryGlobals = 2

// globalName is the name by which a function is found in a loaded module.
func (r *runtime) globalName(c *call) string {
	g := r.field(c.state, "state.global")
	return r.globals.Get(g, func() map[uint64]string { return r.globalNames(g) })[c.function.bits]
}

// globalNames are the names of the functions in loaded modules, by their addresses.
func (r *runtime) globalNames(g uint64) map[uint64]string {
	names := map[uint64]string{}
	registry, ok := r.valueAt(g + r.at("global.registry"))
	if !ok || registry.kind != kindTable {
		return names
	}
	loaded := r.lookup(registry.bits, "_LOADED")
	if r.minor == 2 {
		r.each(registry.bits, func(e entry) bool {
			if e.key == (value{registryGlobals, kindInt}) {
				loaded = e.value
				return false
			}
			return true
		})
	}
	add := func(v value, name string) {
		if _, ok := names[v.bits]; !ok && (v.kind == kindFunction || v.kind == kindNative || v.kind == kindPlain) {
			names[v.bits] = strings.TrimPrefix(name, "_G.")
		}
	}
	modules := 0
	r.each(loaded.bits, func(e entry) bool {
		key := ""
		if e.key.kind == kindString {
			key = r.name(e.key.bits)
		}
		if key == "" {
			return true
		}
		if modules++; modules > maxModules {
			return false
		}
		add(e.value, key)
		members := 0
		if e.value.kind == kindTable {
			r.each(e.value.bits, func(e entry) bool {
				if e.key.kind == kindString {
					add(e.value, key+"."+r.name(e.key.bits))
				}
				members++
				return members < maxMembers
			})
		}
		return true
	})
	return names
}
