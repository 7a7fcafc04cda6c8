package coro

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// isAsync reports whether a type is what the compiler makes of an async function, block or closure.
func isAsync(t *types.Type) bool {
	return strings.HasPrefix(t.BareName, "{async_") && strings.Contains(t.BareName, "_env#") && t.Members().Variant != nil && t.Members().Variant.Has
}

// asyncName is the function's name: futures::top for futures::top::{async_fn_env#0}.
func asyncName(t *types.Type) string {
	full := t.FullName()
	if at := strings.LastIndex(full, "::{async_fn_env#"); at > 0 {
		return full[:at]
	}
	return strings.Replace(full, "_env#", "#", 1)
}

// ownName is the name of the outermost function of a chain that is the program's own, if there is one.
func ownName(c *chain) string {
	for _, l := range c.levels {
		if n := asyncName(l.typ); !strings.HasPrefix(n, "async_") {
			return n
		}
	}
	return asyncName(c.levels[0].typ)
}

// States of a future; those from suspended on are suspension points.
const (
	unresumed = 0
	returned  = 1
	panicked  = 2
	suspended = 3
)

// state reads at which suspension point a future is; false if there is no such one.
func (r *runtime) state(t *types.Type, at unwind.Address) (v uint64, ok bool) {
	p := t.Members().Variant
	d := r.types.OfField(&p.Discr)
	size := d.Strip().ByteSize
	if size == 0 || size > 8 {
		return 0, false
	}
	v, ok = r.Uint(at+p.Discr.Off, int(size))
	if !ok || v >= uint64(len(p.Variants)) {
		return 0, false
	}
	return v, true
}

// A level is one async function of a chain, from the outermost in.
type level struct {
	typ   *types.Type
	at    unwind.Address
	state uint64
	sure  bool // the level before awaits it
}

// A chain is a future with what it awaits, and what that awaits.
type chain struct {
	levels []level
	boxes  []*future

	// What the innermost awaits, if that is no async function; else nil.
	lastType *types.Type
	lastAt   unwind.Address
}

// unroll follows what a future awaits.
func (s *reach) unroll(f *future) *chain {
	c := &chain{}
	t, at, sure := f.typ, f.at, true
	for t != nil && len(c.levels) < maxChain && s.p.Spend(frameCost) == nil {
		state, ok := s.state(t, at)
		if !ok {
			break
		}
		c.levels = append(c.levels, level{typ: t, at: at, state: state, sure: sure})
		if at != f.at && s.futures.found[at] != nil {
			if s.futures.found[at].emitted {
				break
			}
			c.boxes = append(c.boxes, s.futures.found[at])
		}
		for _, l := range c.levels[:len(c.levels)-1] {
			if l.at == at && l.typ == t {
				return c // it awaits itself: damaged memory
			}
		}
		if state < suspended {
			break
		}
		awaited := awaitee(s.types, t, state)
		if awaited == nil {
			break
		}
		inner, addr, certain := s.inside(s.types.OfField(awaited), at+awaited.Off, 0)
		if inner == nil {
			c.lastType, c.lastAt = s.types.OfField(awaited).Strip(), at+awaited.Off
		}
		t, at, sure = inner, addr, certain
	}
	return c
}

// variant returns the members of a state.
func variant(set *types.Set, t *types.Type, state uint64) (outer *types.Field, members []types.Field) {
	p := t.Members().Variant
	size := int(set.OfField(&p.Discr).Strip().ByteSize)
	for i := range p.Variants {
		v := &p.Variants[i]
		if v.Holds(state, size, false) && len(v.Fields) == 1 {
			return &v.Fields[0], set.OfField(&v.Fields[0]).Strip().Members().Fields
		}
	}
	return nil, nil
}

func awaitee(set *types.Set, t *types.Type, state uint64) *types.Field {
	_, members := variant(set, t, state)
	for i := range members {
		if members[i].Name == "__awaitee" {
			return &members[i]
		}
	}
	return nil
}

// maxWrap is how deep an async function may be in futures that wrap it.
const maxWrap = 6

// inside finds the async function in an object that is awaited: itself, behind a pointer or a Box<dyn Future>, or in
// another future that wraps it. sure is false for that: it need not be what it awaits now.
func (s *reach) inside(t *types.Type, at unwind.Address, depth int) (inner *types.Type, addr unwind.Address, sure bool) {
	t = t.Strip()
	switch {
	case depth > maxWrap:
		return nil, 0, false
	case isAsync(t):
		return t, at, true
	case t.Pointer():
		to := t.Target().Strip()
		if v, err := s.ReadWord(at); err == nil && isAsync(to) {
			return to, v, true
		}
		return nil, 0, false
	case !t.Aggregate():
		return nil, 0, false
	}
	fields := t.Members().Fields
	if data, vtable := fieldNamed(fields, "pointer"), fieldNamed(fields, "vtable"); data != nil && vtable != nil {
		v, err := s.ReadWord(at + data.Off)
		w, err2 := s.ReadWord(at + vtable.Off)
		if err != nil || err2 != nil {
			return nil, 0, false
		}
		if to := s.dynamic(w); to != nil {
			return to, v, true
		}
		return nil, 0, false
	}
	transparent := strings.HasPrefix(t.BareName, "Pin<") || strings.HasPrefix(t.BareName, "Box<") || strings.HasPrefix(t.BareName, "Unique<") || strings.HasPrefix(t.BareName, "NonNull<")
	for i := range fields[:min(len(fields), 16)] {
		f := &fields[i]
		if f.Static || f.Expr.Present() {
			continue
		}
		if inner, addr, sure := s.inside(s.types.OfField(f), at+f.Off, depth+1); inner != nil {
			return inner, addr, sure && transparent
		}
	}
	return nil, 0, false
}

