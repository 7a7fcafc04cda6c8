package dwarfvars

import (
	"iter"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits of what variables are followed to.
const (
	maxLeads       = 1 << 10 // objects whose parts are read
	maxLeadParts   = 256     // parts of one object
	maxLeadDepth   = 7       // objects on the way to one
	maxLeadQueued  = 1 << 13
	maxLeadGlobals = 64
)

// A lead is an object, and the expression of it.
type lead struct {
	ob     Object
	text   string
	depth  int
	global *where.Global
}

// Leads implements where.Frame.
func (f *frameWhere) Leads(pc arch.Address, yield func(where.Lead) bool) {
	a := (*Activation)(f)
	var now, next []lead
	a.eachIn(pc, func(s *Scope, v *LocalVar) {
		if v.Name == "" || strings.HasPrefix(v.Name, "_") || v.Artificial && v.Name != "this" { // the library's own, of inlined calls
			return
		}
		if ob, err := a.object(v); err == nil {
			now = append(now, lead{Object{in: a.scene(), ob: ob, at: true}, v.Name, 0, nil})
		}
	})
	if a.fn.Unit != nil {
		for g := range a.globalsOf(a.fn.Unit) {
			now = append(now, lead{Object{in: a.scene(), ob: values.Object{Type: g.typ, Mem: true, Addr: g.low + a.bias, Size: g.size}, at: true}, g.name, 0, &where.Global{Name: g.name, Low: g.low + a.bias, Size: g.size, Type: g.typ}})
		}
	}
	seen := map[leadKey]bool{}
	tell := func(l *lead) bool {
		return yield(where.Lead{Text: l.text, Addr: l.ob.ob.Addr, Size: l.ob.ob.Size, Type: l.ob.ob.Type, Global: l.global})
	}
	for i := range now {
		if now[i].ob.ob.Mem && !tell(&now[i]) {
			return
		}
	}
	left := maxLeads
	for ; len(now) > 0; now, next = next, now[:0] { // the nearest first
		for i := range now {
			if left--; left < 0 {
				return
			}
			l := &now[i]
			parts, _, _ := l.ob.Children(0, maxLeadParts)
			for j := range parts {
				to := lead{parts[j].Object, l.of(&parts[j]), l.depth + 1, l.global}
				if !to.ob.at || !to.ob.ob.Mem {
					continue
				}
				key := leadKey{to.ob.ob.Addr, to.ob.ob.Size, to.ob.ob.Type.Strip().Name()}
				if seen[key] {
					continue
				}
				seen[key] = true
				if !tell(&to) {
					return
				}
				if to.depth < maxLeadDepth && len(next) < maxLeadQueued && to.ob.leads() {
					next = append(next, to)
				}
			}
		}
	}
}

// globalsOf are variables with fixed addresses of a unit, which are objects with parts, as many as are followed.
func (a *Activation) globalsOf(u *dwarf.Unit) iter.Seq[global] {
	return func(yield func(global) bool) {
		a.globalIn(u, ^uint64(0)) // which reads on to the end
		known, _ := a.r.globals.Load(u)
		k := known.(*globals)
		k.mu.Lock()
		found := k.found
		k.mu.Unlock()
		left := maxLeadGlobals
		for _, g := range found {
			if t := g.typ.Strip(); !t.Aggregate() && !t.Pointer() && t.Tag != dwarf.TagArrayType {
				continue
			}
			if left--; left < 0 || !yield(g) {
				return
			}
		}
	}
}

// A leadKey is an object: several ways lead to one.
type leadKey struct {
	addr arch.Address
	size uint64
	name string
}

// leads reports whether an object may have parts.
func (o *Object) leads() bool {
	t := o.ob.Type.Strip()
	if t.Tag == dwarf.TagUnionType {
		return false // which of its members it has is not known
	}
	return t.Pointer() || t.Reference() || t.Aggregate() || t.Tag == dwarf.TagArrayType
}

// of is the expression of a part.
func (l *lead) of(c *Child) string {
	text, t := l.text, l.ob.ob.Type.Strip()
	suffix := c.Suffix
	if member, ok := strings.CutPrefix(suffix, "->"); ok && (t.Reference() || t.Language == dwarf.LangRust) {
		suffix = "." + member
	}
	switch {
	case c.Prefix != "" && t.Reference():
		return text
	case c.Prefix != "":
		return c.Prefix + text
	case c.Name == "get()": // of a smart pointer, which is called like it
		return text
	case c.Name == "[contained value]":
		return "*" + text
	case suffix == "" && c.Key.v != nil:
		suffix = "[...]"
	case suffix == "", suffix == ".0" && strings.HasPrefix(t.BareName, "Option<"): // a base class; what there is
		return text
	}
	if strings.HasPrefix(text, "*") {
		text = "(" + text + ")"
	}
	return text + suffix
}
