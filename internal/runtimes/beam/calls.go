package beam

import (
	"errors"
	"strconv"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// A call is one of a process: of a function that it runs, or to which another one returns.
type call struct {
	*place
	slots     []uint64 // its values, which the compiler numbers: y0 is the first
	at        uint64   // of the first
	arguments []uint64
	from      uint64 // of the first argument
	native    bool   // a function of C
	near      bool   // code that was interrupted: only what may fail has lines
}

// Limits on what memory can ask for.
const (
	maxStack = 64 << 20 // bytes
	maxDepth = 1 << 17
	maxSlots = 1 << 10 // of a call: more are not kept
)

var (
	errStack = errors.New("its stack of Erlang's calls is damaged")
	errLimit = errors.New("the limit of the analysis is reached in its Erlang calls")
	errDeep  = errors.New("it has too many Erlang calls")
)

// A position is where a process is: the code that it runs, and where its stack begins.
type position struct {
	pc          uint64 // 0 if it is not known: then only the stack tells
	stack       uint64
	after       bool // pc is where a call returns to
	interrupted bool // it is where it was interrupted, not where it called something or waits
	f           *place
	args        int    // of f
	from        uint64 // where they are
}

// suspended is the position of a process that does not run.
func (r *runtime) suspended(p *process) position {
	at := position{pc: p.i, stack: p.stop}
	// Where it goes on with a function from its beginning on, its arguments are those that were kept.
	if f := r.placeAt(p.i); f != nil && p.arity == f.arity && p.arity > 0 && r.begins(p.i, f) {
		at.args, at.from = p.arity, p.arguments
	}
	return at
}

// begins reports whether a function begins at an address: its name is right before it.
func (r *runtime) begins(pc uint64, f *place) bool {
	g := r.function(pc - (r.at("info.size") - r.at("info.function")))
	return g != nil && g.module == f.module && g.function == f.function && g.arity == f.arity
}

// calls lists the calls of a process, youngest first. With an error it has those before the damage.
func (r *runtime) calls(p *process, at position) ([]call, error) {
	var list []call
	if at.f != nil {
		list = append(list, call{place: at.f, native: true})
	} else if at.pc != 0 {
		pc := at.pc
		if at.after {
			pc--
		}
		if f := r.placeAt(pc); f != nil {
			list = append(list, call{place: f, near: at.interrupted})
		}
	}
	if n := min(at.args, maxArity); len(list) > 0 && n > 0 {
		list[0].arguments, _ = r.Words(at.from, n)
		list[0].from = at.from
	}
	if at.stack%8 != 0 || at.stack > p.end || p.end-at.stack > maxStack || at.stack < p.heap {
		return list, errStack
	}
	const step = 512
	first := at.stack // of the values of the call
	var slots []uint64
	for from := at.stack; from < p.end; {
		words, ok := r.Words(from, int(min(step, (p.end-from)/8)))
		if !ok {
			return list, errStack
		}
		for i, w := range words {
			where := from + 8*uint64(i)
			f := (*place)(nil)
			if w&mask2 == 0 {
				if _, ok := r.moduleAt(w - 1); ok {
					if f = r.placeAt(w - 1); f == nil {
						return list, errStack
					}
				}
			}
			if f == nil {
				if where == at.stack && !r.jit { // where a call would keep its return address
					first += 8
					continue
				}
				if len(slots) < maxSlots {
					slots = append(slots, w)
				}
				continue
			}
			if r.p.Spend(4) != nil {
				return list, errLimit
			}
			if n := len(list); n > 0 && !list[n-1].native {
				list[n-1].slots, list[n-1].at = slots, first
			}
			slots, first = nil, where+8
			if list = append(list, call{place: f}); len(list) > maxDepth {
				return list, errDeep
			}
		}
		from += 8 * uint64(len(words))
	}
	if n := len(list); n > 0 && !list[n-1].native {
		list[n-1].slots, list[n-1].at = slots, first
	}
	return list, nil
}

// maxShown limits the values of a call.
const maxShown = 64

// variables are the arguments of a call and the values that it keeps.
func (r *runtime) variables(c *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	for i, v := range c.arguments {
		args = append(args, r.variable("arg"+strconv.Itoa(i+1), v, c.from+8*uint64(i), limits))
	}
	if !locals {
		return args, own
	}
	for i, v := range c.slots {
		if i >= maxShown || r.p.Spend(2) != nil {
			break
		}
		if v&mask2 == 0 || v&mask6 == tagCatch { // no value: a frame pointer, what is caught there
			continue
		}
		own = append(own, r.variable("y"+strconv.Itoa(i), v, c.at+8*uint64(i), limits))
	}
	return args, own
}

func (r *runtime) variable(name string, v, at uint64, limits tasks.Limits) tasks.SuspendedVariable {
	_, typ := r.term(v).kind()
	return tasks.SuspendedVariable{Name: name, Type: typ, Address: at, Value: r.show(v, limits), Tree: func() report.Data { return r.tree(v, limits) }}
}
