package php

import (
	"context"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// runsCode is the function that runs PHP's instructions. In all builds by gcc each instruction is a part of it, and a register has the call that
// it runs; other builds have a function for each instruction, which has no name.
const runsCode = "execute_ex"

// What a native frame is to PHP.
const (
	foreign  = iota // not its own
	own             // does something by itself
	leads           // leads from call to call, or has no name
	runs            // runs PHP's instructions
	compiled        // code of no library, which may be PHP's compiler's
)

// glue are the beginnings of names of functions that only lead from one call to another.
var glue = [...]string{"zend_call_", "zend_execute", "zend_generator_", "zend_sort", "zend_insert_sort", "zend_hash_sort", "zend_hash_minmax", "zend_fiber_",
	"zend_std_call_", "zend_std_get_static", "zend_objects_", "zend_user_", "zend_lookup_class", "zend_fetch_class", "zend_throw_exception",
	"zend_exception", "zend_dispatch", "zend_iterator_", "php_execute_", "php_array_", "php_call_", "php_pcre_replace", "spl_iterator_apply", "zend_fcall_", "_zend_call_",
	"zend_vm_", "zend_try_", "zend_error", "shutdown_", "php_request_shutdown", "php_free_shutdown", "zend_deactivate", "rc_dtor_func", "zend_gc_", "gc_", "zend_hash_apply",
	"zend_hash_graceful", "zend_hash_destroy", "zend_array_destroy", "zend_reference_destroy", "zval_ptr_dtor", "_zval_ptr_dtor", "jit_", "zend_jit_", "zif_array_", "zim_Closure_"}

// kind tells what a frame is to PHP.
func (r *runtime) kind(f *unwind.Frame) uint8 {
	at := f.LookupAddr()
	lib, ok := r.p.State.LibraryTracker().LibraryAt(at)
	if !ok {
		return compiled
	}
	if lib != r.lib {
		return foreign
	}
	s, ok := r.p.Symbols.SymbolAt(lib, at)
	switch {
	case !ok:
		return leads
	case strings.HasPrefix(s.Name, runsCode):
		return runs
	}
	for _, p := range glue {
		if strings.HasPrefix(s.Name, p) {
			return leads
		}
	}
	return own
}

// Stretches pairs the calls of a thread with the native frames that run them.
func (r *runtime) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	s, ok := r.stateOf(id)
	if !ok && r.safe {
		return nil, nil
	}
	kinds := make([]uint8, len(frames))
	seen := false
	for i, f := range frames {
		kinds[i] = r.kind(f)
		seen = seen || kinds[i] == runs
	}
	if !ok && !seen {
		return nil, nil
	}
	if !r.safe && seen {
		r.mu.Lock()
		r.thread = id
		r.mu.Unlock()
		s = state{r.executor, r.core, r.request}
	}
	list, err := r.calls(s)
	if len(list) == 0 {
		return nil, err
	}
	groups := group(list)
	r.pair(list, groups, frames, kinds)
	return r.stretches(list, groups, frames, kinds), err
}

// A run is the calls that the virtual machine made since it was entered: list[from:to], youngest first.
type run struct {
	from, to int
	native   int // the frame that runs them; -1 if it is not known
	jit      bool
}

// group divides calls into runs: each ends with a function of the program for which the virtual machine was entered.
func group(list []call) []run {
	var out []run
	from := 0
	for i := range list {
		if list[i].outer && list[i].f.kind != funcInternal {
			out = append(out, run{from, i + 1, -1, false})
			from = i + 1
		}
	}
	if from < len(list) {
		out = append(out, run{from, len(list), -1, false})
	}
	return out
}

// pair finds the native frame of each run: by the register that has the youngest call that it runs; or, between those that are found so, in order
// if they are as many.
func (r *runtime) pair(list []call, runsOf []run, frames []*unwind.Frame, kinds []uint8) {
	of := map[uint64]int{}
	for g := range runsOf {
		for i := runsOf[g].from; i < runsOf[g].to; i++ {
			if list[i].at != 0 {
				of[list[i].at] = g
			}
		}
	}
	reg, known := callRegister(r.Arch)
	shape := frameShape{}
	if r.Arch == arch.AMD64 && slices.ContainsFunc(kinds, func(k uint8) bool { return k == runs || k == compiled }) {
		shape, _ = prologue(r.Some(r.symbol(runsCode), maxPrologue))
	}
	kept := uint64(0) // what the last frame of the virtual machine kept of its caller's
	next := 0         // the first run that has no frame
	var waiting []int
	settle := func(to int) {
		if len(waiting) == to-next {
			for k, i := range waiting {
				runsOf[next+k].native = i
			}
		}
		waiting = waiting[:0]
	}
	for i, f := range frames {
		if kinds[i] != runs && kinds[i] != compiled {
			continue
		}
		if known {
			v, _, _ := f.Reg(reg)
			g, ok := of[v]
			if !ok || g < next { // no function between saved it
				g, ok = of[kept]
			}
			kept = 0
			if end, ok := f.CFA(); ok && shape.call != 0 {
				kept = r.Word(end - shape.call)
			}
			if ok && g >= next {
				settle(g)
				runsOf[g].native, runsOf[g].jit, next = i, kinds[i] == compiled, g+1
				kinds[i] = runs
				continue
			}
		}
		if kinds[i] == runs {
			waiting = append(waiting, i)
		}
	}
	if n := len(runsOf) - next; len(waiting) > n { // the youngest has not begun, or has ended
		waiting = waiting[len(waiting)-n:]
	} else if len(waiting) < n { // the others are not on this stack: it is a fiber's
		for k, i := range waiting {
			runsOf[next+k].native = i
		}
		return
	}
	settle(len(runsOf))
}

