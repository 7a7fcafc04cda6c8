package coro

import (
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A runtime has the coroutines of a process.
type runtime struct {
	procmem.Reader
	p    *tasks.Process
	word uint64 // bytes of an address
	libs map[*libstate.Library]*image.Image
	list []*libstate.Library // those of libs, in their order

	types  *types.Set
	values *values.Process

	lock  sync.Mutex
	polls map[unwind.Address]*types.Type // of Rust: the types of futures by their vtables; nil for other vtables
	funcs map[unwind.Address]*function   // by the entries of their two functions; nil for other code
}

// destroySuffix ends the symbol of the function that destroys a coroutine, of GCC and of Clang.
const destroySuffix = ".destroy\x00"

// Find finds the modules that have coroutines; nil if none has.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	if len(p.Modules) == 0 || p.Symbols == nil || !hasCXX(p) {
		return nil, nil
	}
	r := newRuntime(p)
	for _, lib := range p.Modules {
		im := (*image.Image)(p.Files.Image(lib))
		if im != nil && r.libs[lib] == nil && im.MentionsSymbol(destroySuffix) {
			r.libs[lib] = im
			r.list = append(r.list, lib)
		}
	}
	if len(r.list) == 0 {
		return nil, nil
	}
	r.useTypes()
	return r, nil
}

func newRuntime(p *tasks.Process) *runtime {
	r := &runtime{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, libs: map[*libstate.Library]*image.Image{}, funcs: map[unwind.Address]*function{}}
	r.word = uint64(r.Arch.WordSize)
	return r
}

// useTypes makes the types of the modules known, once those are.
func (r *runtime) useTypes() {
	r.types = types.NewSet(r.Arch, (*files)(r))
	r.values = &values.Process{Arch: r.Arch, Memory: r.Memory, Types: r.types, Symbols: (*files)(r), MaxAlign: 16}
}

// hasCXX reports whether C++'s library is mapped, or may be linked into a program that needs no other.
func hasCXX(p *tasks.Process) bool {
	libs := p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	all, err := libs.Libraries(false)
	if err != nil {
		return false
	}
	for _, lib := range all {
		base := find.BaseName(lib.Path)
		if strings.HasPrefix(base, "libstdc++.") || strings.HasPrefix(base, "libc++.") {
			return true
		}
	}
	for _, lib := range p.Modules {
		if im := (*image.Image)(p.Files.Image(lib)); im != nil && im.ELF() != nil && len(im.ELF().Needed()) == 0 {
			if _, ok := p.Symbols.SymbolByName(lib, "__gxx_personality_v0"); ok {
				return true
			}
		}
	}
	return false
}

func (r *runtime) Name() string { return "c++" }

// files is a runtime as types.Libraries and values.Symbols.
type files runtime

func (f *files) All() []*libstate.Library { return f.list }

func (f *files) File(lib *libstate.Library) *image.Image {
	return (*image.Image)(modules.LocalImage(f.p.Files, lib))
}

func (f *files) SymbolAt(addr unwind.Address) (values.Symbol, bool) {
	lib, ok := f.p.State.LibraryTracker().LibraryAt(addr)
	if !ok {
		return values.Symbol{}, false
	}
	s, ok := f.p.Symbols.SymbolAt(lib, addr)
	return values.Symbol{Linkage: s.Name, Off: addr - s.Addr}, ok
}
