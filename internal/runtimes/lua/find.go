package lua

import (
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// language is the name of the language, and of the runtime.
const language = "lua"

// A runtime is Lua in one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	opcodes []opcode
	numbers map[string]byte // the instructions' numbers, by their names

	columns    []jitColumn // LuaJIT: the layouts that it may have, one of which the first state on a stack agrees with
	columnName string

	compiled remote.Kept[uint64] // the traces at addresses, 0 for none

	functions remote.Kept[*function]
	mu        sync.Mutex
	threads   map[unwind.ThreadID][]uint64   // the threads of Lua on each stack
	panicked  map[unwind.ThreadID]bool       // threads that ended with an error of which the calls are gone
	states    map[uint64]bool                // global states that were seen on stacks
	order     []uint64                       // the same, in the order in which they were seen
	globals   remote.Kept[map[uint64]string] // of each global state: names of functions
	metas     remote.Kept[string]            // of each metatable: the name that it has
}

// Shows reports whether a function or the path of its module is likely to be Lua's.
func Shows(function, module string) bool {
	for _, p := range [...]string{"lua_", "luaL_", "luaV_", "luaD_"} {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	file := module[strings.LastIndexAny(module, `/\`)+1:]
	return strings.HasPrefix(strings.TrimPrefix(file, "lib"), "lua")
}

// maxIdent is the longest text that Lua has of itself.
const maxIdent = 512

// setMode is a function that LuaJIT exports.
const setMode = "luaJIT_setmode"

// Find finds Lua among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		_, jit := p.Symbols.SymbolByName(lib, setMode)
		ident, ok := p.Symbols.SymbolByName(lib, "lua_ident")
		if !ok && !jit {
			continue
		}
		r := &runtime{memory: memory{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, jit: jit}, lib: lib,
			threads: map[unwind.ThreadID][]uint64{}, panicked: map[unwind.ThreadID]bool{}, states: map[uint64]bool{}}
		if jit {
			if p.State.Arch() != arch.AMD64 {
				failed = fmt.Errorf("functions of Lua of %s: those of LuaJIT are read on x86-64 only", lib.Path)
				continue
			}
			r.version, r.columns = version{minor: 1}, jitTable.Get()
			return r, nil
		}
		if err := r.open(ident.Addr); err != nil {
			failed = fmt.Errorf("functions of Lua of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

// open finds the version and its layout.
func (r *runtime) open(ident uint64) error {
	var b [8]byte
	if _, err := r.p.State.ReadMem(ident, b[:]); err != nil {
		return fmt.Errorf("its version is not known: %w", err)
	}
	text, _ := r.CString(ident, maxIdent)
	v, ok := parseVersion(string(text))
	if !ok {
		return fmt.Errorf("its version is not known: it says %.40q", text)
	}
	if !v.supported() {
		return fmt.Errorf("no layout is known for its version, %s: known are 5.1, 5.2.1 to 5.2.4, 5.3.3 to 5.3.6 and 5.4.0 to 5.4.9", v)
	}
	r.use(v)
	return nil
}

// use takes the tables of a version.
func (r *runtime) use(v version) {
	r.version, r.layout = v, tableLayout(layoutsText, v)
	r.opcodes, r.numbers = opcodesOf(opcodesText, v), map[string]byte{}
	for i, op := range r.opcodes {
		r.numbers[op.name] = byte(i)
	}
}

func (r *runtime) Name() string { return language }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string {
	if r.jit {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.columnName == "" {
			return "LuaJIT 2.1"
		}
		return "LuaJIT 2.1, layout from the table: that of " + r.columnName
	}
	return "Lua " + r.version.String() + ", layout from the table"
}
