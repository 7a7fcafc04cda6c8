package perl

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// A code is what is read of a sub, or other code: its variables.
type code struct {
	lists uint64 // of the values of each depth, from 1 on
	most  uint64 // depths
	names []variableName
}

// A variableName is a variable of code.
type variableName struct {
	index     int
	name      string
	low, high uint32 // the parts of the code that have it
	outer     bool   // it is a variable of the code around
}

// Limits of variables.
const (
	maxVariables = 1 << 12 // of code
	maxShown     = 256     // of a call
)

// codeAt reads the variables of code; nil if there is none.
func (r *runtime) codeAt(cv uint64) *code {
	return r.codes.Get(cv, func() *code { return r.readCode(cv) })
}

func (r *runtime) readCode(cv uint64) *code {
	if !r.is(cv, "cv") && !r.is(cv, "format") {
		return nil
	}
	body := r.body(cv)
	if body == 0 || uint64(r.number(body, "body.cvflags"))&r.at("cv.native") != 0 {
		return nil
	}
	pads := r.field(body, "body.padlist")
	c := &code{lists: r.field(pads, "padlist.list"), most: r.field(pads, "padlist.max")}
	if c.lists == 0 || c.lists%8 != 0 || c.most > maxLength {
		return nil
	}
	names := r.Word(c.lists)
	last := r.field(names, "names.fill")
	if last >= maxVariables { // also if there are none
		return c
	}
	words, ok := r.Words(r.field(names, "names.list"), int(last)+1)
	if !ok {
		return c
	}
	for i, at := range words {
		if r.p.Spend(4) != nil {
			break
		}
		text := r.field(at, "name.text")
		if at == 0 || text == 0 || r.field(at, "name.our") != 0 { // our: of the package
			continue
		}
		n, _ := r.U8(at + r.at("name.length"))
		flags, ok := r.U8(at + r.at("name.flags"))
		b := r.Bytes(text, int(n))
		if !ok || len(b) < 2 || b[0] != '$' && b[0] != '@' && b[0] != '%' {
			continue
		}
		c.names = append(c.names, variableName{i, string(b), r.number(at, "name.low"), r.number(at, "name.high"), uint64(flags)&r.at("name.outer") != 0})
	}
	return c
}

// notYet is the number of a part of the code that is not known yet.
const notYet = 1<<32 - 1

// within reports whether a part of the code has a variable.
func (v *variableName) within(seq uint32) bool {
	switch {
	case v.outer:
		return true
	case v.low == notYet:
		return false
	case v.high == notYet: // the code around it is still being compiled
		return seq > v.low
	case v.low > v.high: // the numbers began anew
		return seq > v.low || seq <= v.high
	}
	return seq > v.low && seq <= v.high
}

// variables reads the arguments of a call and its local variables.
func (r *runtime) variables(c *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	own = []tasks.SuspendedVariable{}
	if c.kind == callSub && c.arguments {
		args = []tasks.SuspendedVariable{}
	}
	f := r.codeAt(c.cv)
	if f == nil || c.depth > f.most {
		return args, own
	}
	list := r.Word(f.lists + 8*c.depth)
	if from, n, ok := r.list(list); ok && n > 0 && args != nil {
		if at := r.Word(from); r.is(at, "av") {
			args = append(args, r.variable("@_", at, limits))
		}
	}
	if !locals {
		return args, own
	}
	for i := range f.names {
		v := &f.names[i]
		if !v.within(c.seq) || c.outer != nil && v.within(c.outer.seq) {
			continue
		}
		if len(own) >= maxShown || r.p.Spend(4) != nil {
			break
		}
		at := r.element(list, uint64(v.index))
		flags, ok := r.flags(at)
		if !ok || uint64(flags)&r.at("flag.stale") != 0 { // it has not been reached
			continue
		}
		if kind := (uint64(flags&typeMask) == r.at("type.av")); kind != (v.name[0] == '@') {
			continue
		}
		if kind := (uint64(flags&typeMask) == r.at("type.hv")); kind != (v.name[0] == '%') {
			continue
		}
		own = append(own, r.variable(v.name, at, limits))
	}
	return args, own
}

func (r *runtime) variable(name string, at uint64, limits tasks.Limits) tasks.SuspendedVariable {
	return tasks.SuspendedVariable{Name: name, Type: r.typeOf(at), Address: at, Value: r.show(at, limits), Tree: func() report.Data { return r.tree(at, limits) }}
}
