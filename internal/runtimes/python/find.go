package python

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A runtime is the interpreter of one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	version string
	root    uint64 // of the list of interpreters

	mu      sync.Mutex
	states  []threadState
	codes   map[uint64]*code
	methods map[method]string // see functionOf
	types   map[uint64]*typ
	codeT   uint64 // the type of code objects
	several bool   // there are several interpreters

	threadNames map[uint64]map[uint64]string // by interpreter and ident; nil before one is asked for

	byAddress map[uint64]string // names of types that have symbols; nil before they are needed

	heapTypes map[uint64]*heapType // of objects in blocks; nil for addresses where no type is

	lowData  [][2]uint64 // memory below 4 GiB that may be written to; nil if it was not looked for
	typeType uint64      // the type of types; 0 before it is needed
	asked    object      // the one that was looked at last
	modules  []uint64    // the modules among the objects that were looked at

	dequeBlocks int // of all deques that were looked at

	shown      map[shown]string // see textOf
	shownBytes int              // of the texts in shown
}

// A threadState is a PyThreadState.
type threadState struct {
	at, interp uint64
	thread     unwind.ThreadID
	known      bool   // thread is a thread of the process
	stack      uint64 // an address on the stack of its youngest call; 0 if it is not needed or not known
}

// Shows reports whether a function or the path of its module is likely to be CPython's: where the interpreter has only the
// symbols that it exports, as distributions ship it, most of its code has no name.
func Shows(function, module string) bool {
	name := strings.TrimLeft(function, "_")
	for _, p := range [...]string{"PyEval_", "PyObject_", "Py_", "PyRun_", "PyVectorcall_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	file := module[strings.LastIndexAny(module, `/\\`)+1:]
	return strings.HasPrefix(strings.TrimPrefix(file, "lib"), "python")
}

// Find finds CPython among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		s, ok := p.Symbols.SymbolByName(lib, "_PyRuntime")
		head, old := unwind.Symbol{}, false
		if !ok {
			if strings.Contains(lib.Path, "python") {
				head, old = p.Symbols.SymbolByName(lib, "interp_head") // 3.6
			}
			if !old {
				continue
			}
		}
		r := &runtime{memory: memory{p: p}, lib: lib, codes: map[uint64]*code{}, methods: map[method]string{}, types: map[uint64]*typ{}}
		if err := r.open(s.Addr, head.Addr); err != nil {
			failed = fmt.Errorf("calls of Python of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

func (r *runtime) Name() string { return "python" }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string { return "CPython " + r.version + ", layout from " + r.source }

// pathVersion finds the version in the name of a library or of a program.
var pathVersion = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`python(3)\.?(\d+)([a-z]*)[^/]*$`)
}}

// oldest and newest are the minor versions that are understood.
const (
	oldest = 6
	newest = 15
)

// debugOffsets is how much of _PyRuntime is read for _Py_DebugOffsets, in bytes.
const debugOffsets = 8 * 96

