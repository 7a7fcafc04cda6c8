package ruby

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// maxShown limits the variables of a call.
const maxShown = 256

// variables reads the arguments and the local variables of a call, and those of the code around a block.
func (r *runtime) variables(c *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	if locals {
		own = append(own, r.variable("self", c.self, c.at+r.at("frame.self"), limits))
	}
	seen := map[string]bool{}
	f, ep := c.f, c.ep
	for depth := range maxScopes {
		n := min(f.localCount, maxShown)
		ids, ok := r.Words(f.locals, int(n))
		first := ep - 8*(methodIndex+uint64(f.localCount)) // before the words that say what the variables are of
		if !ok || f.locals%8 != 0 || f.localCount > maxInstructions {
			break
		}
		flags, known := r.LookupWord(ep)
		for i, id := range ids {
			if i == f.block && flags&frameBlock == 0 { // it has no value yet
				continue
			}
			argument := depth == 0 && uint32(i) < f.parameters
			name := r.idName(id)
			if !isName(name) || seen[name] || !argument && !locals {
				continue
			}
			if len(args)+len(own) >= maxShown || r.p.Spend(2) != nil {
				return args, own
			}
			at := first + 8*uint64(i)
			v, ok := r.LookupWord(at)
			if !ok || v == r.at("value.undef") {
				continue
			}
			seen[name] = true
			if one := r.variable(name, v, at, limits); argument {
				args = append(args, one)
			} else {
				own = append(own, one)
			}
		}
		if !locals || !known || flags&envLocal != 0 || f.parent == 0 {
			break
		}
		ep = r.Word(ep-8*specIndex) &^ 3
		if f = r.functionAt(f.parent); f == nil || ep == 0 || ep%8 != 0 {
			break
		}
		if flags, ok := r.LookupWord(ep); !ok || flags&1 == 0 {
			break
		}
	}
	return args, own
}

func (r *runtime) variable(name string, v, at uint64, limits tasks.Limits) tasks.SuspendedVariable {
	return tasks.SuspendedVariable{Name: name, Type: r.typeOf(v), Address: at, Value: r.show(v, limits), Tree: func() report.Data { return r.tree(v, limits) }}
}

// isName reports whether a text is the name of a variable: those that Ruby makes itself are none.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
