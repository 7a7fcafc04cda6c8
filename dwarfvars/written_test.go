package dwarfvars

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// What a lambda captured has the name that the programmer gave it; what compilers make up has none that a
// programmer may use.
func TestWritten(t *testing.T) {
	for name, want := range map[string]bool{"p": true, "base": true, "_x": true, "this": false, "__closure": false, "x__y": false, "_Coro_self": false, ".tmp": false, "D.1234": false, "<ret>": false} {
		if written(name, false, dwarf.LangCPlus20) != want {
			t.Errorf("%s: %v", name, !want)
		}
		if written(name, true, dwarf.LangCPlus20) {
			t.Errorf("the parameter %s", name)
		}
	}
	for name, want := range map[string]bool{"w": true, "x__y": true, "this": true, "_w": false, "__result": false, "d.1": false} {
		if got := written(name, true, dwarf.LangFortran90); got != want {
			t.Errorf("%s in Fortran: %v", name, got)
		}
	}
}
