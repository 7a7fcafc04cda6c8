package perl

import (
	"context"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/starts"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// What a native frame is to Perl.
const (
	foreign  = iota // not its own
	own             // does something by itself
	leads           // leads from call to call, or has no name
	runs            // runs operations
	catches         // executes an operation that may run others where it catches their errors
	nameless        // executes an operation, and has no name
)

// A native is what a frame is to Perl.
type native struct {
	kind uint8
	name string // of the operation of a nameless one
}

// runsPrefix is how the functions begin that run operations.
const runsPrefix = "Perl_runops_"

// glue are the beginnings of names of functions that only lead from one call to another.
var glue = [...]string{"Perl_call_", "perl_call_", "Perl_eval_sv", "Perl_eval_pv", "Perl_amagic_", "Perl_magic_methcall", "Perl_magic_get", "Perl_magic_set", "Perl_mg_", "Perl_tryAMAGIC", "Perl_try_amagic",
	"Perl_csighandler", "Perl_sighandler", "Perl_despatch_signals", "Perl_die_unwind", "Perl_pp_entersub", "Perl_pp_enter", "Perl_pp_leave", "Perl_pp_require", "Perl_pp_null", "Perl_pp_unstack",
	"Perl_sv_free", "Perl_sv_clear", "Perl_free_tmps", "Perl_leave_scope", "Perl_pop_scope", "Perl_newATTRSUB", "Perl_utilize", "Perl_yyparse", "Perl_docatch", "S_", "perl_run", "perl_parse",
	"perl_destruct", "main", "Perl_block_end", "Perl_process_special_blocks"}

// own reports whether a frame is of Perl's own code.
func (r *runtime) own(f *unwind.Frame) bool {
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	lib, ok := libs.LibraryAt(f.LookupAddr())
	return ok && lib == r.lib
}

// natives tells what frames are to Perl.
func (r *runtime) natives(frames []*unwind.Frame) []native {
	list := make([]native, len(frames))
	known := map[uint64]bool{r.runsOps: true}
	for at := range r.ops {
		known[at] = true
	}
	for i, f := range frames {
		if r.p.Spend(4) != nil {
			return list
		}
		mine := r.own(f)
		if !mine && !r.runsElsewhere(f) {
			continue
		}
		s, named := r.p.Symbols.SymbolAt(r.lib, f.LookupAddr())
		start := starts.Of(r.p.State, r.p.Files, r.p.Symbols, f.LookupAddr(), known)
		ops := r.ops[start]
		switch {
		case start == r.runsOps && start != 0, mine && named && strings.HasPrefix(s.Name, runsPrefix):
			list[i].kind = runs
		case !mine:
		case r.catching(ops):
			list[i].kind = catches
		case named && slices.ContainsFunc(glue[:], func(p string) bool { return strings.HasPrefix(s.Name, p) }):
			list[i].kind = leads
		case named:
			list[i].kind = own
		case len(ops) == 1 && uint64(ops[0]) != r.at("op.entersub"):
			list[i] = native{nameless, r.opName(ops[0])}
		default:
			list[i].kind = leads
		}
	}
	return list
}

// runsElsewhere reports whether a frame may be of another module's function that runs operations.
func (r *runtime) runsElsewhere(f *unwind.Frame) bool {
	const far = 1 << 12
	return f.LookupAddr()-r.runsOps < far
}

// catching reports whether a function executes operations that catch errors.
func (r *runtime) catching(ops []uint16) bool {
	for _, op := range ops {
		for _, name := range [...]string{"op.entertry", "op.entereval", "op.require", "op.dofile", "op.trycatch"} {
			if uint64(op) == r.at(name) {
				return true
			}
		}
	}
	return false
}

// opName is the name of an operation, "sort".
func (r *runtime) opName(op uint16) string {
	s, ended := r.CString(r.Word(r.symbol("PL_op_name")+8*uint64(op)), 32)
	if !ended {
		return ""
	}
	return string(s)
}

// Stretches pairs the calls of a thread with the native frames that run them.
func (r *runtime) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	if len(frames) == 0 || !slices.ContainsFunc(frames, r.own) {
		return nil, nil
	}
	interpreter, ok := r.running(id, frames)
	if !ok {
		return nil, nil
	}
	kinds := r.natives(frames)
	if !r.threads && !slices.ContainsFunc(kinds, func(n native) bool { return n.kind == runs || n.kind == own }) {
		return nil, nil
	}
	r.mu.Lock()
	r.seen[id] = interpreter
	r.mu.Unlock()
	s, err := r.calls(interpreter)
	if len(s.list) == 0 {
		return nil, err
	}
	enclose(s.list)
	r.pair(&s, frames, kinds)
	return r.stretches(&s, frames, kinds), err
}

