package session

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/why/analysis"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Ref is the number of something with parts in a Session, from 1 on; 0 for what has none.
type Ref int

// A Variable is a variable of a frame, a part of one, or the value of an expression.
type Variable struct {
	Name  string
	Type  string
	Kind  string // as report.Data has it: "struct", "pointer"
	Value string // in one line, as a report writes it
	// Status is report.StatusSuccess, or why there is no value, which Reason says in words.
	Status, Reason string
	// Doubtful says that nothing proves the value, as report.Variable says.
	Doubtful bool
	// Entry is the value that a parameter had when its function was called, if it is another one.
	Entry string
	// Location says in words where a variable of a frame is stored.
	Location string
	// Module is the path of the module whose variable an expression named, if that is not the one of the frame.
	Module string
	// Address is where it is in memory, if HasAddress, and Size how many bytes it has.
	Address    arch.Address
	Size       uint64
	HasAddress bool
	// Truncated says that the value goes on.
	Truncated bool
	// Ref is what to ask for its parts; 0 if it has none.
	Ref Ref
	// Expression names it for Evaluate, in the same frame; "" if none does.
	Expression string

	object *dwarfvars.Object // what it was read from; nil for what only a report has
}

// Whose returns a remark to print behind the value: which other module the variable belongs to, or that the value is
// doubtful. It returns "" for a proved value of a variable of the frame's own module.
func (v *Variable) Whose() string {
	var of []string
	if v.Module != "" {
		of = append(of, "of "+report.Clean(path.Base(v.Module)))
	}
	if v.Doubtful {
		of = append(of, "doubtful")
	}
	if of == nil {
		return ""
	}
	return "   (" + strings.Join(of, ", ") + ")"
}

// A Scope is a group of variables of a frame.
type Scope struct {
	Name  string // "Arguments", "Locals" or "Registers"
	Ref   Ref
	Count int // of variables in it
}

// A refTable has what is remembered of things with parts. The oldest are forgotten.
type refTable struct {
	most  int
	list  []partsOwner // of the numbers from first on
	first Ref
}

// A partsOwner has parts.
type partsOwner struct {
	frame  *frameAt
	object dwarfvars.Object // an object of the process
	expr   string           // that names it; "" for none
	data   *report.Data     // instead: a value of a language above the native code
	vars   []Variable       // instead: a scope
	scope  *dwarfvars.Scope // instead: the variables of a call that are read when they are asked for
	locals bool             // of scope
	call   int
}

// add gives something a number.
func (r *refTable) add(h partsOwner) Ref {
	if len(r.list) >= r.most {
		drop := len(r.list)/4 + 1
		r.list = append(make([]partsOwner, 0, r.most), r.list[drop:]...)
		r.first += Ref(drop)
	}
	r.list = append(r.list, h)
	return r.first + Ref(len(r.list))
}

func (r *refTable) get(id Ref) (*partsOwner, error) {
	switch i := id - r.first - 1; {
	case id < 1 || int(i) >= len(r.list):
		return nil, unknown("variable", int(id))
	case i < 0:
		return nil, fmt.Errorf("variable %d is %w", id, ErrExpired)
	default:
		return &r.list[i], nil
	}
}

// at returns the frame with a number.
func (s *Session) at(id FrameID) (*frameAt, error) {
	if id < 1 || int(id) > len(s.frames) {
		return nil, unknown("frame", int(id))
	}
	return s.frames[id-1], nil
}

// hidden reports whether a variable is not listed: the compiler declared it.
func hidden(v *dwarfvars.LocalVar) bool { return v.Artificial && v.Name != "this" }

// Scopes lists the groups of variables of a frame: its arguments, its local variables, its registers. Those of a frame
// without debugging information are its registers.
func (s *Session) Scopes(ctx context.Context, id FrameID) (list []Scope, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		list, err = s.scopes(ctx, f)
		return err
	})
	return list, err
}

const (
	scopeArguments = "Arguments"
	scopeLocals    = "Locals"
	scopeRegisters = "Registers"
)

