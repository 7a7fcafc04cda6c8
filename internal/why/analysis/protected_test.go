package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
)

// TestProtectedObject: an operation of a protected object of Ada names it; nothing else does.
func TestProtectedObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variable, function string
		language           dwarf.Language
		want               string
	}{
		{"_object", "pkg__store__putP", dwarf.LangAda95, "pkg.store"},
		{"_object", "store__putN", dwarf.LangAda2012, "store"},
		{"_object", "pkg__store__putP", dwarf.LangC99, ""},
		{"object", "pkg__store__putP", dwarf.LangAda95, ""},
		{"_object", "put", dwarf.LangAda95, ""},
		{"_object", "__put", dwarf.LangAda95, ""},
	} {
		h := where.Held{Variable: c.variable, Function: c.function, Type: &types.Type{Language: c.language}}
		if got := protectedObject(nil, &h); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.variable, c.function, got, c.want)
		}
	}
	for name, want := range map[string]string{"pkg__store._object.l.wo": "pkg__store", "s._object.lock": "s._object.lock"} {
		if got := ofProgram(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