// pair finds the native frame of each level: by the evals whose errors go to a frame, and between those in order, if there are as many levels as frames.
func (r *runtime) pair(s *stack, frames []*unwind.Frame, kinds []native) {
	var at []int // the frames that run operations
	for i := range kinds {
		if kinds[i].kind == runs {
			at = append(at, i)
		}
	}
	s.split(frames, kinds)
	from, next := 0, 0 // levels and frames that have no partner
	for g := range s.levels {
		if n := s.levels[g].native; n >= 0 {
			k := slices.Index(at, n)
			s.order(from, g, at[next:max(k, next)])
			from, next = g+1, max(k+1, next)
		}
	}
	s.order(from, len(s.levels), at[next:])
}

// order gives levels frames in order: where there are more levels, those that may be one with the next are, and what is compiled only has no frame.
func (s *stack) order(from, to int, frames []int) {
	if to-from > len(frames) {
		soft := 0
		for g := from; g < to; g++ {
			if s.levels[g].soft {
				soft++
			}
		}
		if to-from-soft == len(frames) || to-from-soft == len(frames)+1 && to == len(s.levels) {
			for g := from; g < to; g++ {
				if s.levels[g].soft && g+1 < len(s.levels) {
					s.levels[g+1].from = s.levels[g].from
					s.levels[g].to = s.levels[g].from
				}
			}
		} else {
			soft = 0
		}
		if to == len(s.levels) && to-from-soft == len(frames)+1 {
			to--
		}
		if to-from-soft != len(frames) {
			return
		}
		k := 0
		for g := from; g < to; g++ {
			if soft > 0 && s.levels[g].soft {
				continue
			}
			s.levels[g].native = frames[k]
			k++
		}
		return
	}
	if to-from != len(frames) {
		return
	}
	for k, n := range frames {
		s.levels[from+k].native = n
	}
}

// split divides levels where an eval ran its code in a frame of its own, and says of evals whose frames are found which those are.
func (s *stack) split(frames []*unwind.Frame, kinds []native) {
	var out []level
	for _, l := range s.levels {
		from := l.from
		last := -1 // the frame of the evals seen last
		for i := l.from; i < l.to; i++ {
			c := &s.list[i]
			if !c.catches() {
				continue
			}
			n, own := catcher(c.env, frames, kinds)
			if n < 0 {
				continue
			}
			older := false // an older eval of the level has the same frame
			for k := i + 1; k < l.to && !older; k++ {
				older = s.list[k].env == c.env && s.list[k].catches()
			}
			last = n
			if own && !older {
				out = append(out, level{from: from, to: i + 1, native: n})
				from, last = i+1, -1
			}
		}
		out = append(out, level{from: from, to: l.to, native: last, soft: l.soft})
	}
	s.levels = out
}

// catches reports whether a call is an eval that the code of a level began.
func (c *call) catches() bool { return c.kind >= callBlock && c.kind != callMain && c.retop != 0 }

