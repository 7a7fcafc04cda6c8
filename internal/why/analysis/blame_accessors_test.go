package analysis

import "testing"

// TestAccessedWrite: the object of an operator comes into the expression for what is behind it.
func TestAccessedWrite(t *testing.T) {
	for _, c := range []struct {
		text    string
		pointer bool
		rest    string
		want    string
	}{
		{"it", true, "", "*it"},
		{"it", true, "*", "*it"},
		{"it", true, ".second", "it->second"},
		{"it", true, "[3]", "(*it)[3]"},
		{"it", true, "->a", "it->a"},
		{"v[i]", false, "", "v[i]"},
		{"v[i]", false, ".x", "v[i].x"},
		{"v[i]", false, "*", "*v[i]"},
		{"o.get()", false, "->a", "o.get()->a"},
		{"*h", false, "->a", "(*h)->a"},
		{"*h", false, "", "*h"},
	} {
		a := accessed{text: c.text, pointer: c.pointer}
		if got := a.write(c.rest); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.text, c.rest, got, c.want)
		}
	}
}
