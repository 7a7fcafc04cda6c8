package dwarfvars_test

import (
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
)

// TestEntryValuesOfIncompleteTails: where other functions may have left by tail calls than
// those that are known, nothing is known of what was passed but by the function's own code.
func TestEntryValuesOfIncompleteTails(t *testing.T) {
	s := newScene(t, "amd64-passed-O2")
	n := s.frame(t, "third")
	a, err := s.At(s.frames, n)
	if err != nil {
		t.Fatal(err)
	}
	b := s.variable(t, n, "b")
	if got, ok := a.ReadEntry(b, dwarfvars.Options{}); !ok || got.String() != "8" {
		t.Fatalf("b@entry: %v, %v", got, ok)
	}
	a.Close()
	if s.DoubtTails() == 0 {
		t.Fatal("no tail calls were looked for")
	}
	if a, err = s.At(s.frames, n); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	// The function's own code has kept two of the arguments.
	for name, want := range map[string]string{"p": "0x0", "b": "", "c": "42", "x": ""} {
		if got, ok := a.ReadEntry(s.variable(t, n, name), dwarfvars.Options{}); ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s@entry: %v, want %s", name, got, want)
		}
	}
	s.DoubtCode()
	for _, name := range []string{"p", "b", "c", "x"} {
		if got, ok := a.ReadEntry(s.variable(t, n, name), dwarfvars.Options{}); ok {
			t.Errorf("%s@entry: %v", name, got)
		}
	}
}
