package dwarfvars_test

import (
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
)

// TestTLSOfMusl reads thread-local variables of a program and of the second of its
// libraries that have some, which musl numbers in its own way.
func TestTLSOfMusl(t *testing.T) {
	s := newScene(t, "amd64-musl-tls")
	for _, tc := range []struct{ function, name, want string }{
		{"break_down", "each", "17"},
		{"main", "own", "3"},
	} {
		n := s.frame(t, tc.function)
		a, err := s.At(s.frames, n)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Read(s.variable(t, n, tc.name), dwarfvars.Options{}).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		a.Close()
	}
}
