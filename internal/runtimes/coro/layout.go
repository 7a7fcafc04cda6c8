package coro

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind"
)

// A layout is where things are in the frames of one function, by the type that the
// compiler describes: NAME.Frame of GCC, __coro_frame_ty or NAME.coro_frame_ty of Clang.
type layout struct {
	size              uint64
	index, indexBytes uint64 // where the number of the suspension point is, and its bytes; 0 for none
	promise           [2]uint64
	args, locals      []variable
	code              [2]unwind.Address // of the function that resumes it
}

// A variable is a member of a frame that the program declared.
type variable struct {
	name string
	off  uint64
	typ  *types.Type
}

// layout reads the type of a function's frames; nil if nothing describes it.
func (r *runtime) layout(f *function) *layout {
	d := f.im.DWARF()
	if d == nil || f.resume == 0 {
		return nil
	}
	bias := f.im.Bias(f.lib.LoadBias)
	fn, ok := d.FuncAt(f.resume - bias)
	if !ok {
		return nil
	}
	l := &layout{code: [2]unwind.Address{fn.Low + bias, fn.High + bias}}
	t, params := r.frameType(fn.DIE)
	if t == nil {
		if !f.gcc {
			r.guessIndex(l)
		}
		return l
	}
	l.size = t.Size()
	members := t.Members().Fields
	for i := range members {
		m := &members[i]
		if m.Static || m.Expr.Present() {
			continue
		}
		typ := r.types.OfField(m)
		switch m.Name {
		case "_Coro_resume_index", "__coro_index":
			l.index, l.indexBytes = m.Off, max(typ.Size(), 1)
			if m.Bits != 0 {
				l.index, l.indexBytes = m.BitOff/8, (m.Bits+7)/8
			}
		case "_Coro_promise", "__promise":
			l.promise = [2]uint64{m.Off, m.Off + typ.Size()}
		default:
			name, arg, ok := memberName(m.Name, f.gcc)
			if !ok {
				continue
			}
			if v := (variable{name, m.Off, typ}); arg || params[name] {
				l.args = append(l.args, v)
			} else {
				l.locals = append(l.locals, v)
			}
		}
	}
	return l
}

// memberName returns the name of the variable that a member of a frame is, and whether it is a parameter;
// false if the compiler made it for itself. GCC adds the numbers of scope and variable to the names of local
// variables, and begins its own with a capital letter and a kind: Aw1_2_3, Is_1_1.
func memberName(name string, gcc bool) (variable string, arg, ok bool) {
	if !gcc {
		for _, p := range []string{"__", "struct_", "class_", "union_", "PointerType", "UnknownType"} {
			if strings.HasPrefix(name, p) {
				return "", false, false
			}
		}
		return name, false, name != ""
	}
	if strings.HasPrefix(name, "_Coro_") || strings.HasPrefix(name, "D.") || name == "" {
		return "", false, false
	}
	base := name
	for range 2 {
		at := strings.LastIndexByte(base, '_')
		if at <= 0 || at == len(base)-1 || strings.Trim(base[at+1:], "0123456789") != "" {
			return name, true, true
		}
		base = base[:at]
	}
	for _, own := range []string{"Is", "Fs", "Aw", "Yd", "T"} {
		if rest, ok := strings.CutPrefix(base, own); ok && strings.Trim(rest, "0123456789") == "" {
			return "", false, false
		}
	}
	return base, false, true
}

// frameType finds the type of the frame that a resume function works on, and the names of the parameters.
func (r *runtime) frameType(fn dwarf.DIE) (found *types.Type, params map[string]bool) {
	params = map[string]bool{}
	var e dwarf.Entry
	u := fn.Unit
	c := u.Cursor(fn.Off)
	c.Next(&e)
	for n := 0; n < maxChildren && c.Level() > 0 && c.Next(&e); n++ {
		if e.Tag != dwarf.TagVariable && e.Tag != dwarf.TagFormalParameter {
			c.SkipChildren()
			continue
		}
		name, typ := declared(u, e.Off)
		if name != "" && e.Tag == dwarf.TagFormalParameter {
			params[name] = true
		}
		if found == nil && (name == "_Coro_frameptr" || name == "frame_ptr" || name == "__coro_frame") {
			t := r.types.Of(typ).Strip()
			if t.Pointer() {
				t = t.Target().Strip()
			}
			if t.Aggregate() && (strings.HasSuffix(t.BareName, ".Frame") || strings.HasSuffix(t.BareName, "coro_frame_ty")) {
				found = t
			}
		}
		c.SkipChildren()
	}
	return found, params
}

// maxChildren limits the entries of one function that are looked at.
const maxChildren = 1 << 12

// declared returns the name and the type of a variable, which may be that of its abstract origin.
func declared(u *dwarf.Unit, off uint64) (name string, typ types.Ref) {
	for range 4 {
		v := u.Value(off, dwarf.AttrName)
		if v.Present() && name == "" {
			name = u.Text(&v)
		}
		if v = u.Value(off, dwarf.AttrType); v.Present() && !typ.Valid() {
			typ = types.RefTo(u, &v)
		}
		v = u.Value(off, dwarf.AttrAbstractOrigin)
		to, err := u.Ref(&v)
		if !v.Present() || err != nil || !to.Valid() {
			break
		}
		u, off = to.Unit, to.Off
	}
	return name, typ
}