func (s *Session) scopes(ctx context.Context, f *frameAt) (list []Scope, err error) {
	if f.reportOnly() {
		read, err := s.reported(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, group := range [...]struct {
			name string
			vars []report.Variable
		}{{scopeArguments, read.args}, {scopeLocals, read.locals}} {
			if group.vars == nil {
				continue
			}
			vars := make([]Variable, len(group.vars))
			for i := range group.vars {
				vars[i] = s.reportedVariable(f, &group.vars[i])
			}
			list = append(list, Scope{group.name, s.refs.add(partsOwner{frame: f, vars: vars}), len(vars)})
		}
	} else if err := s.callers(ctx, f.st); err != nil {
		return nil, err
	} else if a, call, ok := s.activation(f); ok {
		scope := a.Live()[call]
		a.Close()
		for i, vars := range [...][]*dwarfvars.LocalVar{scope.Params, scope.Locals} {
			n := 0
			for _, v := range vars {
				if !hidden(v) {
					n++
				}
			}
			list = append(list, Scope{[...]string{scopeArguments, scopeLocals}[i], s.refs.add(partsOwner{frame: f, scope: scope, locals: i == 1, call: call}), n})
		}
	}
	if regs := s.registers(f); len(regs) > 0 {
		list = append(list, Scope{scopeRegisters, s.refs.add(partsOwner{frame: f, vars: regs}), len(regs)})
	}
	return list, nil
}

// calls returns where the entries begin and end that are calls of the function of a frame, the last of which is its
// own; false for functions that left by a tail call, and for frames that a report shows at another place of a merged call.
func (f *frameAt) calls() (first, last int, ok bool) {
	named := f.st.named
	e := &named[f.index]
	last = f.index
	for last+1 < len(named) && named[last+1].Physical == e.Physical {
		last++
	}
	first = last
	for first > 0 && named[first-1].Physical == e.Physical && !named[first-1].Tail {
		first--
	}
	return first, last, f.index >= first && !e.Tail && named[last].Merged == nil
}

// reportOnly reports whether only a report has the variables of a frame.
func (f *frameAt) reportOnly() bool {
	_, _, own := f.calls()
	return !own || f.st.named[f.index].Language != "" || f.st.task != nil && len(f.st.task.Suspended) > 0
}

// activation returns the function that a frame is a call of, and which of the calls in Live it is; false if no debugging
// information describes it, or the function of the frame has no variables of this call.
func (s *Session) activation(f *frameAt) (a *dwarfvars.Activation, call int, ok bool) {
	physical := f.st.named[f.index].Physical
	first, last, own := f.calls()
	frames := f.st.frames()
	if !own || physical >= len(frames) || frames[physical].IsTrampoline() {
		return nil, 0, false
	}
	a, err := s.facts.Variables().At(frames, physical)
	if err != nil {
		return nil, 0, false
	}
	live := a.Live()
	switch {
	case len(live) == last-first+1:
		return a, f.index - first, true
	case len(live) > 0 && f.index == last:
		return a, len(live) - 1, true
	}
	a.Close()
	return nil, 0, false
}

// reported returns the variables of a frame as a report has them.
func (s *Session) reported(ctx context.Context, f *frameAt) (variables, error) {
	st := f.st
	read, ok := st.read[f.index]
	if ok {
		return read, nil
	}
	if err := s.callers(ctx, st); err != nil {
		return read, err
	}
	read.args, read.locals = st.facts.EntryVariables(f.index)
	if err := context.Cause(ctx); err != nil {
		return read, err
	}
	if st.read == nil {
		st.read = map[int]variables{}
	}
	st.read[f.index] = read
	return read, nil
}

// reportedVariable converts a variable of a report.
func (s *Session) reportedVariable(f *frameAt, v *report.Variable) Variable {
	out := Variable{Name: v.Name, Type: v.Type, Value: v.Value, Status: v.Status, Reason: v.Reason, Entry: v.Entry, Location: v.Location, Expression: v.Name}
	if v.Data != nil {
		out.Kind = v.Data.Kind
		out.Address, out.HasAddress = arch.Address(v.Data.Address), v.Data.Address != 0
		out.Truncated = v.Data.Truncated
		if len(v.Data.Children) > 0 || f.growable(v.Data) {
			out.Ref = s.refs.add(partsOwner{frame: f, data: v.Data, expr: v.Name})
		}
	}
	return out
}

// registers lists the registers of a frame whose values are known. Calls that were inlined have none.
func (s *Session) registers(f *frameAt) []Variable {
	e := &f.st.named[f.index]
	frames := f.st.frames()
	if e.Physical >= len(frames) || e.Inlined || e.Tail || e.Language != "" && e.Kind == report.KindVirtual {
		return nil
	}
	fr := frames[e.Physical]
	a := fr.Walker().ProcessState().Arch()
	var list []Variable
	for r := range arch.Reg(a.NumRegs()) {
		if v, at, ok := fr.Reg(r); ok {
			list = append(list, Variable{Name: a.RegName(r), Kind: string(dwarfvars.KindInt), Value: fmt.Sprintf("%#x", v), Status: report.StatusSuccess,
				Doubtful: at.Doubtful, Expression: "$" + a.RegName(r)})
		}
	}
	return list
}

// Children lists n parts of something from number first on. more says that others follow.
func (s *Session) Children(ctx context.Context, of Ref, first, n int) (list []Variable, more bool, err error) {
	err = s.guarded(ctx, func() error {
		h, err := s.refs.get(of)
		if err != nil {
			return err
		}
		if first < 0 || n <= 0 {
			return nil
		}
		here := *h // adding to the table may move it
		list, more, err = s.children(here, first, n)
		return err
	})
	return list, more, err
}

func (s *Session) children(h partsOwner, first, n int) (list []Variable, more bool, err error) {
	switch {
	case h.scope != nil:
		return s.scopeVariables(&h, first, n)
	case h.vars != nil:
		rest := h.vars[min(first, len(h.vars)):]
		return rest[:min(n, len(rest))], len(rest) > n, nil
	case h.data != nil:
		end := after(first, n)
		d := s.grow(h.frame, h.data, end)
		all := d.Children[min(first, len(d.Children)):]
		for i := range all[:min(n, len(all))] {
			list = append(list, s.dataVariable(&h, first+i, &all[i]))
		}
		return list, len(all) > n || d.Truncated && len(d.Children) == end, nil
	}
	parts, more, err := h.object.Children(first, n)
	if err != nil {
		return nil, false, err
	}
	for i := range parts {
		p := &parts[i]
		expr := joined(h.expr, p)
		v := s.object(h.frame, p.Object, expr)
		if p.Transparent && v.Ref != 0 {
			if inner, err := s.refs.get(v.Ref); err == nil {
				inner.expr = h.expr
			}
		}
		v.Name = p.Name
		list = append(list, v)
	}
	return list, more, nil
}

// joined names a part by an expression, if the whole has one.
func joined(expr string, c *dwarfvars.Child) string {
	switch {
	case expr == "":
		return ""
	case c.Prefix != "":
		return c.Prefix + bracketed(expr)
	case c.Suffix == "":
		return ""
	}
	return bracketed(expr) + c.Suffix
}

// bracketed puts brackets around an expression that needs them before more is written around it.
func bracketed(expr string) string {
	for i, c := range []byte(expr) {
		switch c {
		case '*', '&', '(', ' ', '+', '@', '$':
			if c == '*' || c == '&' || c == '(' || i > 0 {
				return "(" + expr + ")"
			}
		case '[', '.':
			return expr // what follows is in brackets, or a name
		}
	}
	return expr
}

// expressionFor is how an expression names a variable: in quotes if its name is not that of one in the source.
func expressionFor(name string) string {
	for i, c := range []byte(name) {
		if c != '_' && c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			if strings.ContainsAny(name, "'\\") {
				return ""
			}
			return "'" + name + "'"
		}
	}
	return name
}

