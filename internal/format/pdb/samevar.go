package pdb

import "encoding/binary"

// Compilers list some variables more than once: an S_LOCAL record with the places where
// optimised code has the variable, and an S_REGREL32 or S_BPREL32 record with its home on the
// stack; or a variable of an inlined call also in the block around the call. Each becomes one
// Var.

// listedAs says which records listed a variable.
type listedAs uint8

const (
	asLocal listedAs = 1 << iota // S_LOCAL
	asHome                       // with one place for the whole scope
)

// recordOf returns what a record of a variable lists it as; 0 for statics and constants.
func recordOf(kind uint16) listedAs {
	switch kind {
	case symLocal:
		return asLocal
	case symRegRel, symBPRel, symRegister:
		return asHome
	}
	return 0
}

// A varName is what two records of one variable have in common.
type varName struct {
	in   *Scope
	name string
	typ  TypeID
}

// add adds a variable to a scope, or to what another record has said of it. Where the
// variable is listed with its places, these come before its home.
func (r *scopeReader) add(in *Scope, v Var, as listedAs) {
	r.last = nil
	if r.byName == nil {
		r.byName, r.names = map[varName]int{}, map[string]int{}
	}
	key := varName{in, v.Name, v.Type}
	if i, ok := r.byName[key]; ok && as != 0 {
		have := &in.Vars[i]
		if have.listed|as == asLocal|asHome && have.listed != as {
			have.listed |= as
			if as == asLocal {
				have.Param = v.Param // for its home that is a guess
				have.home, have.Places = have.Places, nil
				have.Generated = v.Generated
				r.homes = append(r.homes, varAt{in, i})
				r.last = have
			} else {
				have.Places = append(have.Places, v.Places...)
			}
			return
		}
	}
	v.listed = as
	r.byName[key] = len(in.Vars)
	r.names[v.Name]++
	in.Vars = append(in.Vars, v)
	r.last = &in.Vars[len(in.Vars)-1]
}

// A varAt is a variable by its index in a scope.
type varAt struct {
	in *Scope
	i  int
}

// finish puts the variables' homes behind their other places, and leaves out what is listed
// twice.
func (r *scopeReader) finish(root *Scope) {
	for _, h := range r.homes {
		v := &h.in.Vars[h.i]
		v.Places, v.home = append(v.Places, v.home...), nil
	}
	for _, n := range r.names {
		if n > 1 {
			r.unique(root)
			return
		}
	}
}

// key says what makes a variable another one.
func (v *Var) key(b []byte) []byte {
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	yes := func(is bool) {
		if b = append(b, 0); is {
			b[len(b)-1] = 1
		}
	}
	ranges := func(list ...Range) {
		for _, r := range list {
			number(uint64(r.Low))
			number(uint64(r.High))
		}
	}
	b = append(append(b, v.Name...), 0) // which no name has
	number(uint64(v.Type))
	yes(v.Param)
	for i := range v.Places {
		p := &v.Places[i]
		for _, n := range []uint64{uint64(p.Kind), uint64(p.Reg), uint64(p.Off), uint64(p.Inner), uint64(p.RVA), p.Value, uint64(p.At), uint64(len(p.Gaps))} {
			number(n)
		}
		yes(p.Whole)
		yes(p.Part)
		ranges(p.Range)
		ranges(p.Gaps...)
	}
	return b
}

// unique leaves out variables of a scope that are listed there twice, or in a block or an
// inlined call in it, too. It returns the variables of the scope and of the blocks in it.
func (r *scopeReader) unique(s *Scope) map[string]bool {
	var inner, all, own map[string]bool
	set := func(m *map[string]bool, text string) {
		if *m == nil {
			*m = map[string]bool{}
		}
		(*m)[text] = true
	}
	for _, in := range s.Inner {
		for v := range r.unique(in) {
			set(&inner, v)
			if in.Block {
				set(&all, v)
			}
		}
	}
	kept := s.Vars[:0]
	for _, v := range s.Vars {
		if r.names[v.Name] > 1 {
			r.key = v.key(r.key[:0])
			text := string(r.key)
			if own[text] || inner[text] && !v.Param && len(v.Places) > 0 {
				continue
			}
			set(&own, text)
			set(&all, text)
		}
		kept = append(kept, v)
	}
	s.Vars = kept
	return all
}
