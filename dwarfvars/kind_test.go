package dwarfvars_test

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
)

// TestKind checks the kinds of variables of programs in several languages.
func TestKind(t *testing.T) {
	for _, tc := range []struct {
		fixture, function string
		kinds             map[string]dwarfvars.Kind // of its variables
	}{
		{"amd64-vars-c-O0", "numbers", map[string]dwarfvars.Kind{
			"uc": "char", "lo": "int", "db": "float", "dc": "float", "big": "int", "yes": "bool", "col": "enum",
			"wc": "char", "call": "pointer", "str": "pointer", "bad": "pointer"}},
		{"amd64-vars-c-O0", "arrays", map[string]dwarfvars.Kind{
			"grid": "array", "text": "string", "wide": "string", "zeros": "string", "vla": "array", "vector": "array"}},
		{"amd64-vars-c-O0", "records", map[string]dwarfvars.Kind{"p": "struct", "both": "union", "empty": "array"}},
		{"amd64-vars-cxx-O0", "containers<int>", map[string]dwarfvars.Kind{
			"view": "string", "words": "sequence", "ages": "map", "primes": "sequence", "none": "sequence", "given": "sequence"}},
		{"amd64-vars-rust-O0", "values", map[string]dwarfvars.Kind{
			"void": "void", "tuple": "struct", "text": "string", "circle": "struct", "colour": "enum", "bits": "union"}},
		{"amd64-vars-go-O0", "main.library", map[string]dwarfvars.Kind{
			"empty": "sequence", "none": "map", "large": "map", "names": "sequence", "nothing": "struct"}},
	} {
		t.Run(tc.fixture+" "+tc.function, func(t *testing.T) {
			s := newScene(t, tc.fixture)
			n := s.frame(t, tc.function)
			a, err := s.At(s.frames, n)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			seen := 0
			for _, sc := range a.Live() {
				for _, v := range slices.Concat(sc.Params, sc.Locals) {
					if want, ok := tc.kinds[v.Name]; ok {
						seen++
						if got := a.Read(v, dwarfvars.Options{}).Kind(); got != want {
							t.Errorf("%s: %s, want %s", v.Name, got, want)
						}
					}
				}
			}
			if seen < len(tc.kinds) {
				t.Errorf("%d variables, want %d", seen, len(tc.kinds))
			}
		})
	}
}

// TestRows: a row of a matrix has no type's name; what is nested too deep says so.
func TestRows(t *testing.T) {
	s := newScene(t, "amd64-vars-c-O0")
	n := s.frame(t, "arrays")
	a, err := s.At(s.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	row := slices.Collect(a.Read(s.variable(t, n, "grid"), dwarfvars.Options{}).Parts())[1].Value
	if row.Kind() != dwarfvars.KindArray || row.Type() != "" || slices.Collect(row.Parts())[0].Value.Type() != "int" {
		t.Errorf("a row is %s of %q", row.Kind(), row.Type())
	}
	if v := slices.Collect(a.Read(s.variable(t, n, "grid"), dwarfvars.Options{MaxDepth: 1}).Parts())[0].Value; !v.More() {
		t.Errorf("what is left out of %v is not told", v)
	}
}
