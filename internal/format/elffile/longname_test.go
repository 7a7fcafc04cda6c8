package elffile

import (
	"bytes"
	"testing"
)

// A long name is copied once, however many ask for it one after another.
func TestLongName(t *testing.T) {
	strs := bytes.Join([][]byte{nil, bytes.Repeat([]byte("n"), 1<<19), []byte("short"), bytes.Repeat([]byte("m"), 1<<19), nil}, []byte{0})
	tab := &SymTab{file: &File{}, strs: strs}
	long, other := Sym{tab: tab, name: 1}, Sym{tab: tab, name: 1<<19 + 8}
	if n := testing.AllocsPerRun(10, func() { long.KeptName() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	for range 2 {
		if s := long.KeptName(); len(s) != 1<<19 || s[0] != 'n' {
			t.Errorf("%d bytes", len(s))
		}
		if s := other.KeptName(); s[0] != 'm' {
			t.Errorf("%d bytes: %.10s", len(s), s)
		}
		if s := (Sym{tab: tab, name: 1<<19 + 2}).KeptName(); s != "short" {
			t.Errorf("%.10s", s)
		}
	}
}