// open finds the version and the layout, and proves it.
func (r *runtime) open(root, head uint64) error {
	minor := 0
	abi := ""
	if m := pathVersion.Get().FindStringSubmatch(r.lib.Path); m != nil {
		minor, _ = strconv.Atoi(m[2])
		abi = m[3]
		r.version = m[1] + "." + m[2]
	}
	if s, ok := r.p.Symbols.SymbolByName(r.lib, "Py_Version"); ok {
		if v := r.u32(s.Addr); v>>24 == 3 {
			minor = int(v >> 16 & 0xff)
			r.version = fmt.Sprintf("%d.%d.%d", v>>24, v>>16&0xff, v>>8&0xff)
		}
	}
	var words []uint64
	free := false
	if root != 0 {
		if b := r.bytes(root, debugOffsets); b != nil && string(b[:8]) == "xdebugpy" {
			o := r.p.State.Arch().ByteOrder
			v := o.Uint64(b[8:])
			minor, free = int(v>>16&0xff), o.Uint64(b[16:]) != 0
			r.version = fmt.Sprintf("%d.%d.%d", v>>24, v>>16&0xff, v>>8&0xff)
			for i := 24; i < len(b); i += 8 {
				words = append(words, o.Uint64(b[i:]))
			}
		}
	}
	if minor == 0 {
		return errors.New("its version is not known: neither Py_Version nor the name of its file tells")
	}
	if minor < oldest || minor > newest {
		return fmt.Errorf("no layout is known for version 3.%d", minor)
	}
	if r.root = head; words != nil {
		kind := ""
		if free {
			kind = freeThreaded
		}
		if r.layout = tableLayout(layoutsText, minor, kind); r.layout == nil || !r.published(words) {
			return errors.New("the offsets in _PyRuntime make no sense")
		}
		r.free, r.source = free, "_Py_DebugOffsets"
		r.root = root + r.at("runtime.interpreters_head")
		return r.prove()
	}
	if minor > 12 {
		if at := r.absent.Load(); at >= root && at-root < debugOffsets {
			return fmt.Errorf("the layout that it publishes is not known: memory at %#x is not in the dump", at)
		}
		return errors.New("it does not publish its layout")
	}
	var failed error
	for l := range r.layouts(minor, abi) {
		r.layout = l
		r.states, r.codes, r.types, r.codeT = nil, map[uint64]*code{}, map[uint64]*typ{}, 0
		if head == 0 {
			r.root = root + r.at("runtime.interpreters_head")
		}
		err := r.prove()
		if err == nil {
			return nil
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

// layouts yields what the layout may be, the surest first: the table of the same release, the interpreter's own debug information,
// the table of another patch release, that of debug builds.
func (r *runtime) layouts(minor int, abi string) iter.Seq[*layout] {
	return func(yield func(*layout) bool) {
		plain := tableLayout(layoutsText, minor, "")
		if strings.EqualFold(path.Ext(r.lib.Path), ".dll") {
			plain.windows()
			plain.source += ", as on Windows"
			yield(plain)
			return
		}
		isDebug := strings.Contains(abi, debugBuild)
		if !isDebug && plain.source == tableOf+r.version && !yield(plain) {
			return
		}
		if l := r.described(minor); l != nil && !yield(l) {
			return
		}
		if !isDebug && plain.source != tableOf+r.version && !yield(plain) {
			return
		}
		yield(tableLayout(layoutsText, minor, debugBuild))
	}
}

// Kinds of builds, as the names of programs and columns of layouts.txt have them.
const (
	debugBuild   = "d"
	freeThreaded = "t"
)

// Limits on what memory can ask for.
const (
	maxInterpreters = 1 << 10
	maxThreads      = 1 << 16
)

// prove lists the thread states, and checks that each belongs to its interpreter and to the one before it, and that
// some frame has code. A process that has not begun to run Python has no frames, which proves nothing wrong.
func (r *runtime) prove() error {
	r.absent.Store(0)
	seen := map[uint64]bool{}
	n := 0
	for interp := r.word(r.root); interp != 0 && !seen[interp]; interp = r.field(interp, "interp.next") {
		seen[interp] = true
		if n++; n > maxInterpreters {
			break
		}
		before := uint64(0)
		for t := r.field(interp, "interp.threads_head"); t != 0 && !seen[t] && len(r.states) < maxThreads; t = r.field(t, "thread.next") {
			seen[t] = true
			if r.field(t, "thread.interp") != interp || r.field(t, "thread.prev") != before {
				if len(r.states) == 0 {
					return r.disagrees(fmt.Sprintf("a thread state at %#x does not belong to its interpreter", t))
				}
				break // torn
			}
			r.states = append(r.states, threadState{at: t, interp: interp})
			before = t
		}
	}
	if at := r.absent.Load(); len(r.states) == 0 && at != 0 {
		return r.unproved(at)
	}
	if len(r.states) == 0 {
		return errors.New("it has no threads: it had not started, or had ended")
	}
	r.findThreads()
	if r.several = n > 1; r.several {
		r.whereRun()
	}
	known := 0
	for _, s := range r.states {
		if s.known {
			known++
		}
	}
	if known == 0 {
		return r.disagrees("no thread state has a thread of the process")
	}
	if s, ok := r.p.Symbols.SymbolByName(r.lib, "PyCode_Type"); ok {
		r.codeT = s.Addr
	}
	for i := range r.states {
		if fs, _ := r.chain(&r.states[i]); len(fs) > 0 {
			for k := range fs {
				if r.codeAt(fs[k].code) != nil {
					return nil
				}
			}
			return r.disagrees("frames have no code")
		}
	}
	return nil
}

// disagrees says that memory speaks against the layout; or, when the dump lacks memory that was read for it, that nothing is proved.
func (r *runtime) disagrees(how string) error {
	if at := r.absent.Load(); at != 0 {
		return r.unproved(at)
	}
	return fmt.Errorf("memory does not agree with %s: %s", r.source, how)
}

func (r *runtime) unproved(at uint64) error {
	return fmt.Errorf("nothing proves %s: memory at %#x is not in the dump", r.source, at)
}

// findThreads finds the kernel's thread of each thread state.
func (r *runtime) findThreads() {
	byBase := map[uint64]unwind.ThreadID{}
	if !r.has("thread.native_thread_id") {
		ids, _ := r.p.State.ThreadIDs()
		for _, id := range ids {
			if regs, err := r.p.State.Registers(id); err == nil && r.p.State.Arch() == arch.AMD64 {
				if base, ok := regs.Get(arch.FSBase); ok {
					byBase[base] = id
				}
			}
		}
	}
	for i := range r.states {
		s := &r.states[i]
		if r.has("thread.native_thread_id") {
			s.thread, s.known = r.p.ThreadKnownAs(r.long(s.at, "thread.native_thread_id"))
		} else {
			s.thread, s.known = byBase[r.long(s.at, "thread.thread_id")]
		}
	}
}

// long reads an unsigned long of a thread state, which Windows has in 4 bytes: there the two ids that are published are beside each
// other.
func (r *runtime) long(at uint64, name string) uint64 {
	if r.short || r.at("thread.native_thread_id") == r.at("thread.thread_id")+4 {
		return uint64(r.u32(at + r.at(name)))
	}
	return r.field(at, name)
}

// whereRun finds the threads of thread states by the stacks on which their calls run, and puts the youngest first. Where there are
// several interpreters a thread state may be run by another thread than the one that made it, and a thread may run several: one
// interpreter within another.
func (r *runtime) whereRun() {
	if r.minor < 10 {
		slices.Reverse(r.states) // the first interpreter is the last; where the others run is not known
		return
	}
	for i := range r.states {
		s := &r.states[i]
		list, _ := r.chain(s)
		k := slices.IndexFunc(list, func(f pyFrame) bool { return f.stack != 0 })
		if k < 0 {
			continue
		}
		s.stack = list[k].stack
		if id := r.threadBelow(s.stack); id != unwind.NullThread {
			s.thread, s.known = id, true
		}
	}
	slices.SortStableFunc(r.states, func(a, b threadState) int { return cmp.Compare(a.stack-1, b.stack-1) }) // 0 last
}

// statesOf returns the thread states that a thread runs, the youngest first; without several interpreters at most one.
func (r *runtime) statesOf(id unwind.ThreadID) []*threadState {
	var list []*threadState
	for i := range r.states {
		if s := &r.states[i]; s.known && s.thread == id && s.stack != 0 {
			list = append(list, s)
		}
	}
	if s := r.state(id); len(list) == 0 && s != nil {
		list = append(list, s)
	}
	return list
}

// state returns the thread state of a thread that runs Python, or has run it; nil if there is none.
func (r *runtime) state(id unwind.ThreadID) *threadState {
	for i := range r.states {
		if s := &r.states[i]; s.known && s.thread == id && r.top(s) != 0 {
			return s
		}
	}
	for i := range r.states {
		if s := &r.states[i]; s.known && s.thread == id {
			return s
		}
	}
	return nil
}
