package dwarfvars_test

import (
	"errors"
	"os"
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestTypesOfOtherLibraries reads objects of types that their program only
// declares: a library of the process defines them.
func TestTypesOfOtherLibraries(t *testing.T) {
	s := newScene(t, "amd64-widget")
	n := s.frame(t, "use")
	a, err := s.At(s.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for name, want := range map[string]string{
		"w": "{_vptr$widget = 0x7fac5e5f1e20 <vtable for widget+16>, width = 3, height = 4}",
		"h": `@0x7fac5e5f2008: {id = 7, name = 0x7fac5e5f0000 "seven"}`,
	} {
		if got := a.Read(s.variable(t, n, name), dwarfvars.Options{}).String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestIncompleteType: without the library's file its types are not known, which is
// said.
func TestIncompleteType(t *testing.T) {
	c := fixture.Get(t, "amd64-widget")
	data, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	s := withProgram(t, c, data, t.TempDir())
	n := s.frame(t, "use")
	_, code, err := s.GetLocalVariableValue(s.variable(t, n, "w"), s.frames, n, make([]byte, 64))
	if code != dwarfvars.GlvvEUnknown || !errors.Is(err, dwarfvars.ErrIncompleteType) || err.Error() != "incomplete type widget" {
		t.Errorf("w: %v, %v", code, err)
	}
}
