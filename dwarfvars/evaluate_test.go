package dwarfvars_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// TestExpressions evaluates expressions in frames of the programs made for variables. testdata/expressions.txt has for
// each fixture "= name", for each frame "# number", and then expressions with their values: -update writes the values,
// which are to be compared with the sources. Addresses that a fixture made anew would change stand in none of them.
func TestExpressions(t *testing.T) {
	path := filepath.Join("testdata", "expressions.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]fixture.Case{}
	for _, c := range fixture.Cases(t) {
		cases[c.Name] = c
	}
	dumps := map[string]fixture.Case{}
	for _, c := range fixture.Minidumps(t) {
		dumps[c.Name] = c
	}
	var out strings.Builder
	var r *dwarfvars.Reader
	var frames []*unwind.Frame
	frame, count := 0, 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "= "):
			if c, ok := dumps[line[2:]]; ok {
				target, walked := openMinidump(t, c)
				r, frames = target.Variables(), walked
				break
			}
			c, ok := cases[line[2:]]
			if !ok {
				t.Fatalf("no fixture %s", line[2:])
			}
			target := openCase(t, c)
			w, err := target.NewWalker()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			stack, _ := w.WalkStack(unwind.NullThread)
			r, frames = target.Variables(), stack.Frames
		case strings.HasPrefix(line, "# "):
			if frame, err = strconv.Atoi(line[2:]); err != nil {
				t.Fatal(err)
			}
		case line != "":
			expr, want, _ := strings.Cut(line, " => ")
			got := evaluated(r, frames, frame, expr)
			if !*update && got != want {
				t.Errorf("%s: got %s, want %s", expr, got, want)
			}
			line = expr + " => " + got
			count++
		}
		out.WriteString(line + "\n")
	}
	if count < 100 {
		t.Errorf("only %d expressions", count)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func evaluated(r *dwarfvars.Reader, frames []*unwind.Frame, frame int, expr string) string {
	ob, err := r.Evaluate(frames, frame, dwarfvars.AllCalls, expr)
	if err != nil {
		return "error: " + err.Error()
	}
	v := ob.Read(dwarfvars.Options{})
	if typ := ob.Type(); typ != "" {
		return "(" + typ + ") " + v.String()
	}
	return v.String()
}

// Every part of every variable of the fixtures that an expression names is that part, with the same value.
func TestChildrenExpressions(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, c := range fixture.Cases(t) {
		if !strings.HasPrefix(c.Name, "amd64-vars-") && !strings.HasPrefix(c.Name, "amd64-pascal") {
			continue
		}
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		stack, _ := w.WalkStack(unwind.NullThread)
		r := target.Variables()
		for i := range stack.Frames {
			a, err := r.At(stack.Frames, i)
			if err != nil {
				continue
			}
			for call, s := range a.Live() {
				seen := map[string]bool{}
				for _, v := range append(append([]*dwarfvars.LocalVar(nil), s.Locals...), s.Params...) {
					ob, err := a.Object(v)
					if err != nil || v.Artificial || strings.ContainsAny(v.Name, "~.") || seen[v.Name] {
						continue
					}
					seen[v.Name] = true
					checked += checkChildren(t, c.Name, r, stack.Frames, i, call, ob, v.Name, 3)
				}
			}
			a.Close()
		}
	}
	if checked < 1000 {
		t.Errorf("only %d parts", checked)
	}
}

func checkChildren(t *testing.T, name string, r *dwarfvars.Reader, frames []*unwind.Frame, frame, call int, ob dwarfvars.Object, expr string, depth int) int {
	t.Helper()
	parts, _, err := ob.Children(0, 8)
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range parts {
		part := p.Prefix + "(" + expr + ")" + p.Suffix
		if p.Prefix == "" && p.Suffix == "" {
			continue
		}
		want := p.Object.Read(dwarfvars.Options{})
		got, err := r.Evaluate(frames, frame, call, part)
		if err != nil {
			if want.Err() == nil {
				t.Errorf("%s #%d %s: %v, want %s", name, frame, part, err, want)
			}
			continue
		}
		n++
		if text := got.Read(dwarfvars.Options{}).String(); text != want.String() {
			t.Errorf("%s #%d %s: got %s, want %s", name, frame, part, text, want)
		}
		if depth > 0 {
			n += checkChildren(t, name, r, frames, frame, call, p.Object, part, depth-1)
		}
	}
	return n
}

// Pages of the parts of an object put together are all of them.
func TestChildrenPages(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		if c.Name != "amd64-vars-cxx-O0" {
			continue
		}
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		stack, _ := w.WalkStack(unwind.NullThread)
		r := target.Variables()
		for expr, count := range map[string]int{"line": 180, "given": 3, "ages": 3, "bits": 3, "primes": 5, "nested": 3, "fixed": 3, "reals": 2, "none": 0} {
			ob, err := r.Evaluate(stack.Frames, 1, dwarfvars.AllCalls, expr)
			if err != nil {
				t.Fatal(err)
			}
			all, more, err := ob.Children(0, 1000)
			if err != nil || more || len(all) != count {
				t.Errorf("%s: %d parts, more %v, %v; want %d", expr, len(all), more, err, count)
			}
			for size := 1; size < 70; size += 31 {
				var got []string
				for first := 0; ; first += size {
					page, more, err := ob.Children(first, size)
					if err != nil {
						t.Fatalf("%s from %d: %v", expr, first, err)
					}
					for _, p := range page {
						got = append(got, p.Name+" "+p.Object.Read(dwarfvars.Options{}).String())
					}
					if !more {
						break
					}
					if len(page) != size {
						t.Fatalf("%s from %d: %d of %d parts, and more", expr, first, len(page), size)
					}
				}
				if len(got) != count {
					t.Errorf("%s in pages of %d: %d parts, want %d", expr, size, len(got), count)
				}
				for i := range min(len(got), len(all)) {
					if want := all[i].Name + " " + all[i].Object.Read(dwarfvars.Options{}).String(); got[i] != want {
						t.Errorf("%s, part %d in pages of %d: %s, want %s", expr, i, size, got[i], want)
					}
				}
			}
		}
	}
}

