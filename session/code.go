package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FunctionAt returns the function around an address of code. The error wraps unwind.ErrNoSymbol if there is none.
func (s *Session) FunctionAt(ctx context.Context, addr arch.Address) (f Function, err error) {
	err = s.guarded(ctx, func() error {
		name, entry, ok := s.symbolAt(addr)
		if !ok {
			return fmt.Errorf("no function is known at %#x: %w", addr, unwind.ErrNoSymbol)
		}
		f = Function{Name: name, Address: entry, Source: s.begins(entry)}
		if low, high, ok := s.facts.Variables().Bounds(addr); ok && low <= addr && addr < high {
			f.Address, f.Size = low, uint64(high-low)
		}
		if table := s.t.ProcessState().LibraryTracker(); table != nil {
			if lib, ok := table.LibraryAt(addr); ok {
				f.Module = lib.Path
			}
		}
		return nil
	})
	return f, err
}

// noFunction is the error of a name that no function has.
type noFunction string

func (e noFunction) Error() string        { return "no function is called " + string(e) }
func (e noFunction) Is(target error) bool { return target == fs.ErrNotExist }

// FunctionNamed returns the function with a name, which may be written with or without scopes and parameters. A function of
// the program comes before those of libraries. The error wraps fs.ErrNotExist if there is none. It is an error, too, if
// several functions of one module fit, with other scopes or parameters.
func (s *Session) FunctionNamed(ctx context.Context, name string) (Function, error) {
	if name == "" {
		return Function{}, errors.New("the name of a function is missing")
	}
	list, _, err := s.Functions(ctx, `^(.*(::|\.))?`+regexp.QuoteMeta(name)+`($|\(|<|\[)`, 0, maxNamed)
	if encoded := strings.ToLower(strings.ReplaceAll(name, ".", "__")); err == nil && len(list) == 0 { // as GNAT and gfortran call what is in packages
		list, _, err = s.Functions(ctx, `^(.*__|_ada_|__.*_MOD_)?`+regexp.QuoteMeta(encoded)+`(__[0-9]+)?$`, 0, maxNamed)
	}
	if err == nil && len(list) == 0 { // as Nim calls a function in C
		list, _, err = s.Functions(ctx, `^`+regexp.QuoteMeta(name)+`__[A-Za-z]\w*_[0-9]+$`, 0, maxNamed)
	}
	if err != nil {
		return Function{}, err
	}
	clones := slices.Clone(list)
	list = slices.DeleteFunc(list, func(f Function) bool { // a part of a function that stands apart
		_, clone := demangle.SplitClone(cmp.Or(f.Linkage, f.Name))
		return clone != ""
	})
	if len(list) == 0 { // the compiler has changed all calls to one with fewer arguments
		list = slices.DeleteFunc(clones, func(f Function) bool {
			_, clone := demangle.SplitClone(cmp.Or(f.Linkage, f.Name))
			return !strings.HasPrefix(clone, ".constprop") && !strings.HasPrefix(clone, ".isra")
		})
	}
	if len(list) == 0 {
		return Function{}, noFunction(name)
	}
	best := list[0]
	if i := slices.IndexFunc(list, func(f Function) bool { return f.Name == name }); i >= 0 {
		best = list[i]
	} else {
		var names []string
		for _, f := range list {
			if f.Module == best.Module && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
		if len(names) > 1 {
			return Function{}, fmt.Errorf("%s is the name of several functions: %s%s", name, strings.Join(names[:min(len(names), 5)], "; "), map[bool]string{true: "; ..."}[len(names) > 5])
		}
	}
	whole, err := s.FunctionAt(ctx, best.Address)
	if err != nil || whole.Address != best.Address {
		return best, nil // what the symbol table says is enough
	}
	best.Size = max(best.Size, whole.Size)
	return best, nil
}

// maxNamed is how many functions of one name are looked at.
const maxNamed = 100

// Line returns the source line of an address of code, that of the innermost call that was inlined there.
func (s *Session) Line(ctx context.Context, addr arch.Address) (at report.Source, err error) {
	err = s.guarded(ctx, func() error {
		at = s.lineAt(addr)
		return nil
	})
	return at, err
}

func (s *Session) lineAt(addr arch.Address) (at report.Source) {
	lookup, ok := s.t.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return at
	}
	if calls, err := lookup.LookupCalls(addr, nil); err == nil && len(calls) > 0 {
		at.File, at.Line = calls[0].File, calls[0].Line
	}
	return at
}

// SourceOf returns a source file by the path that the debugging information of the code at an address has. The error wraps fs.ErrNotExist if it is
// not at hand.
func (s *Session) SourceOf(ctx context.Context, addr arch.Address, path string) (file *modules.SourceFile, err error) {
	err = s.guarded(ctx, func() error {
		file, err = s.t.SourceFile(addr, path)
		return err
	})
	return file, err
}

// CodeOf returns the code of a source line of the frame's compilation unit, or of one that was compiled from the file: see
// dwarfvars.Reader.CodeOf. The error wraps fs.ErrNotExist if there is none.
func (s *Session) CodeOf(ctx context.Context, id FrameID, file string, line int) (low, high arch.Address, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		frames, physical, _, err := s.asked(ctx, f)
		if err != nil {
			return err
		}
		ok := false
		if low, high, ok = s.facts.Variables().CodeOf(frames, physical, file, line); !ok {
			return fmt.Errorf("line %d of %s has no code: %w", line, file, fs.ErrNotExist)
		}
		return nil
	})
	return low, high, err
}

// VTables returns the tables of virtual functions of an object of C++: see dwarfvars.Reader.VTables.
func (s *Session) VTables(ctx context.Context, id FrameID, text string, vars ...Convenience) (list []dwarfvars.VTable, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		if f.reportOnly() {
			return errors.New("values of this language have no tables of virtual functions")
		}
		frames, physical, call, err := s.asked(ctx, f)
		if err != nil {
			return err
		}
		list, err = s.facts.Variables().VTables(frames, physical, call, text, objectsOf(vars)...)
		return err
	})
	return list, err
}

// TypeOf returns the type that a text names, or the type of an expression in a frame: see dwarfvars.Reader.TypeOf.
// vars supply convenience variables, as for Evaluate.
func (s *Session) TypeOf(ctx context.Context, id FrameID, text string, vars ...Convenience) (t dwarfvars.Type, err error) {
	err = s.guarded(ctx, func() error {
		f, err := s.at(id)
		if err != nil {
			return err
		}
		if f.reportOnly() && f.left() {
			t, err = s.typeOfProgram(ctx, f, text, vars)
			return err
		}
		if f.reportOnly() {
			return errors.New("values of this language have their types beside them: print shows them")
		}
		frames, physical, call, err := s.asked(ctx, f)
		if err != nil {
			return err
		}
		t, err = s.facts.Variables().TypeOf(frames, physical, call, text, objectsOf(vars)...)
		return err
	})
	return t, err
}
