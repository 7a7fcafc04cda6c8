package ruby

import (
	"fmt"
	"strings"
)

// joinsHandlers reports whether Ruby tells of a rescue or an ensure and the code that has it as of one call, with the label of that code: since 3.4.
func (r *runtime) joinsHandlers() bool { return r.version >= "3.4" }

// handler reports whether it is the code of a rescue or an ensure.
func (f *function) handler() bool { return f.kind == codeRescue || f.kind == codeEnsure }

// label is how Ruby calls code, with the class of the method in which it is: "block in Shop#pay". Code of no method, for which method is 0, has none.
func (r *runtime) label(f *function, method uint64) string {
	before, of := "", f
	name := f.base
	if r.joinsHandlers() {
		before, of = r.within(f)
		name = of.label
		if of.kind != codeMethod {
			return before + name
		}
	} else {
		var ok bool
		if before, ok = strings.CutSuffix(f.label, f.base); !ok {
			return f.label
		}
	}
	if method == 0 {
		return before + name
	}
	return before + join(r.classAt(r.field(method, "method.owner")), name)
}

// within is in what code Ruby says that other code is, and what it writes before that: rescues, ensures and texts for eval are not counted, blocks are.
func (r *runtime) within(f *function) (before string, of *function) {
	of = f
	for range maxScopes {
		switch of.kind {
		case codeBlock, codePlain:
			levels := 0
			inner := of
			for range maxScopes {
				if of.at == inner.local || r.p.Spend(1) != nil {
					break
				}
				if of.kind == codeBlock {
					levels++
				}
				if of = r.functionAt(of.parent); of == nil {
					return before, inner
				}
			}
			if of == inner { // it is in none
				return before, of
			}
			if levels <= 1 {
				before += "block in "
			} else {
				before += fmt.Sprintf("block (%d levels) in ", levels)
			}
		case codeRescue, codeEnsure, codeEval:
			outer := r.functionAt(of.parent)
			if outer == nil {
				return before, of
			}
			of = outer
		default:
			return before, of
		}
	}
	return before, of
}