func fieldNamed(fields []types.Field, name string) *types.Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

// asyncTask makes a task of a future: what it awaits first, then itself, then the futures that have it.
func (s *reach) asyncTask(f *future, chains map[*future]*chain) *tasks.Task {
	c := chains[f]
	if len(c.levels) == 0 {
		return s.plainTask(f, c)
	}
	key := f.key()
	inner := c.levels[len(c.levels)-1]
	t := &tasks.Task{Key: key, Name: ownName(c), Runtime: "rust", Thread: unwind.NullThread,
		State: tasks.StateWaiting, Status: "suspended", Certainty: tasks.Possible}
	switch inner.state {
	case unresumed:
		if t.Status = "not begun"; len(c.levels) == 1 {
			t.State = tasks.StateRunnable
		}
	case returned:
		t.State, t.Status = tasks.StateDead, "done"
	case panicked:
		t.State, t.Status = tasks.StateDead, "panicked"
	default:
		if c.lastType != nil {
			t.Wait = s.waits(c)
		}
	}
	if f.task != nil {
		f.task.describe(t)
	}
	seen := map[*future]bool{}
	sure := true
	first := f
	for ; f != nil && !seen[f] && len(t.Suspended) < maxChain && (f == first || f.task == nil); f = f.owner {
		seen[f], f.emitted = true, true
		for i := len(chains[f].levels) - 1; i >= 0; i-- {
			l := &chains[f].levels[i]
			out := s.level(l, key)
			if len(t.Suspended) > 0 {
				if out.Awaits = tasks.Possible; sure {
					out.Awaits = tasks.Certain
				}
			}
			t.Suspended = append(t.Suspended, out)
			sure = l.sure
		}
		sure = false
	}
	return t
}

// key identifies the task of a future: by the address that its executor knows it by, if it has one.
func (f *future) key() tasks.Key {
	if f.task != nil {
		return tasks.Key{Kind: tasks.KindAsync, ID: f.task.at}
	}
	return tasks.Key{Kind: tasks.KindAsync, ID: f.at}
}

// plainTask makes a task of an executor whose future is no async function; nil of other futures.
func (s *reach) plainTask(f *future, c *chain) *tasks.Task {
	if f.task == nil {
		return nil
	}
	f.emitted = true
	name := f.typ.FullName()
	t := &tasks.Task{Key: f.key(), Name: name, Thread: unwind.NullThread, State: tasks.StateWaiting, Status: "suspended", Certainty: tasks.Possible,
		Suspended: []tasks.SuspendedFrame{{Function: name, Object: f.at, Approximate: true}}}
	c.lastType, c.lastAt = f.typ, f.at
	t.Wait = s.waits(c)
	f.task.describe(t)
	return t
}

// level describes one async function of a task.
func (s *reach) level(l *level, key tasks.Key) tasks.SuspendedFrame {
	out := tasks.SuspendedFrame{Function: asyncName(l.typ), Object: l.at, Approximate: true}
	outer, members := variant(s.types, l.typ, l.state)
	if outer == nil {
		return out
	}
	u := outer.DIE.Unit
	line, file := u.Value(outer.DIE.Off, dwarf.AttrDeclLine), u.Value(outer.DIE.Off, dwarf.AttrDeclFile)
	if line.Present() && file.Present() {
		out.File, out.Line, out.Approximate = u.File(file.U).Path, int(line.U), l.state < suspended
	}
	params := map[string]bool{}
	_, captured := variant(s.types, l.typ, unresumed)
	for i := range captured {
		params[captured[i].Name] = true
	}
	if l.state == returned || l.state == panicked {
		return out
	}
	var args, locals []variable
	have := map[string]bool{}
	for i := range members {
		m := &members[i]
		if m.Static || m.Expr.Present() || strings.HasPrefix(m.Name, "__") || have[m.Name] {
			continue
		}
		have[m.Name] = true
		v := variable{m.Name, m.Off, s.types.OfField(m)}
		s.guard(&v, l.at, key)
		if params[m.Name] {
			args = append(args, v)
		} else {
			locals = append(locals, v)
		}
	}
	out.Args, out.Locals = s.variablesOf(l.at, args), s.variablesOf(l.at, locals)
	return out
}