// scopeVariables reads variables of a call.
func (s *Session) scopeVariables(h *partsOwner, first, n int) (list []Variable, more bool, err error) {
	a, call, ok := s.activation(h.frame)
	if !ok {
		return nil, false, nil
	}
	defer a.Close()
	scope := a.Live()[call]
	vars := scope.Params
	if h.locals {
		vars = scope.Locals
	}
	i := 0
	names := map[string]bool{}
	for _, v := range vars {
		if hidden(v) {
			continue
		}
		if i >= after(first, n) {
			return list, true, nil
		}
		if i >= first {
			expr := expressionFor(v.Name)
			if names[v.Name] { // the name means another one
				expr = ""
			}
			list = append(list, s.variable(h.frame, a, v, expr))
		}
		names[v.Name] = true
		i++
	}
	return list, false, nil
}

// variable reads a variable of a frame, as a report does.
func (s *Session) variable(f *frameAt, a *dwarfvars.Activation, v *dwarfvars.LocalVar, expr string) Variable {
	var out Variable
	if ob, err := a.Object(v); err == nil {
		out = s.object(f, ob, expr)
	} else {
		val := a.Read(v, s.o.Values)
		out = fromValue(val)
	}
	out.Name, out.Location = v.Name, a.Where(v)
	if entry, ok := a.ReadEntry(v, s.o.Values); ok {
		if text := entry.String(); out.Status != report.StatusSuccess || text != out.Value {
			out.Entry = text
			out.Doubtful = out.Doubtful || entry.Doubtful()
		}
	}
	return out
}

// object reads an object.
func (s *Session) object(f *frameAt, ob dwarfvars.Object, expr string) Variable {
	val := ob.Read(s.o.Values)
	v := fromValue(val)
	if v.Type == "" {
		v.Type = ob.Type()
	}
	v.Address, v.Size, v.HasAddress = ob.Addr()
	v.Expression, v.object = expr, &ob
	if parts, _, err := ob.Children(0, 1); err == nil && len(parts) > 0 {
		v.Ref = s.refs.add(partsOwner{frame: f, object: ob, expr: expr})
	}
	return v
}

// fromValue converts a value.
func fromValue(val dwarfvars.Value) Variable {
	v := Variable{Type: val.Type(), Kind: string(val.Kind()), Truncated: val.More()}
	err := val.Err()
	if err == nil {
		v.Status, v.Value, v.Doubtful = report.StatusSuccess, val.String(), val.Doubtful()
		return v
	}
	v.Status, v.Reason = report.StatusUnknown, err.Error()
	switch {
	case errors.Is(err, dwarfvars.ErrParam):
		v.Status = report.StatusParam
	case errors.Is(err, dwarfvars.ErrOutOfScope):
		v.Status = report.StatusOutOfScope
	}
	return v
}

