package ruby

import (
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
	"github.com/corewalk/corewalk/unwind/arch"
)

// language is the name of the language, and of the runtime.
const language = "ruby"

// A runtime is Ruby in one module of a process.
type runtime struct {
	names
	lib     *libstate.Library
	release string // "3.1.2"
	vm      uint64
	class   uint64 // where the class Object is, among the variables of the module
	objects heap.OwnHeap[*objectHeap]

	functions remote.Kept[*function]
	once      sync.Once
	threads   []thread
	failed    error // why there are no more threads
}

// Shows reports whether a function or the path of its module is likely to be Ruby's.
func Shows(function, module string) bool {
	for _, p := range [...]string{"ruby_", "rb_vm_", "rb_funcall", "rb_yield", "vm_exec_core"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	file := module[strings.LastIndexAny(module, `/\`)+1:]
	return strings.HasPrefix(strings.TrimPrefix(file, "lib"), "ruby")
}

// Find finds Ruby among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		version, ok := p.Symbols.SymbolByName(lib, "ruby_version")
		if !ok {
			continue
		}
		object, ok := p.Symbols.SymbolByName(lib, "rb_cObject")
		if !ok {
			continue
		}
		r := &runtime{names: names{memory: memory{Reader: procmem.Of(p.State).Charged(p.Spend), p: p}}, lib: lib}
		r.objects.Find = r.findHeap
		if err := r.open(version.Addr, object.Addr); err != nil {
			failed = fmt.Errorf("methods of Ruby of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

func (r *runtime) Name() string { return language }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string {
	return "Ruby " + r.release + ", layout from the table of " + r.version
}

// open finds the version, the layout and the virtual machine, and proves them. object is where the class Object is, among the variables of the module.
func (r *runtime) open(version, object uint64) error {
	var b [8]byte
	if _, err := r.p.State.ReadMem(version, b[:]); err != nil {
		return fmt.Errorf("its version is not known: %w", err)
	}
	text, _ := r.CString(version, 16)
	r.release = string(text)
	var ok bool
	if r.version, ok = minor(r.release); !ok {
		return fmt.Errorf("its version is not known: it says %.16q", text)
	}
	if r.layout = tableLayout(layoutsText, r.version); r.layout == nil {
		return fmt.Errorf("no layout is known for its version, %s: known are 2.7 to 3.4", r.release)
	}
	if _, err := r.p.State.ReadMem(object, b[:]); err != nil {
		return fmt.Errorf("its variables are not there: %w", err)
	}
	r.class = object
	r.scan(object)
	switch {
	case r.vm == 0:
		return fmt.Errorf("memory does not agree with the table of %s, or it had not started: it has no virtual machine", r.version)
	case r.symbols == 0:
		return errors.New("it has no table of names")
	}
	return nil
}

// minor is the version of which a release is: "3.1" of "3.1.2".
func minor(release string) (string, bool) {
	f := strings.Split(release, ".")
	if len(f) != 3 {
		return "", false
	}
	for _, part := range f {
		if part == "" || len(part) > 3 || strings.Trim(part, "0123456789") != "" {
			return "", false
		}
	}
	return f[0] + "." + f[1], true
}

// reach is how far from a variable of the module the others may be.
const reach = 1 << 19

// scan looks for what the module does not say by symbols, among its variables.
func (r *runtime) scan(object uint64) {
	r.variablesNear(object, func(at, word uint64) bool {
		r.consider(at, word)
		return !r.complete()
	})
}

// variablesNear calls do for each word around a variable that the module exports, where its others are, a page at least, until do returns false.
func (r *runtime) variablesNear(variable uint64, do func(at, word uint64) bool) {
	const page = 4096
	first := variable &^ (page - 1)
	more := true
	look := func(at uint64) bool {
		words := r.Some(at, page)
		for i := 0; i+8 <= len(words) && more; i += 8 {
			more = do(at+uint64(i), r.Arch.Word(words[i:]))
		}
		return len(words) == page && more
	}
	for at := first; at < first+reach && look(at); at += page {
	}
	for at := first - page; at < first && first-at <= reach && more && look(at); at -= page {
	}
}

func (r *runtime) complete() bool {
	return r.vm != 0 && r.symbols != 0 && (r.shapes != 0 || !r.has("shapes.list"))
}

// consider takes a word among the variables of the module for what it is found to be.
func (r *runtime) consider(at, word uint64) {
	if word == 0 || word == 1<<64-1 {
		return
	}
	if r.symbols == 0 && word&0xffffffff > unitIDs && word&0xffffffff < 1<<28 && r.isSymbols(at) {
		r.symbols = at
	}
	if word%8 != 0 || word < 1<<12 {
		return
	}
	if r.vm == 0 && r.isVM(word) {
		r.vm = word
	}
	if r.shapes == 0 && r.has("shapes.list") && r.isShapes(word) {
		r.shapes = word
	}
}

// isVM reports whether the virtual machine is at an address: its main thread leads back to it, and to what it executes, which leads back to the thread.
func (r *runtime) isVM(at uint64) bool {
	main := r.field(at, "vm.main")
	if main == 0 || r.field(main, "thread.vm") != at {
		return false
	}
	ec := r.field(main, "thread.ec")
	return ec != 0 && r.field(ec, "ec.thread") == main
}

// isSymbols reports whether the table of names is at an address: "initialize" is in its first list, as in all versions.
func (r *runtime) isSymbols(at uint64) bool {
	ids := r.Word(at + r.at("symbols.ids"))
	first := r.element(ids, 0)
	from, n, ok := r.list(first)
	if !ok || n < 2*unitIDs {
		return false
	}
	words, _ := r.Words(from, 2*unitIDs)
	for i := 0; i < len(words); i += 2 {
		if r.name(words[i]) == "initialize" {
			return true
		}
	}
	return false
}

// isShapes reports whether the tree of shapes is at an address: its root is the first of its list, and has no parent.
func (r *runtime) isShapes(at uint64) bool {
	list := r.field(at, "shapes.list")
	return list != 0 && r.field(at, "shapes.root") == list && r.number(list, "shape.parent") == noShape
}

// frameRegister is the register in which the virtual machine has the frame that it runs, in builds by gcc and clang.
func frameRegister(a *arch.Arch) (arch.Reg, bool) {
	switch a {
	case arch.AMD64:
		return arch.R15, true
	case arch.ARM64:
		return arch.ARM64X19 + 1, true
	}
	return 0, false
}

// ecOf returns what a thread executes; 0 if it is none of Ruby's.
func (r *runtime) ecOf(id unwind.ThreadID) uint64 {
	if t := r.threadOf(id); t != nil {
		return t.ec
	}
	return 0
}