// catcher finds the frame that runs the code of an eval whose errors go to an address of the native stack, -1 if it is not known; and whether the eval has it
// for itself.
func catcher(env uint64, frames []*unwind.Frame, kinds []native) (int, bool) {
	i, _ := slices.BinarySearchFunc(frames, env, func(f *unwind.Frame, env uint64) int {
		if f.SP() <= env {
			return -1
		}
		return 1
	})
	if i--; i < 1 || i+1 >= len(frames) || kinds[i-1].kind != runs {
		return -1, false
	}
	older := i
	for older < len(kinds) && kinds[older].kind != runs {
		older++
	}
	// The operation calls what catches errors, or ends with it: then it has no frame.
	own := older < len(kinds) && (older-1 == i || older-2 == i && kinds[older-1].kind == catches)
	return i - 1, own
}

// stretches makes the stretches of the levels.
func (r *runtime) stretches(s *stack, frames []*unwind.Frame, kinds []native) []tasks.Stretch {
	var out []tasks.Stretch
	at := 0 // the frames before this one are told
	name := func(to int) {
		for i := at; i < to; i++ {
			if kinds[i].kind == nameless && kinds[i].name != "" {
				out = append(out, tasks.Stretch{From: i, To: i + 1, Named: true, Calls: []tasks.Call{{Language: language, Kind: tasks.CallInterpreted, Function: kinds[i].name}}})
			}
		}
	}
	var waiting []tasks.Call // of levels that have no frame
	for g := range s.levels {
		l := &s.levels[g]
		calls := r.describe(s.list[l.from:l.to])
		if l.native < at {
			waiting = append(waiting, calls...)
			continue
		}
		from, to := l.native, l.native+1
		for from > max(at, 1) && kinds[from-1].kind >= leads && kinds[from-1].kind != runs && kinds[from-1].kind != nameless {
			from--
		}
		for to < len(kinds) && kinds[to].kind >= leads && kinds[to].kind != runs && kinds[to].kind != nameless {
			to++
		}
		if from == 0 { // the youngest frame is where it is
			from, to = 1, max(to, 1)
		}
		name(from)
		out = append(out, tasks.Stretch{From: from, To: to, Calls: append(waiting, calls...), Ended: at == 0 && r.ends(frames[:l.native])})
		waiting = nil
		at = to
	}
	name(len(kinds))
	if len(waiting) > 0 {
		n := at
		if n == 0 {
			n = r.youngest(kinds)
		}
		out = append(out, tasks.Stretch{From: n, To: n, Calls: waiting})
	}
	return out
}

// youngest is where calls go none of which has a frame: before the youngest that runs operations, or the youngest of Perl's, where code is compiled only.
func (r *runtime) youngest(kinds []native) int {
	for _, is := range [...]func(native) bool{func(n native) bool { return n.kind == runs }, func(n native) bool { return n.kind != foreign }} {
		if i := slices.IndexFunc(kinds, is); i >= 0 {
			return max(i, 1)
		}
	}
	return len(kinds)
}

// ends reports whether the program asks for the end of the process: native are the frames within the youngest call.
func (r *runtime) ends(native []*unwind.Frame) bool {
	if len(native) == 0 || r.own(native[0]) {
		return false
	}
	interpreter, ok := r.interpreterOf(native[0].Thread())
	if !ok {
		return false
	}
	op := r.opOf(r.Word(r.global(interpreter, "op")))
	return op == r.at("op.kill") || op == r.at("op.dump")
}

// opOf is the type of an operation.
func (r *runtime) opOf(at uint64) uint64 {
	v, ok := r.U16(at + r.at("op.type"))
	if at == 0 || at%8 != 0 || !ok {
		return 0
	}
	const bits = 9
	if b := [2]byte{1}; r.Arch.ByteOrder.Uint16(b[:]) != 1 {
		v >>= 16 - bits
	}
	return uint64(v) & (1<<bits - 1)
}

// describe makes the calls of a report.
func (r *runtime) describe(list []call) []tasks.Call {
	var out []tasks.Call
	for i := range list {
		c := &list[i]
		if c.kind == callTry {
			continue
		}
		one := tasks.Call{Language: language, Kind: tasks.CallInterpreted, Function: c.function}
		if c.known {
			one.File, one.Line = c.file, c.line
		}
		if c.cv != 0 {
			one.Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
				return r.variables(c, locals, limits)
			}
		}
		out = append(out, one)
	}
	return out
}
