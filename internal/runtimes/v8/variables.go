package v8

import (
	"errors"
	"slices"
	"strconv"
	"unicode"

	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of the variables of a call.
const (
	maxGiven     = 128 // arguments
	maxRegisters = 64  // registers of the interpreter
	maxContexts  = 32  // scopes within each other
	maxLocals    = 256 // of one scope
)

const frameCount = -24 // how many arguments there are, the receiver with them

// Bits of the flags of a ScopeInfo.
const scopeExtension = 1 << 26 // contexts have a slot that tells what eval declared

// firstContextSlot is where a context has its variables, in words, behind its ScopeInfo and the context around it.
const firstContextSlot = 2

var (
	errCount  = errors.New("how many arguments the frame has is damaged")
	errMemory = errors.New("not in the dump")
)

// activationFrame is what the variables of a call are read from.
type activationFrame struct {
	fp        uint64
	fn        uint64 // the function object
	fun       *function
	registers bool // the frame has registers of the interpreter
}

// variables reads the receiver and the arguments of a call, and its local variables. V8 keeps the names of those
// alone that functions within use; the others are registers.
func (e *engine) variables(a activationFrame, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	captured := e.captured(a)
	formals := e.parameters(a.fun)
	n := e.Word(from(a.fp, frameCount))
	taken := map[string]bool{}
	switch {
	case n == 0 || n > 1<<16:
		args = append(args, tasks.SuspendedVariable{Name: "this", Err: errCount})
		n = 0
	default:
		n = min(n, maxGiven)
	}
	for i := range max(n, uint64(min(len(formals)+1, maxGiven))) {
		if e.p.Spend(1) != nil {
			break
		}
		name := "this"
		if i > 0 {
			name = "arguments[" + strconv.FormatUint(i-1, 10) + "]"
			if int(i) <= len(formals) {
				name = formals[i-1]
			}
		}
		if k := slices.IndexFunc(captured, func(v slot) bool { return v.name == name }); k >= 0 && i > 0 {
			taken[name] = true
			args = append(args, e.variable(name, captured[k].value, limits))
			continue
		}
		if n == 0 {
			continue
		}
		at := a.fp + 16 + 8*i
		w, err := e.ReadWord(at)
		if i > 0 && i >= n && w == 0 { // fewer were given than the function has
			continue
		}
		if err != nil {
			args = append(args, tasks.SuspendedVariable{Name: name, Err: errMemory})
			continue
		}
		v := e.variable(name, w, limits)
		if !a.registers && i > 0 && int(i) <= len(formals) && v.Err == nil { // compiled code keeps what is assigned to it elsewhere
			v = tasks.SuspendedVariable{Name: v.Name, Type: v.Type, Err: unknown.ErrOptimisedOut, Entry: v.Value}
		}
		args = append(args, v)
	}
	if !locals {
		return args, own
	}
	for _, v := range captured {
		if !taken[v.name] && !e.unset(v.value) {
			own = append(own, e.variable(v.name, v.value, limits))
		}
	}
	if a.registers {
		own = e.registers(a, own, limits)
	}
	return args, own
}

// A slot is a variable of a context.
type slot struct {
	name  string
	value uint64
	off   uint64 // in the context
}

// captured are the variables of a call that functions within it use: they are in its contexts, innermost first.
func (e *engine) captured(a activationFrame) (out []slot) {
	outer := e.at(a.fn, e.functionContext)
	context := e.Word(from(a.fp, frameContext))
	var list []slot
	for range maxContexts {
		if context == outer || e.p.Spend(4) != nil {
			return list
		}
		if t := e.typeOf(context); t < e.types.firstContext || t > e.types.lastContext {
			return nil
		}
		list = append(list, e.slots(context)...)
		context = e.at(context, e.contextSlot(1))
	}
	return nil // not this function's
}

func (e *engine) contextSlot(i uint64) uint64 { return 16 + 8*i }

// slots are the variables of one context.
func (e *engine) slots(context uint64) (out []slot) {
	info := e.at(context, e.contextSlot(0))
	n, ok := smi(e.at(context, 8))
	if e.typeOf(info) != e.types.scopeInfo || !ok {
		return nil
	}
	flags := e.scopeFlags(info)
	count, ok := smi(e.at(info, 24))
	if !ok || count < 0 || count > maxLocals {
		return nil
	}
	first := firstContextSlot
	if flags&scopeExtension != 0 {
		first++
	}
	at := uint64(4)
	if e.scopeGap != 0 {
		at += 2
	}
	if flags&scopeType == scopeModule {
		at++
	}
	if count >= scopeInlineNames {
		return nil // their names are in a table without an order
	}
	for i := range count {
		if first+i >= n {
			break
		}
		name, ok := e.text(e.at(info, 8*(at+uint64(i))))
		if !ok || name == "" || name[0] == '.' || name == "this" || name == "new.target" {
			continue
		}
		off := e.contextSlot(uint64(first + i))
		out = append(out, slot{name, e.at(context, off), off})
	}
	return out
}

// scopeFlags are the flags of a ScopeInfo.
func (e *engine) scopeFlags(info uint64) int {
	w := e.at(info, 8)
	if e.scopeGap != 0 {
		return int(uint32(w))
	}
	flags, _ := smi(w)
	return flags
}

// registers adds the registers of the interpreter that have a value. Among them are the local variables that no
// function within uses, in the order of the source, then what expressions need.
func (e *engine) registers(a activationFrame, own []tasks.SuspendedVariable, limits tasks.Limits) []tasks.SuspendedVariable {
	bytecode := e.Word(from(a.fp, frameBytecode))
	size, ok := e.U32(bytecode - 1 + e.frameSize)
	if !ok || e.typeOf(bytecode) != e.types.bytecode || size%8 != 0 || size > 8<<16 {
		return own
	}
	for i := range min(uint64(size/8), maxRegisters) {
		w, err := e.ReadWord(a.fp - e.firstRegister - 8*i)
		if err != nil || e.unset(w) || e.isUndefined(w) || e.p.Spend(1) != nil {
			continue
		}
		if t := e.typeOf(w); t >= e.types.firstContext && t <= e.types.lastContext || !e.isValue(w) {
			continue // the interpreter's own
		}
		own = append(own, e.variable("r"+strconv.FormatUint(i, 10), w, limits))
	}
	return own
}

// unset reports whether a word is none of the program's values: a variable before its declaration ran.
func (e *engine) unset(w uint64) bool {
	_, number := smi(w)
	return !number && e.isHole(w)
}

// isUndefined reports whether a word is undefined, which registers without use have.
func (e *engine) isUndefined(w uint64) bool {
	return e.typeOf(w) == e.types.oddball && e.oddball(w) == "undefined"
}

// variable is a variable with its value.
func (e *engine) variable(name string, w uint64, limits tasks.Limits) tasks.SuspendedVariable {
	v := e.value(w, limits)
	v.Name = name
	return v.suspended()
}

// parameters are the names of a function's parameters, as far as the source has them as plain names. V8 does not keep
// them.
func (e *engine) parameters(f *function) (names []string) {
	if f.script == nil {
		return nil
	}
	list := e.at(f.script.at, e.evalShared)
	if n, data, ok := e.array(list, e.types.fixedArrays); ok && f.start <= 0 && n < maxGiven { // Node's own around a module
		for i := range n {
			name, ok := e.text(e.Word(data + 8*uint64(i)))
			if !ok {
				return nil
			}
			names = append(names, name)
		}
		return names
	}
	if f.start <= 0 {
		return nil
	}
	names = parameterNames(e.sourceAt(f.script, f.start))
	if count, ok := e.parameterCount(f); !ok || len(names) > count { // not the list of this function
		return nil
	}
	return names
}

// parameterCount is how many parameters a function has, as its bytecode tells.
func (e *engine) parameterCount(f *function) (int, bool) {
	n, ok := e.U16(e.bytecodeOf(f.shared) - 1 + e.frameSize + 4)
	count := int(n)/int(e.parameterUnit) - 1
	return count, ok && count >= 0
}

// maxParameters is the most characters of a list of parameters.
const maxParameters = 1024

// sourceAt is the source from a position on.
func (e *engine) sourceAt(s *script, pos int) []rune {
	data, n, one, ok := e.flat(e.at(s.at, e.scriptSource))
	if !ok || pos >= n {
		return nil
	}
	n = min(n-pos, maxParameters)
	if one {
		b := e.Bytes(data+uint64(pos), n)
		out := make([]rune, len(b))
		for i, c := range b {
			out[i] = rune(c)
		}
		return out
	}
	b := e.Bytes(data+2*uint64(pos), 2*n)
	out := make([]rune, len(b)/2)
	for i := range out {
		out[i] = rune(littleEndian.Uint16(b[2*i:]))
	}
	return out
}

// parameterNames reads the names of a list of parameters with which a text begins, up to the first that is not a
// plain name.
func parameterNames(s []rune) (names []string) {
	skip := func() { // space and comments
		for len(s) > 0 {
			switch {
			case unicode.IsSpace(s[0]):
				s = s[1:]
			case len(s) > 1 && s[0] == '/' && s[1] == '*':
				for s = s[2:]; len(s) > 1 && (s[0] != '*' || s[1] != '/'); {
					s = s[1:]
				}
				s = s[min(2, len(s)):]
			case len(s) > 1 && s[0] == '/' && s[1] == '/':
				for len(s) > 0 && s[0] != '\n' && s[0] != '\r' && s[0] != 0x2028 && s[0] != 0x2029 {
					s = s[1:]
				}
			default:
				return
			}
		}
	}
	name := func() string {
		n := 0
		for n < len(s) && (s[n] == '_' || s[n] == '$' || unicode.IsLetter(s[n]) || n > 0 && (unicode.IsDigit(s[n]) || unicode.IsMark(s[n]))) {
			n++
		}
		if n == len(s) {
			return "" // it may go on
		}
		out := string(s[:n])
		s = s[n:]
		return out
	}
	if len(s) == 0 || s[0] != '(' { // x => x
		n := name()
		skip()
		if n != "" && len(s) > 1 && s[0] == '=' && s[1] == '>' {
			return []string{n}
		}
		return nil
	}
	for s = s[1:]; ; s = s[1:] {
		skip()
		n := name()
		if n == "" {
			return names
		}
		skip()
		if len(s) == 0 {
			return names
		}
		switch s[0] {
		case ',':
			names = append(names, n)
		case ')', '=': // behind a default value the next name is not looked for
			return append(names, n)
		default:
			return names
		}
	}
}
