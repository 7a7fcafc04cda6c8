package dwarfvars_test

import (
	"testing"

	"github.com/corewalk/corewalk/dwarfvars"
)

// TestTruncatedStrings: a string that was cut says so, one that is whole does not.
func TestTruncatedStrings(t *testing.T) {
	for _, tc := range []struct {
		fixture, function, name string
		limit                   int
		want                    string
		more                    bool
	}{
		{"amd64-widget", "draw", "same", 3, `@0x7fac5e5f2008: {id = 7, name = 0x7fac5e5f0000 "sev"...}`, true},
		{"amd64-widget", "draw", "same", 5, `@0x7fac5e5f2008: {id = 7, name = 0x7fac5e5f0000 "seven"}`, false},
		{"amd64-vars-c-O0", "arrays", "text", 2, `"fi"...`, true},
		{"amd64-vars-cxx-O0", "containers<int>", "view", 2, ``, true},
		{"amd64-vars-libcxx", "containers<int>", "view", 2, ``, true},
		{"amd64-vars-rust-O0", "values", "text", 2, `"bo"...`, true},
		{"amd64-vars-rust-O0", "values", "text", 99, `"borrowed \"text\""`, false},
	} {
		s := newScene(t, tc.fixture)
		n := s.frame(t, tc.function)
		a, err := s.At(s.frames, n)
		if err != nil {
			t.Fatal(err)
		}
		v := a.Read(s.variable(t, n, tc.name), dwarfvars.Options{MaxString: tc.limit})
		if tc.want != "" && v.String() != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.fixture, tc.name, v, tc.want)
		}
		if more := anyMore(v); more != tc.more {
			t.Errorf("%s %s, cut to %d: truncated is %v: %s", tc.fixture, tc.name, tc.limit, more, v)
		}
		a.Close()
	}
}

// anyMore reports whether a value or a part of it was cut.
func anyMore(v dwarfvars.Value) bool {
	more := v.More()
	for p := range v.Parts() {
		more = more || anyMore(p.Value)
	}
	return more
}
