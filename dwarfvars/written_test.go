package dwarfvars

import "testing"

// What a lambda captured has the name that the programmer gave it; what compilers make up has none that a
// programmer may use.
func TestWritten(t *testing.T) {
	for name, want := range map[string]bool{"p": true, "base": true, "_x": true, "this": false, "__closure": false, "x__y": false, "_Coro_self": false, ".tmp": false, "D.1234": false, "<ret>": false} {
		if written(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
