package dwarfvars_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// openMinidump opens a minidump of the fixtures with its images and PDBs, and walks
// the thread that died.
func openMinidump(t testing.TB, c fixture.Case) (*corewalk.Target, []*unwind.Frame) {
	t.Helper()
	var opts []corewalk.Option
	for _, dir := range c.Search(t) {
		opts = append(opts, corewalk.WithSearch(dir))
	}
	target, err := corewalk.Open(context.Background(), c.Core(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	stack, _ := w.WalkStack(unwind.NullThread)
	return target, stack.Frames
}

// minidump is a fixture by its name.
func minidump(t testing.TB, name string) fixture.Case {
	t.Helper()
	for _, c := range fixture.Minidumps(t) {
		if c.Name == name {
			return c
		}
	}
	t.Fatal("no minidump ", name)
	return fixture.Case{}
}

// live calls do for all variables of a stack that live in their frames.
func live(r *dwarfvars.Reader, frames []*unwind.Frame, do func(*dwarfvars.Activation, *dwarfvars.Scope, *dwarfvars.LocalVar)) {
	for i := range frames {
		a, err := r.At(frames, i)
		if err != nil {
			continue
		}
		for _, s := range a.Live() {
			for _, v := range append(s.Params[:len(s.Params):len(s.Params)], s.Locals...) {
				do(a, s, v)
			}
		}
		a.Close()
	}
}

// TestRecordPrintout compares values that PDBs describe with what the programs
// printed themselves.
func TestRecordPrintout(t *testing.T) {
	for _, c := range fixture.Minidumps(t) {
		text, err := os.ReadFile(filepath.Join(c.Dir, "printed.txt"))
		if err != nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			target, frames := openMinidump(t, c)
			printed, known, unknown, unprintedVars := parsePrintout(string(text)), 0, 0, 0
			live(target.Variables(), frames, func(a *dwarfvars.Activation, s *dwarfvars.Scope, v *dwarfvars.LocalVar) {
				val := a.Read(v, dwarfvars.Options{})
				if val.Err() != nil {
					unknown++
					if code := status(target.Variables(), v, frames, a); code == dwarfvars.GlvvSuccess {
						t.Errorf("%s.%s: %v, yet its bytes are known", s.Function, v.Name, val.Err())
					}
					return
				}
				switch printed.check(s.Function, v.Name, val.String()) {
				case disproved:
					if strings.Contains(val.String(), "<memory not in the dump") { // tables of virtual bases
						unknown++
						return
					}
					t.Errorf("%s.%s = %s\nthe program printed %q", s.Function, v.Name, val, printed[baseName(s.Function)+"."+v.Name])
				case proved:
					known++
				default:
					unprintedVars++
				}
			})
			t.Logf("%d as printed, %d not known, %d not printed", known, unknown, unprintedVars)
			least := map[string]int{"amd64-msvc-O0-vars": 75, "amd64-msvc-O2-vars": 15}[c.Name]
			if known < least || least == 0 {
				t.Errorf("%d values are as printed, want %d", known, least)
			}
		})
	}
}

// status is what GetLocalVariableValue answers for a variable.
func status(r *dwarfvars.Reader, v *dwarfvars.LocalVar, frames []*unwind.Frame, a *dwarfvars.Activation) dwarfvars.Code {
	for i, f := range frames {
		if f == a.Frame() {
			_, code, _ := r.GetLocalVariableValue(v, frames, i, make([]byte, 1<<16))
			return code
		}
	}
	return dwarfvars.GlvvEParam
}

// TestRecordReasons holds why variables of optimised code have no value.
func TestRecordReasons(t *testing.T) {
	target, frames := openMinidump(t, minidump(t, "amd64-clang-O2-deep"))
	reasons := map[string]int{}
	live(target.Variables(), frames, func(a *dwarfvars.Activation, s *dwarfvars.Scope, v *dwarfvars.LocalVar) {
		err := a.Read(v, dwarfvars.Options{}).Err()
		switch {
		case errors.Is(err, dwarfvars.ErrSometimesConstant):
			reasons["constant"]++
			if s.Function+"."+v.Name != "run.got" || err.Error() != "optimised out: 1 at times" {
				t.Errorf("%s.%s: %v", s.Function, v.Name, err)
			}
		case err == nil:
			reasons["known"]++
		case errors.Is(err, dwarfvars.ErrRegister):
			reasons["register"]++
			if err.Error() != "rcx not recovered" || a.Where(v) != "register rcx" {
				t.Errorf("%s.%s: %v, %s", s.Function, v.Name, err, a.Where(v))
			}
		case errors.Is(err, dwarfvars.ErrOptimisedOut):
			reasons["optimised"]++
		default:
			t.Errorf("%s.%s: %v", s.Function, v.Name, err)
		}
	})
	if reasons["known"] < 5 || reasons["register"] == 0 || reasons["optimised"] < 5 || reasons["constant"] != 1 {
		t.Error(reasons)
	}
}

// TestRecordScopes has the variables of a function that live elsewhere, too.
func TestRecordScopes(t *testing.T) {
	target, frames := openMinidump(t, minidump(t, "amd64-msvc-O0-vars"))
	r := target.Variables()
	for i := range frames {
		fn, err := r.FunctionForFrame(frames[i])
		if err != nil || fn.Name != "numbers" {
			continue
		}
		var names []string
		for _, v := range fn.Scopes()[0].Locals {
			names = append(names, v.Name)
			_, code, _ := r.GetLocalVariableValue(v, frames, i, make([]byte, 64))
			want := dwarfvars.GlvvSuccess
			switch v.Name {
			case "i":
				want = dwarfvars.GlvvEOutOfScope
			case "kept":
				want = dwarfvars.GlvvEUnknown // not in the dump
			}
			if code != want {
				t.Errorf("%s: %v, want %v", v.Name, code, want)
			}
			if code == dwarfvars.GlvvSuccess {
				if _, code, _ := r.GetLocalVariableValue(v, frames, i, nil); code != dwarfvars.GlvvEBufferSize {
					t.Errorf("%s into nothing: %v", v.Name, code)
				}
				if _, code, _ := r.GetLocalVariableValue(v, frames, i-1, make([]byte, 64)); code != dwarfvars.GlvvEParam {
					t.Errorf("%s in another function: %v", v.Name, code)
				}
			}
		}
		if all := strings.Join(names, " "); !strings.HasPrefix(all, "i argc inner ") || len(names) < 28 {
			t.Errorf("variables %s", all)
		}
		if fn.Low > frames[i].RA() || frames[i].RA() >= fn.High || fn.LinkageName != "" && !strings.Contains(fn.LinkageName, "numbers") {
			t.Errorf("%#x to %#x, %q", fn.Low, fn.High, fn.LinkageName)
		}
		return
	}
	t.Error("no frame of numbers")
}
