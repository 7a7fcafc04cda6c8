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
	"strings"

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
	return s.functions(ctx, pattern, first, n, math.MaxInt, "")
}

// functions is Functions among the first names, as many as looked says. Names begin with begin, if that is not "".
func (s *Session) functions(ctx context.Context, pattern string, first, n, looked int, begin string) (list []Function, more bool, err error) {
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
			found, err := matching(ctx, lookup.Functions(lib), lib, re, anyCase, within(begin), &looked)
			if err != nil {
				return err
			}
			list = append(list, found...)
		}
		more = more || len(list) > after(first, n)
		list = list[min(max(first, 0), len(list)):]
		list = list[:min(max(n, 0), len(list))]
		for i := range list {
			if begin == "" { // to complete a name nobody asks where it is
				list[i].Source = s.begins(list[i].Address)
			}
		}
		return nil
	})
	return list, more, err
}

// within is what a mangled name has in itself if the function's name begins with begin: names of scopes and functions stand there as they are; "" if that is
// not sure, as of what has a letter of its own.
func within(begin string) string {
	word := begin
	if i := strings.IndexFunc(begin, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}); i >= 0 {
		word = begin[:i]
	}
	for _, own := range [...]string{"std", "operator", "vtable", "typeinfo", "guard", "virtual", "non", "construction", "covariant", "VTT", "TLS", "thread", "initializer", "reference", "transaction", "unsigned", "signed", "decltype", "auto", "void",
		"bool", "char", "short", "int", "long", "float", "double", "wchar_t", "const", "volatile", "template", "typename", "enum", "hidden", "java", "invocation"} {
		if strings.HasPrefix(own, word) || strings.HasPrefix(word, own) {
			return ""
		}
	}
	return word
}

// hasName reports whether a mangled name has a part that begins with word: behind its length, or, of Rust, behind an underscore.
func hasName(mangled, word string) bool {
	for at := 0; ; at++ {
		i := strings.Index(mangled[at:], word)
		if i < 0 {
			return false
		}
		if at += i; at > 0 && (mangled[at-1] >= '0' && mangled[at-1] <= '9' || mangled[at-1] == '_') {
			return true
		}
	}
}

// matching lists the functions of a module whose names match, among as many as left says; those that lost the case of their letters match anyCase. What has
// not word in its mangled name is not demangled.
func matching(ctx context.Context, all iter.Seq[unwind.Symbol], lib *libstate.Library, re, anyCase *regexp.Regexp, word string, left *int) (found []Function, err error) {
	seen := 0
	for f := range all {
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if *left--; *left < 0 {
			break
		}
		if word != "" && (strings.HasPrefix(f.Name, "_Z") || strings.HasPrefix(f.Name, "_R")) && !hasName(f.Name, word) {
			continue
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

// How many symbols, and how many entries of debugging information, Proposed looks at: what takes some hundredths of a second.
const (
	proposedSymbols = 1 << 18
	proposedEntries = 1 << 18
)

// Proposed lists up to n functions, or variables outside of functions that a module declares, whose names begin so: sorted,
// each once. It is for completion: of a large program not all names are looked at, but always the same.
func (s *Session) Proposed(ctx context.Context, module string, variables bool, begin string, n int) (names []string, err error) {
	pattern := "^" + regexp.QuoteMeta(begin)
	if variables {
		all, err := s.variableNames(ctx, module)
		if err != nil {
			return nil, err
		}
		from, _ := slices.BinarySearch(all, begin)
		for _, name := range all[from:] {
			if len(names) == n || !strings.HasPrefix(name, begin) {
				break
			}
			names = append(names, name)
		}
	} else {
		list, _, err := s.functions(ctx, pattern, 0, n, proposedSymbols, begin)
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

// numbered reports whether a name is one of a variable of a function, or of a part that a compiler made of one: calls.0.
func numbered(name string) bool {
	i := strings.LastIndexByte(name, '.')
	return i >= 0 && i+1 < len(name) && strings.Trim(name[i+1:], "0123456789") == "" || strings.Contains(name, "..")
}

// variableNames lists the names of a module's variables outside of functions: those of the symbol table, and those of the first debugging information, as reading
// all of it takes a second for some hundred MB. They are looked for once, as somebody who completes one name completes others.
func (s *Session) variableNames(ctx context.Context, module string) ([]string, error) {
	s.mu.Lock()
	names, of := s.proposed, s.proposedOf
	s.mu.Unlock()
	if names != nil && of == module {
		return names, nil
	}
	list, _, err := s.names(ctx, &module, true, "", 0, maxMatches, proposedEntries)
	if err != nil {
		return nil, err
	}
	names = []string{}
	for i := range list {
		names = append(names, list[i].Name)
	}
	err = s.guarded(ctx, func() error {
		table := s.t.ProcessState().LibraryTracker()
		lookup, ok := s.t.SymbolLookup().(interface {
			Variables(*libstate.Library) iter.Seq[unwind.Symbol]
		})
		if table == nil || !ok {
			return nil
		}
		libs, err := table.Libraries(false)
		if err != nil {
			return err
		}
		for _, lib := range libs {
			if lib.Path != module {
				continue
			}
			for v := range lookup.Variables(lib) {
				if len(names) >= proposedSymbols {
					break
				}
				name := demangle.Func(v.Name)
				if plain := strings.ReplaceAll(name, "::", "."); !strings.ContainsAny(plain, " ():$@*;,<") && !numbered(plain) {
					names = append(names, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	s.mu.Lock()
	s.proposed, s.proposedOf = names, module
	s.mu.Unlock()
	return names, nil
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