// callRegister is the register in which the virtual machine has the call that it runs.
func callRegister(a *arch.Arch) (arch.Reg, bool) {
	switch a {
	case arch.AMD64:
		return arch.R14, true
	case arch.ARM64:
		return arch.ARM64X19 + 8, true
	}
	return 0, false
}

// stretches makes the stretches of the runs. The functions of PHP itself, which are native frames, are stretches of their own: the one before a run's frame
// is called by it.
func (r *runtime) stretches(list []call, runsOf []run, frames []*unwind.Frame, kinds []uint8) []tasks.Stretch {
	var out []tasks.Stretch
	at := 0 // the frames before this one are told
	for g, n := range runsOf {
		split := n.from
		for split < n.to && list[split].f.kind == funcInternal {
			split++
		}
		if n.native < at {
			out = append(out, tasks.Stretch{From: at, To: at, Calls: r.describe(list, n.from, n.to, n.jit)})
			continue
		}
		from, to := n.native, n.native+1
		if split > n.from && from > at {
			r.own(&list[split-1], frames[from-1], &kinds[from-1])
		}
		for from > at && kinds[from-1] == leads {
			from--
		}
		last := len(kinds)
		if g+1 < len(runsOf) && runsOf[g+1].native > n.native {
			last = runsOf[g+1].native
		}
		for to < last && kinds[to] == leads {
			to++
		}
		if from == 0 && n.native > 0 {
			from = 1 // the youngest frame is where it is
		}
		ended := g == 0 && r.ends(list[n.from:split], kinds[:from])
		if split > n.from {
			first := tasks.Stretch{From: from, To: n.native, Calls: r.describe(list, n.from, split, false)}
			if ended || g == 0 && r.byFFI(frames[:from]) { // the place is the call of the program, and no function of C that it called
				first.To = from
			}
			out = append(out, first)
			from = first.To
		}
		out = append(out, tasks.Stretch{From: from, To: to, Ended: ended, Calls: r.describe(list, split, n.to, n.jit)})
		at = to
	}
	return out
}

// own marks the native frame of a function of PHP itself, or of an extension: the report has its name in PHP.
func (r *runtime) own(c *call, f *unwind.Frame, kind *uint8) {
	if *kind == own || *kind == foreign {
		lib, ok := r.p.State.LibraryTracker().LibraryAt(f.LookupAddr())
		if !ok || c.f.handler == 0 {
			return
		}
		if s, named := r.p.Symbols.SymbolAt(lib, f.LookupAddr()); named && s.Addr != c.f.handler {
			return
		}
		if of, ok := r.p.State.LibraryTracker().LibraryAt(c.f.handler); ok && of == lib {
			*kind = leads
		}
	}
}

// byFFI reports whether libffi called what runs: the program declared that function itself.
func (r *runtime) byFFI(frames []*unwind.Frame) bool {
	return slices.ContainsFunc(frames, func(f *unwind.Frame) bool {
		lib, ok := r.p.State.LibraryTracker().LibraryAt(f.LookupAddr())
		return ok && strings.HasPrefix(find.BaseName(lib.Path), "libffi")
	})
}

// enders are functions of C that end the process.
var enders = [...]string{"abort", "raise", "kill", "tgkill", "pthread_kill"}

// ends reports whether the youngest calls ask for the end of the process: native are what runs below them.
func (r *runtime) ends(youngest []call, native []uint8) bool {
	if len(youngest) == 0 || slices.ContainsFunc(native, func(k uint8) bool { return k == own || k == runs }) {
		return false
	}
	f := youngest[0].f
	if f.class == "" && f.name == "posix_kill" {
		return true
	}
	// PHP has no functions of these names itself. Those of FFI have no class since 8.
	return (f.class == "FFI" || f.class == "") && slices.Contains(enders[:], f.name)
}

// describe makes the calls of a report of list[from:to].
func (r *runtime) describe(list []call, from, to int, jit bool) []tasks.Call {
	var out []tasks.Call
	for i := from; i < to; i++ {
		c := &list[i]
		var caller *call
		if i+1 < len(list) {
			caller = &list[i+1]
		}
		one := tasks.Call{Language: language, Kind: tasks.CallInterpreted, Function: r.called(c, caller), File: c.f.file}
		if jit {
			one.Kind = tasks.CallJIT
		}
		if c.f.kind == funcInternal {
			one.File = ""
		}
		one.Line, one.Approximate = r.line(c)
		if c.at != 0 {
			one.Variables = func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
				return r.variables(c, locals, limits)
			}
		}
		out = append(out, one)
	}
	return out
}
