package coro

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// A function is a coroutine function with the code that resumes its frames.
type function struct {
	lib     *libstate.Library
	im      *image.Image
	symbol  string // linkage name of the function as the program calls it
	base    string // of the symbols of resume and the functions that destroy
	gcc     bool
	resume  unwind.Address // 0 if no symbol tells
	name    string
	file    string
	line    int // where the function begins
	*layout     // nil without debugging information of the frame
	suspend map[uint64]place
}

// Suffixes of the symbols of one coroutine. GCC's frames have a type NAME.Frame, whose two
// functions are NAME(NAME.Frame*) with a suffix; in Clang the function's own name has one.
// Frames that Clang put on a stack have the function that ends in .cleanup.
const (
	gccResume, gccDestroy = ".Frame.actor", ".Frame.destroy"
	clangResume           = ".resume"
	clangDestroy          = ".destroy"
	clangCleanup          = ".cleanup"
)

// split takes the symbol of a resume or destroy function apart.
func split(symbol string) (base string, gcc, resumes, ok bool) {
	switch {
	case strings.HasSuffix(symbol, gccResume):
		return strings.TrimSuffix(symbol, gccResume), true, true, true
	case strings.HasSuffix(symbol, gccDestroy):
		return strings.TrimSuffix(symbol, gccDestroy), true, false, true
	case strings.HasSuffix(symbol, clangResume):
		return strings.TrimSuffix(symbol, clangResume), false, true, true
	case strings.HasSuffix(symbol, clangDestroy), strings.HasSuffix(symbol, clangCleanup):
		return symbol[:strings.LastIndexByte(symbol, '.')], false, false, true
	}
	return "", false, false, false
}

// gccName takes the function's name from the base of GCC's symbols:
// _Z5countPZ5countiiE16_Z5countii for _Z5countii. The frame's type is the last identifier, with its length.
func gccName(base string) string {
	for i := len(base) - 1; i > 0; i-- {
		if !strings.HasPrefix(base[i:], "_Z") {
			continue
		}
		digits := i
		for digits > 0 && base[digits-1] >= '0' && base[digits-1] <= '9' {
			digits--
		}
		if n, err := strconv.Atoi(base[digits:i]); err == nil && n == len(base)-i+len(".Frame") {
			return base[i:]
		}
	}
	return ""
}

// function returns the coroutine one of whose functions begins at an address; nil for other code.
func (r *runtime) function(entry unwind.Address) (f *function, resumes bool) {
	r.lock.Lock()
	f, ok := r.funcs[entry]
	r.lock.Unlock()
	if ok {
		return f, f != nil && f.resume == entry
	}
	f = r.newFunction(entry)
	r.lock.Lock()
	defer r.lock.Unlock()
	if old, ok := r.funcs[entry]; ok {
		f = old
	}
	r.funcs[entry] = f
	return f, f != nil && f.resume == entry
}

func (r *runtime) newFunction(entry unwind.Address) *function {
	lib, ok := r.code(entry)
	if !ok {
		return nil
	}
	s, ok := r.p.Symbols.SymbolAt(lib, entry)
	if !ok || s.Addr != entry {
		return nil
	}
	base, gcc, resumes, ok := split(s.Name)
	if !ok {
		return nil
	}
	f := &function{lib: lib, im: r.libs[lib], base: base, gcc: gcc, symbol: base, suspend: map[uint64]place{}}
	suffix := clangResume
	if gcc {
		suffix = gccResume
		if f.symbol = gccName(base); f.symbol == "" {
			return nil
		}
	}
	if resumes {
		f.resume = entry
	} else if s, ok := r.p.Symbols.SymbolByName(lib, base+suffix); ok {
		if other, _ := r.function(s.Addr); other != nil {
			return other
		}
	}
	if f.resume == 0 && !gcc && !strings.HasPrefix(base, "_Z") {
		return nil // anything may be called x.destroy
	}
	r.describe(f)
	f.layout = r.layout(f)
	return f
}

// code returns the module with coroutines that an address of code is in.
func (r *runtime) code(addr unwind.Address) (*libstate.Library, bool) {
	for _, lib := range r.list {
		if addr < lib.Start || addr >= lib.End {
			continue
		}
		for i := range lib.Mappings {
			if m := &lib.Mappings[i]; addr >= m.Start && addr < m.End {
				return lib, m.Perm&libstate.Exec != 0
			}
		}
	}
	return nil, false
}

// describe names the function as other frames of it would be named.
func (r *runtime) describe(f *function) {
	f.name = demangle.Func(f.symbol)
	lookup, ok := r.p.Names.(unwind.CallLookup)
	s, found := r.p.Symbols.SymbolByName(f.lib, f.symbol)
	if !ok {
		return
	}
	if found {
		if calls, err := lookup.LookupCalls(s.Addr, nil); err == nil && len(calls) > 0 {
			c := &calls[len(calls)-1]
			f.name, f.file, f.line = c.Name, c.File, c.Line
		}
	}
	if f.line == 0 && f.resume != 0 {
		if calls, err := lookup.LookupCalls(f.resume, nil); err == nil && len(calls) > 0 {
			c := &calls[len(calls)-1]
			f.file, f.line = c.File, c.Line
		}
	}
}

// destroys reports whether an address is that of a function that destroys frames of f.
func (r *runtime) destroys(f *function, entry unwind.Address) bool {
	s, ok := r.p.Symbols.SymbolAt(f.lib, entry)
	if !ok || s.Addr != entry {
		return false
	}
	base, gcc, resumes, ok := split(s.Name)
	return ok && !resumes && gcc == f.gcc && base == f.base
}
