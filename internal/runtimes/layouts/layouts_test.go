package layouts_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

const table = `# a table of 1.1 and others
field 1.1 1.2 1.2

a.b 8 16 24
a.c - 4 -
a.d 0 nonsense
`

func TestRead(t *testing.T) {
	for _, c := range []struct {
		version, name string
		want          layouts.Layout
	}{
		{"1.1", "1.1", layouts.Layout{"a.b": 8, "a.d": 0}},
		{"1.2", "1.2", layouts.Layout{"a.b": 24}}, // the last one
		{"1", "1.2", layouts.Layout{"a.b": 24}},
	} {
		l, name := layouts.Read(table, func(column string) bool { return strings.HasPrefix(column, c.version) })
		if name != c.name || !maps.Equal(l, c.want) {
			t.Errorf("%s: %s, %v, want %v", c.version, name, l, c.want)
		}
	}
	for _, version := range []string{"1.3", "field", "a.b", "-"} {
		if l, name := layouts.Read(table, func(column string) bool { return column == version }); l != nil || name != "" {
			t.Errorf("%s: %s, %v", version, name, l)
		}
	}
}

// TestAbsent: a field that is not there is nowhere, also behind the last address that a process may have, and with other offsets added.
func TestAbsent(t *testing.T) {
	l := layouts.Layout{"a": 0}
	if !l.Has("a") || l.At("a") != 0 {
		t.Error("a is there")
	}
	if at := l.At("b"); l.Has("b") || at < 1<<57 || at > 1<<63 {
		t.Errorf("b is at %#x", at)
	}
}