// Errors say where in the expression they are.
func TestExpressionErrors(t *testing.T) {
	for _, c := range fixture.Cases(t) {
		if c.Name != "amd64-vars-c-O0" {
			continue
		}
		target := openCase(t, c)
		w, err := target.NewWalker()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		stack, _ := w.WalkStack(unwind.NullThread)
		r := target.Variables()
		for expr, at := range map[string]int{"1 + nope": 4, "here.nope": 0, "sum/0": 0, "plain[": 6, "f(1)": 1, "1 + (sum + here)": 11} {
			_, err := r.Evaluate(stack.Frames, 2, dwarfvars.AllCalls, expr)
			var e *dwarfvars.ExpressionError
			if !errors.As(err, &e) || e.At != at {
				t.Errorf("%s: %v at %v, want %d", expr, err, e, at)
			}
		}
		for _, frame := range []int{-1, len(stack.Frames)} {
			if _, err := r.Evaluate(stack.Frames, frame, dwarfvars.AllCalls, "1"); !errors.Is(err, dwarfvars.ErrParam) {
				t.Errorf("frame %d: %v", frame, err)
			}
		}
	}
}

// FuzzEvaluate evaluates any text in frames of C++, Go, Rust and Ada.
func FuzzEvaluate(f *testing.F) {
	text, err := os.Open(filepath.Join("testdata", "expressions.txt"))
	if err != nil {
		f.Fatal(err)
	}
	defer text.Close()
	for lines := bufio.NewScanner(text); lines.Scan(); {
		if expr, _, ok := strings.Cut(lines.Text(), " => "); ok {
			f.Add(uint8(len(expr)), expr)
		}
	}
	for _, expr := range []string{"typeid(*base)", "typeid(shop::Both)", "&shop::Both::side", "&shop::Base::area", "numbers.begin()", "both.method(1)", "*&both"} {
		for in := range 40 {
			f.Add(uint8(in), expr)
		}
	}
	var readers []*dwarfvars.Reader
	var stacks [][]*unwind.Frame
	for _, c := range fixture.Cases(f) {
		if c.Name != "amd64-vars-cxx-O0" && c.Name != "amd64-vars-go-O0" && c.Name != "amd64-vars-rust-O0" && c.Name != "amd64-unbounded" && c.Name != "amd64-pascal" && c.Name != "amd64-pascal-dwarf2" && c.Name != "amd64-objc" {
			continue
		}
		target := openCase(f, c)
		w, err := target.NewWalker()
		if err != nil {
			f.Fatal(err)
		}
		stack, _ := w.WalkStack(unwind.NullThread)
		readers, stacks = append(readers, target.Variables()), append(stacks, stack.Frames)
	}
	f.Fuzz(func(t *testing.T, in uint8, expr string) {
		which, frame := int(in)%len(readers), int(in)/len(readers)
		if typ, err := readers[which].TypeOf(stacks[which], frame%len(stacks[which]), dwarfvars.AllCalls, expr); err == nil {
			if lines := typ.Definition(dwarfvars.Layout{Offsets: true, Methods: true}); len(lines) == 0 || len(lines) > 4096 {
				t.Errorf("the type of %q: %d lines", expr, len(lines))
			}
		}
		if tables, err := readers[which].VTables(stacks[which], frame%len(stacks[which]), dwarfvars.AllCalls, expr); err == nil && len(tables) == 0 {
			t.Errorf("no tables of %q, and no error", expr)
		}
		ob, err := readers[which].Evaluate(stacks[which], frame%len(stacks[which]), dwarfvars.AllCalls, expr)
		if err != nil {
			return
		}
		_ = ob.Read(dwarfvars.Options{MaxElements: 10}).String()
		parts, _, _ := ob.Children(0, 3)
		for _, p := range parts {
			_ = fmt.Sprint(p.Name, p.Object.Read(dwarfvars.Options{MaxElements: 3}))
		}
	})
}
