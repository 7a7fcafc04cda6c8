package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Function is a function of the program or a library, whether or not a stack has it.
type Function struct {
	Name    string // demangled, as in stacks
	Linkage string // as the linker has it; "" if that is Name
	Address arch.Address
	Size    uint64        // in bytes; 0 if not known
	Module  string        // the module's path
	Source  report.Source // where it begins, if that is known
}

// maxMatches is how many functions of one module are found.
const maxMatches = 100_000

// Functions lists n functions, from number first on, whose names match a regular expression (package regexp): by module, those of the
// program first, then by name. The names are those of symbol tables, or of symbol files where there are no such tables: functions
// that were inlined everywhere are not there. more says that others follow. Every name is looked at, which takes a second for
// half a million of C++.
func (s *Session) Functions(ctx context.Context, pattern string, first, n int) (list []Function, more bool, err error) {
	return s.functions(ctx, pattern, first, n, math.MaxInt)
}

// functions is Functions among the first names, as many as looked says.
func (s *Session) functions(ctx context.Context, pattern string, first, n, looked int) (list []Function, more bool, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, false, fmt.Errorf("the pattern of a search: %w", err)
	}
	anyCase, err := regexp.Compile("(?i:" + pattern + ")")
	if err != nil {
		return nil, false, fmt.Errorf("the pattern of a search: %w", err)
	}
	err = s.guarded(ctx, func() error {
		table := s.t.ProcessState().LibraryTracker()
		lookup, ok := s.t.SymbolLookup().(interface {
			Functions(*libstate.Library) iter.Seq[unwind.Symbol]
		})
		if table == nil || !ok {
			return errors.New("the names of functions cannot be listed")
		}
		libs, err := table.Libraries(false)
		if err != nil {
			return err
		}
		for _, lib := range libs {
			if more = len(list) > after(first, n); more {
				break
			}
			found, err := matching(ctx, lookup.Functions(lib), lib, re, anyCase, &looked)
			if err != nil {
				return err
			}
			list = append(list, found...)
		}
		more = more || len(list) > after(first, n)
		list = list[min(max(first, 0), len(list)):]
		list = list[:min(max(n, 0), len(list))]
		for i := range list {
			list[i].Source = s.begins(list[i].Address)
		}
		return nil
	})
	return list, more, err
}

// matching lists the functions of a module whose names match, among as many as left says; those that lost the case of their letters match anyCase.
func matching(ctx context.Context, all iter.Seq[unwind.Symbol], lib *libstate.Library, re, anyCase *regexp.Regexp, left *int) (found []Function, err error) {
	seen := 0
	for f := range all {
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if *left--; *left < 0 {
			break
		}
		named := re
		if demangle.LostCase(f.Name) {
			named = anyCase
		}
		out := Function{Name: demangle.Func(f.Name), Linkage: f.Name, Address: f.Addr, Size: f.Size, Module: lib.Path}
		if out.Linkage == out.Name {
			out.Linkage = ""
		}
		if !named.MatchString(out.Name) {
			continue
		}
		if found = append(found, out); len(found) == maxMatches {
			break
		}
	}
	slices.SortFunc(found, func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Address, b.Address))
	})
	return slices.CompactFunc(found, func(a, b Function) bool { return a.Name == b.Name && a.Address == b.Address }), nil
}

// begins returns where a function begins in the source.
func (s *Session) begins(entry arch.Address) (at report.Source) {
	lookup, ok := s.t.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return at
	}
	if calls, err := lookup.LookupCalls(entry, nil); err == nil && len(calls) > 0 {
		last := calls[len(calls)-1]
		at.File, at.Line = last.File, last.Line
	}
	return at
}

// A Name is a type, or a variable outside of functions, that a module declares.
type Name struct {
	dwarfvars.Named
	Module string // the module's path
}

// Names lists n of the types of the program and its libraries, or of the variables outside of functions, from number first on, whose names match a
// regular expression (package regexp): by module, those of the program first, then by name. more says that others follow. All of the debugging
// information of modules is read, a second for some hundred MB; modules without any, and those of Windows, have no names here.
func (s *Session) Names(ctx context.Context, variables bool, pattern string, first, n int) (list []Name, more bool, err error) {
	return s.names(ctx, nil, variables, pattern, first, n, math.MaxInt)
}

// How many symbols, and how many entries of debugging information, Proposed looks at: what takes about half a second.
const (
	proposedSymbols = 1 << 18
	proposedEntries = 1 << 22
)

// Proposed lists up to n functions, or variables outside of functions that a module declares, whose names begin so: sorted,
// each once. It is for completion: of a large program not all names are looked at, but always the same.
func (s *Session) Proposed(ctx context.Context, module string, variables bool, begin string, n int) (names []string, err error) {
	pattern := "^" + regexp.QuoteMeta(begin)
	if variables {
		list, _, err := s.names(ctx, &module, true, pattern, 0, n, proposedEntries)
		if err != nil {
			return nil, err
		}
		for i := range list {
			names = append(names, list[i].Name)
		}
	} else {
		list, _, err := s.functions(ctx, pattern, 0, n, proposedSymbols)
		if err != nil {
			return nil, err
		}
		for i := range list {
			names = append(names, list[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// names is Names of one module, or of all, among as many entries as looked says.
func (s *Session) names(ctx context.Context, own *string, variables bool, pattern string, first, n, looked int) (list []Name, more bool, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, false, fmt.Errorf("the pattern of a search: %w", err)
	}
	err = s.guarded(ctx, func() error {
		table := s.t.ProcessState().LibraryTracker()
		if table == nil {
			return errors.New("the modules are not known")
		}
		libs, err := table.Libraries(false)
		if err != nil {
			return err
		}
		if own != nil {
			libs = slices.DeleteFunc(slices.Clone(libs), func(lib *libstate.Library) bool { return lib.Path != *own })
		}
		seen := 0
		work := func() bool {
			seen++
			return seen <= looked && (seen%1024 != 0 || ctx.Err() == nil)
		}
		for _, lib := range libs {
			if more = len(list) > after(first, n); more {
				break
			}
			names, ok := s.facts.Variables().Names(lib, variables, re.MatchString, work)
			if !ok {
				continue
			}
			found := map[dwarfvars.Named]bool{}
			for name := range names {
				if found[name] = true; len(found) == maxMatches {
					break
				}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, name := range slices.SortedFunc(maps.Keys(found), func(a, b dwarfvars.Named) int {
				return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind))
			}) {
				list = append(list, Name{name, lib.Path})
			}
		}
		more = more || len(list) > after(first, n)
		list = list[min(max(first, 0), len(list)):]
		list = list[:min(max(n, 0), len(list))]
		return nil
	})
	return list, more, err
}

// Declared lists the arguments and local variables that the function with a name declares, and those of the calls inlined
// into it. The function need not be on a stack.
func (s *Session) Declared(ctx context.Context, name string) (scopes []*dwarfvars.Scope, err error) {
	f, err := s.FunctionNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	err = s.guarded(ctx, func() error {
		fn, err := s.facts.Variables().FunctionAt(f.Address)
		if err == nil {
			scopes = fn.Scopes()
		}
		return err
	})
	return scopes, err
}
