package beam

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// language is the name of the language, and of the runtime.
const language = "erlang"

// A runtime is Erlang's virtual machine in one module of a process.
type runtime struct {
	memory
	lib     *libstate.Library
	release string // "25"
	version string // of the virtual machine: "13.1.5"
	jit     bool   // it compiles
	fp      bool   // its stacks have frame pointers

	modules []codeRange // in the order of their addresses
	atoms   uint64      // the table of atoms
	table   table
	// Where functions of the virtual machine begin that lead from C to Erlang's code, or back; 0 if it has none.
	machine, dirty, callDirty, schedule uint64

	names     remote.Kept[*string] // of atoms
	functions remote.Kept[*place]
	once      sync.Once
	threads   []scheduler
	failed    error // why schedulers are missing
}

// Shows reports whether a function or the path of its module is likely to be the virtual machine's.
func Shows(function, module string) bool {
	return strings.HasPrefix(function, "beam_jit_") || strings.HasPrefix(function, "erts_") || strings.HasPrefix(base(module), "beam")
}

// base is the name of a file without directories.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Find finds the virtual machine among the modules of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if a := p.State.Arch(); a == nil || a.WordSize != 8 {
		return nil, nil
	}
	var failed error
	for _, lib := range p.Modules {
		release, ok := p.Symbols.SymbolByName(lib, "etp_otp_release")
		if !ok {
			continue
		}
		r := &runtime{memory: memory{Reader: procmem.Of(p.State).Charged(p.Spend), p: p}, lib: lib}
		if err := r.open(release.Addr); err != nil {
			failed = fmt.Errorf("functions and processes of Erlang of %s: %w", lib.Path, err)
			continue
		}
		return r, nil
	}
	return nil, failed
}

func (r *runtime) Name() string { return language }

// Describe says which version it is and how its layout is known.
func (r *runtime) Describe() string {
	how := "with JIT"
	if !r.jit {
		how = "interpreted"
	}
	return "Erlang/OTP " + r.release + ", erts " + r.version + " (" + how + "), layout from the table"
}

// symbol is where the module has something; 0 if it does not say.
func (r *runtime) symbol(name string) uint64 {
	s, _ := r.p.Symbols.SymbolByName(r.lib, name)
	return s.Addr
}

// open finds the version, the layout, the code, the atoms and the table of processes, and proves them.
func (r *runtime) open(release uint64) error {
	text, ended := r.CString(release, 8)
	if r.release = string(text); !ended || r.release == "" || strings.Trim(r.release, "0123456789") != "" {
		return fmt.Errorf("its version is not known: it says %.8q", text)
	}
	text, _ = r.CString(r.symbol("etp_erts_version"), 24)
	r.version = strings.ToValidUTF8(string(text), "?")
	compiles, _ := r.U32(r.symbol("etp_beamasm"))
	r.jit = compiles == 1
	column := r.release
	if !r.jit {
		column += "emu"
	}
	if r.layout = tableLayout(layoutsText, column); r.layout == nil {
		return fmt.Errorf("no layout is known for its version, %s: known are 25 and 27", r.release)
	}
	if r.p.State.Arch() != arch.AMD64 {
		return errors.New("its layout is known for x86-64 only")
	}
	layout, _ := r.U32(r.symbol("erts_frame_layout"))
	r.fp = layout != 0
	for name, at := range map[string]*uint64{"process_main": &r.machine, "erts_dirty_process_main": &r.dirty,
		"erts_call_dirty_nif": &r.callDirty, "erts_schedule": &r.schedule} {
		*at = r.symbol(name)
	}
	if r.atoms = r.symbol("erts_atom_table"); r.atomOf(tagAtom) != "false" || r.atomOf(1<<6|tagAtom) != "true" { // as in all versions
		return errors.New("memory does not agree with the table of its version, or it had not started: it has no atoms")
	}
	if err := r.openCode(); err != nil {
		return err
	}
	return r.openTable()
}
