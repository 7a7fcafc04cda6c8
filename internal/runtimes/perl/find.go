package perl

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// language is the name of the language, and of the runtime.
const language = "perl"

// A runtime is Perl in one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	version string // the column of the table: "5.36", with threads "5.36t"
	release string // "5.36.0"
	threads bool   // each thread may have an interpreter of its own
	first   uint64 // the interpreter that was made first; 0 in builds whose only one is in variables of the module
	slot    uint32 // with which threads ask for their interpreter
	keyed   bool   // that is known
	globals map[string]uint64
	runsOps uint64 // the function that runs the operations of the first interpreter
	ops     map[uint64][]uint16

	packages, subs remote.Kept[string]
	codes          remote.Kept[*code]
	mu             sync.Mutex
	seen           map[unwind.ThreadID]uint64 // the interpreter that each thread was seen to run
}

// Shows reports whether a function or the path of its module is likely to be Perl's.
func Shows(function, module string) bool {
	if strings.HasPrefix(function, "Perl_") || strings.HasPrefix(function, "perl_") {
		return true
	}
	file := module[strings.LastIndexAny(module, `/\`)+1:]
	return strings.HasPrefix(strings.TrimPrefix(file, "lib"), "perl")
}

// Find finds Perl among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		r := &runtime{memory: memory{Reader: procmem.Of(p.State).Charged(p.Spend), p: p}, lib: lib, seen: map[unwind.ThreadID]uint64{}}
		if r.symbol("perl_run") == 0 || r.symbol("PL_op_name") == 0 { // others use Perl, and this is it
			continue
		}
		if err := r.open(); err != nil {
			failed = fmt.Errorf("subs of Perl of %s: %w", lib.Path, err)
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
	if r.threads {
		kind = " (with threads)"
	}
	return "Perl " + r.release + kind + ", layout from the table of " + strings.TrimSuffix(r.version, "t")
}

// symbol returns the address of a symbol; 0 if there is none.
func (r *runtime) symbol(name string) uint64 {
	s, ok := r.p.Symbols.SymbolByName(r.lib, name)
	if !ok {
		return 0
	}
	return s.Addr
}

// Sizes of the first interpreter, as its module says or may say it.
const (
	maxInterpreter     = 1 << 14
	defaultInterpreter = 4096
)

// globalNames are the variables of an interpreter that are needed.
var globalNames = [...]string{"curcop", "curstackinfo", "op", "patchlevel", "errgv", "main_cv", "compiling", "runops"}

// anyVersion has values and hashes where all versions have them.
const anyVersion = "5.36"

// open finds the version, the layout and the interpreter, and proves them.
func (r *runtime) open() error {
	r.layout = tableLayout(layoutsText, anyVersion)
	variable, key := r.symbol("PL_curinterp"), r.symbol("PL_thr_key")
	if single := r.symbol("PL_curstackinfo"); single != 0 {
		r.globals = map[string]uint64{}
		for _, name := range globalNames {
			r.globals[name] = r.symbol("PL_" + name)
		}
		return r.openSingle()
	}
	if r.threads = true; variable == 0 || key == 0 {
		return errors.New("no layout is known for builds with several interpreters and without threads, and for those without symbols")
	}
	var ok bool
	if r.first, ok = r.LookupWord(variable); !ok {
		return errors.New("its variables are not in the dump")
	}
	if r.first == 0 {
		return errors.New("it has no interpreter: it had not started, or had ended")
	}
	size, _ := r.U16(r.symbol("PL_interp_size"))
	if size == 0 || size > maxInterpreter {
		size = defaultInterpreter
	}
	words, _ := r.Words(r.first, int(size/8))
	for i, w := range words {
		release, minor, ok := r.memory.release(w)
		if !ok {
			continue
		}
		if err := r.take(release, minor+"t"); err != nil {
			return err
		}
		if at := uint64(8 * i); at != r.at("interp.patchlevel") {
			return fmt.Errorf("memory does not agree with the table of %s: its version is at %d of the interpreter", minor, at)
		}
		if !r.isInterpreter(r.first) {
			return fmt.Errorf("memory does not agree with the table of %s: its stacks of contexts are not there", minor)
		}
		r.slot, r.keyed = r.U32(key)
		return r.operations()
	}
	return errors.New("its version is not known: its interpreter does not say one")
}

// openSingle is open of builds in which the variables of the only interpreter are the module's.
func (r *runtime) openSingle() error {
	release, minor, ok := r.memory.release(r.Word(r.globals["patchlevel"]))
	if !ok {
		return errors.New("its version is not known: it had not started, or its variables are not in the dump")
	}
	if err := r.take(release, minor); err != nil {
		return err
	}
	if !r.isInterpreter(0) {
		return fmt.Errorf("memory does not agree with the table of %s: its stacks of contexts are not there", minor)
	}
	return r.operations()
}

// take takes the layout of a version.
func (r *runtime) take(release, version string) error {
	r.release, r.version = release, version
	if r.layout = tableLayout(layoutsText, version); r.layout == nil {
		return fmt.Errorf("no layout is known for its version, %s: known are 5.26, 5.28 and so on to 5.42", release)
	}
	return nil
}

// global is where a variable of an interpreter is.
func (r *runtime) global(interpreter uint64, name string) uint64 {
	if !r.threads {
		return r.globals[name]
	}
	return interpreter + r.at("interp."+name)
}

// isInterpreter reports whether an interpreter is at an address: it says the version, and has a stack of contexts.
func (r *runtime) isInterpreter(at uint64) bool {
	if r.threads && (at == 0 || at%8 != 0) {
		return false
	}
	release, _, ok := r.memory.release(r.Word(r.global(at, "patchlevel")))
	return ok && release == r.release && r.isInfo(r.Word(r.global(at, "curstackinfo")))
}

// isInfo reports whether a stack of contexts (a PERL_SI) is at an address: its numbers fit, and the one from which it was entered leads back.
func (r *runtime) isInfo(at uint64) bool {
	if at == 0 || at%8 != 0 {
		return false
	}
	index, most := int32(r.number(at, "info.index")), int32(r.number(at, "info.max"))
	kind := int32(r.number(at, "info.type"))
	list, previous := r.field(at, "info.contexts"), r.field(at, "info.prev")
	if list == 0 || list%8 != 0 || index < -1 || most < 0 || index > most || most > maxContexts || kind < -1 || kind > maxKind {
		return false
	}
	return previous == 0 || r.field(previous, "info.next") == at
}

// maxKind is more than there are kinds of stacks.
const maxKind = 32

// operations reads which function executes which operations.
func (r *runtime) operations() error {
	r.runsOps = r.Word(r.global(r.first, "runops"))
	table := r.symbol("PL_ppaddr")
	r.ops = map[uint64][]uint16{}
	n := r.at("op.count")
	if table == 0 || n > 1<<10 {
		return nil
	}
	words, _ := r.Words(table, int(n))
	for i, w := range words {
		if w != 0 {
			r.ops[w] = append(r.ops[w], uint16(i))
		}
	}
	return nil
}