// MostDerived returns the value of a frame's expression as dwarfvars.Object.MostDerived says; false if there is no other.
func (s *Session) MostDerived(ctx context.Context, id FrameID, v Variable) (out Variable, ok bool, err error) {
	if v.object == nil {
		return v, false, nil
	}
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		var of dwarfvars.Object
		if of, ok = v.object.MostDerived(); ok {
			out = s.object(f, of, "")
			out.Name = v.Name
		}
		return nil
	})
	return out, ok, err
}

// Bits returns the bits of a number or an address, of at most 64, and how many bytes its type has. The error says that it
// is none, or that only a report has it.
func (s *Session) Bits(ctx context.Context, v Variable) (bits, size uint64, err error) {
	if v.object == nil {
		return 0, 0, errors.New("only its text is known")
	}
	err = s.guarded(ctx, func() error {
		bits, size, err = v.object.Bits()
		return err
	})
	return bits, size, err
}

// A Convenience supplies the value of a convenience variable, such as $1 or $name, which is one that Evaluate returned
// before. It returns false if there is none. name is as for dwarfvars.Convenience.
type Convenience func(name string) (Variable, bool)

// asked returns what an expression in a frame is asked of: the frames of the stack, and the numbers of the frame and of its call.
func (s *Session) asked(ctx context.Context, f *frameAt) (frames []*unwind.Frame, physical, call int, err error) {
	if err := s.callers(ctx, f.st); err != nil {
		return nil, 0, 0, err
	}
	frames, physical = f.st.frames(), f.st.named[f.index].Physical
	if physical >= len(frames) {
		return nil, 0, 0, errors.New("the frame is suspended: it has no registers")
	}
	call = dwarfvars.AllCalls
	if a, n, ok := s.activation(f); ok {
		a.Close()
		call = n
	}
	return frames, physical, call, nil
}

// Evaluate returns what an expression names in a frame, as dwarfvars.Reader.Evaluate says. In frames of Python, Java and the
// like an expression may have names of variables, attributes, elements, len(x) and comparisons. vars supply convenience
// variables; they are asked in order.
func (s *Session) Evaluate(ctx context.Context, id FrameID, expr string, vars ...Convenience) (v Variable, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		if f.reportOnly() {
			read, err := s.reported(ctx, f)
			if err != nil {
				return err
			}
			if v, err = s.path(f, read, expr); err == nil || !f.left() || read.mentions(expr) {
				return err
			}
			ob, err := s.ofProgram(ctx, f, expr, vars)
			if err != nil {
				return err
			}
			v = s.object(f, ob, expr)
			v.Name, v.Module = expr, ob.Module()
			return nil
		}
		frames, physical, call, err := s.asked(ctx, f)
		if err != nil {
			return err
		}
		ob, err := s.facts.Variables().Evaluate(frames, physical, call, expr, objectsOf(vars)...)
		if err != nil {
			return err
		}
		v = s.object(f, ob, expr)
		v.Name, v.Module = expr, ob.Module()
		return nil
	})
	return v, err
}

// objectsOf returns what supplies the objects of convenience variables.
func objectsOf(vars []Convenience) []dwarfvars.Convenience {
	list := make([]dwarfvars.Convenience, len(vars))
	for i, of := range vars {
		list[i] = func(name string) (dwarfvars.Object, bool) {
			v, ok := of(name)
			if !ok || v.object == nil {
				return dwarfvars.Object{}, false
			}
			return *v.object, true
		}
	}
	return list
}

// Report returns a Variable as a report has it, with its value as a tree.
func (s *Session) Report(ctx context.Context, v Variable) (out report.Variable, err error) {
	out = report.Variable{Name: v.Name, Type: v.Type, Value: v.Value, Status: v.Status, Reason: v.Reason, Entry: v.Entry, Location: v.Location}
	if v.Module != "" {
		out.Location = "of " + v.Module
	}
	err = s.guarded(ctx, func() error {
		if v.Status != report.StatusSuccess {
			return nil
		}
		d := report.Data{Kind: v.Kind, Text: v.Value, Truncated: v.Truncated}
		if v.HasAddress {
			d.Address = report.Addr(v.Address)
		}
		if h, err := s.refs.get(v.Ref); err == nil && h.vars == nil && h.scope == nil {
			if d = analysis.Data(h.object.Read(s.o.Values)); h.data != nil {
				d = *h.data
			}
			d.Type = "" // Variable.Type has it
		}
		out.Data = &d
		return nil
	})
	return out, err
}
