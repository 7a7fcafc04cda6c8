package php

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// language is the name of the language, and of the runtime.
const language = "php"

// A runtime is PHP in one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	release string // "8.2.36"; "8.2" if the patch release is not known
	safe    bool   // each thread has globals of its own: ZTS

	// Where the globals are: of the process, or in the block of each thread.
	executor, core, request uint64
	key                     uint32 // with which threads ask for their block

	objects   heap.OwnHeap[*requestHeap]
	functions remote.Kept[*function]
	mu        sync.Mutex
	thread    unwind.ThreadID // that runs PHP, if all have the same globals; NullThread before one is seen to
}

// Shows reports whether a function or the path of its module is likely to be PHP's.
func Shows(function, module string) bool {
	for _, p := range [...]string{"execute_ex", "zend_", "php_", "_php_"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	file := module[strings.LastIndexAny(module, `/\`)+1:]
	return strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(file, "mod_"), "lib"), "php")
}

// Find finds PHP among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		globals, single := p.Symbols.SymbolByName(lib, "executor_globals")
		_, safe := p.Symbols.SymbolByName(lib, "executor_globals_offset")
		if !single && !safe {
			continue
		}
		r := &runtime{memory: memory{Reader: procmem.Of(p.State).Charged(p.Spend), p: p}, lib: lib, safe: !single, executor: globals.Addr,
			thread: unwind.NullThread}
		r.objects.Find = r.findHeap
		if err := r.open(); err != nil {
			failed = fmt.Errorf("functions of PHP of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

func (r *runtime) Name() string { return language }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string {
	kind := ""
	if r.safe {
		kind = " (ZTS)"
	}
	return "PHP " + r.release + kind + ", layout from the table of " + r.version
}

// symbol returns the address of a symbol; 0 if there is none.
func (r *runtime) symbol(name string) uint64 {
	s, _ := r.p.Symbols.SymbolByName(r.lib, name)
	return s.Addr
}

// Where the list of modules has what: it is a table, which is needed before the version is known, and the same in all.
const (
	tableData  = 16
	tableUsed  = 24
	bucketSize = 32
	maxModules = 1 << 10
)

// open finds the version, the layout and the globals, and proves them.
func (r *runtime) open() error {
	registry := r.symbol("module_registry")
	if registry == 0 {
		return errors.New("its version is not known: it has no list of modules")
	}
	used, ok := r.U32(registry + tableUsed)
	first := r.Word(registry + tableData)
	module := r.Word(first)
	if !ok || used == 0 || module == 0 {
		return r.unproved(registry, "it has no modules: it had not started, or had ended")
	}
	l := tableLayout(layoutsText, "8.2") // a module begins in the same way in all versions
	api, ok := r.U32(module + l.at("module.api"))
	if !ok {
		return r.unproved(module, "its first module is not there")
	}
	if r.version = versionOf(api); r.version == "" {
		if api < 20000000 || api > 21000000 {
			return fmt.Errorf("what should be the version of its interface is %d", api)
		}
		return fmt.Errorf("no layout is known for the version whose interface is %d: known are 7.4 to 8.4", api)
	}
	r.layout = tableLayout(layoutsText, r.version)
	debug, _ := r.U8(module + r.at("module.debug"))
	safe, ok := r.U8(module + r.at("module.zts"))
	switch {
	case !ok || debug > 1 || safe > 1 || (safe == 1) != r.safe:
		return errors.New("its modules and its symbols do not say the same of threads")
	case debug == 1:
		return fmt.Errorf("no layout is known for debug builds of %s", r.version)
	}
	r.release = cmp.Or(r.patch(first, min(used, maxModules)), r.version)
	if r.safe {
		return r.openSafe()
	}
	r.core, r.request = r.symbol("core_globals"), r.symbol("sapi_globals")
	return r.check(r.executor)
}

// unproved says why something cannot be: that the dump lacks memory, or what else is wrong.
func (r *runtime) unproved(at uint64, otherwise string) error {
	var b [8]byte
	if _, err := r.p.State.ReadMem(at, b[:]); err != nil {
		return fmt.Errorf("its version is not known: %w", err)
	}
	return errors.New(otherwise)
}

// patch finds the whole version: that of the module standard, which has PHP's.
func (r *runtime) patch(data uint64, used uint32) string {
	for i := range uint64(used) {
		module := r.Word(data + i*bucketSize)
		if name, _ := r.CString(r.field(module, "module.name"), 16); string(name) != "standard" {
			continue
		}
		v, ended := r.CString(r.field(module, "module.version"), 32)
		if ended && strings.HasPrefix(string(v), r.version+".") {
			return string(v)
		}
	}
	return ""
}

// check tells whether globals may be those: the youngest call must have a function. Globals without calls, before and after a request, deny nothing.
func (r *runtime) check(globals uint64) error {
	current, ok := r.LookupWord(globals + r.at("globals.current"))
	if !ok {
		return r.unproved(globals+r.at("globals.current"), "its globals are not there")
	}
	if current == 0 {
		return nil
	}
	list, err := r.chain(current)
	if len(list) == 0 && err != nil {
		return fmt.Errorf("memory does not agree with the table of %s: %w", r.version, err)
	}
	return nil
}

// A state is where the globals of a thread are.
type state struct{ executor, core, request uint64 }

// stateOf returns the globals with which a thread runs PHP; false if it does not.
func (r *runtime) stateOf(id unwind.ThreadID) (state, bool) {
	if r.safe {
		return r.safeState(id)
	}
	if !r.runs(id) {
		return state{}, false
	}
	return state{r.executor, r.core, r.request}, true
}

// runs reports whether a thread is the one that runs PHP, where all have the same globals: the one on whose stack it was seen, else the first of
// the process.
func (r *runtime) runs(id unwind.ThreadID) bool {
	r.mu.Lock()
	seen := r.thread
	r.mu.Unlock()
	if seen != unwind.NullThread {
		return seen == id
	}
	ids, _ := r.p.State.ThreadIDs()
	for _, other := range ids {
		if other < id {
			return false
		}
	}
	return true
}
