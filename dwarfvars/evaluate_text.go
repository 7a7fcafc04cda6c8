package dwarfvars

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Comparisons of strings, by their characters.

// maxCompared is how many characters of two strings of the process are compared.
const maxCompared = 1 << 16

func isText(n paths.Node) bool {
	_, ok := n.(*paths.Text)
	return ok
}

// compareText compares with a string in the expression.
func (e *evaluation) compareText(n *paths.Binary) (Object, error) {
	if n.Op != "==" && n.Op != "!=" {
		return Object{}, fmt.Errorf("%q is not defined for strings: they are compared with == and !=", n.Op)
	}
	other, text := n.X, n.Y
	if isText(other) {
		other, text = text, other
	}
	want := text.(*paths.Text).Value
	if o, ok := other.(*paths.Text); ok {
		return e.truth((o.Value == want) == (n.Op == "=="))
	}
	ob, err := e.stored(other)
	if err != nil {
		return Object{}, err
	}
	t := e.referred(&ob).Type.Strip()
	if t.Pointer() {
		if v, _, err := e.x.Number(&ob); err == nil && v == 0 {
			return Object{}, &ExpressionError{other.At(), fmt.Errorf("the pointer is null: it points to no string")}
		}
	}
	c, ok, err := e.x.Characters(&ob, len(want)+1+blanks)
	if err != nil {
		return Object{}, wrongAt(other, err)
	}
	if !ok {
		return Object{}, &ExpressionError{other.At(), fmt.Errorf("an object of type %s is no string", clip(ob.Type.Name()))}
	}
	if t.Tag == dwarf.TagStringType && c.Size == 1 { // Fortran fills strings with blanks
		c.Raw, want = bytes.TrimRight(c.Raw, " "), strings.TrimRight(want, " ")
	}
	zero := (t.Pointer() || t.Tag == arrayTag) && (types.IsC(t.Language) || types.IsCXX(t.Language))
	return e.truth(e.x.Spells(&c, want, zero) == (n.Op == "=="))
}

// blanks is how many blanks may follow a string of Fortran.
const blanks = 1 << 10

// clip shortens the name of a type for a message.
func clip(name string) string {
	const most = 80
	if len(name) > most {
		return name[:most] + "..."
	}
	return name
}

// referred returns what a reference refers to, or the object itself.
func (e *evaluation) referred(ob *values.Object) *values.Object {
	for range maxReferences {
		if !ob.Type.Strip().Reference() {
			break
		}
		to, err := e.x.Pointee(ob)
		if err != nil {
			break
		}
		ob = &to
	}
	return ob
}

const maxReferences = 16

// strings compares two strings that are objects of libraries, as their operators do; false for other operands: pointers
// to characters are compared as addresses, as C does.
func (e *evaluation) strings(n *paths.Binary, x, y *values.Object) (Object, bool, error) {
	a, b := e.referred(x), e.referred(y)
	if !a.Type.Strip().Aggregate() && !b.Type.Strip().Aggregate() && !(e.dialect == paths.Pascal && a.Type.Strip().Tag == arrayTag) {
		return Object{}, false, nil
	}
	p, okA, errA := e.x.Characters(a, maxCompared)
	q, okB, errB := e.x.Characters(b, maxCompared)
	switch {
	case errA != nil:
		return Object{}, false, wrongAt(n.X, errA)
	case errB != nil:
		return Object{}, false, wrongAt(n.Y, errB)
	case !okA || !okB || p.Size != q.Size:
		return Object{}, false, nil
	case n.Op != "==" && n.Op != "!=":
		return Object{}, false, fmt.Errorf("%q is not defined for strings: they are compared with == and !=", n.Op)
	case p.Cut && q.Cut && bytes.Equal(p.Raw, q.Raw):
		return Object{}, false, fmt.Errorf("the strings have more than %d characters, the first of which are alike", maxCompared)
	}
	for _, c := range [...]struct {
		c *values.Characters
		o *values.Object
	}{{&p, a}, {&q, b}} {
		if c.o.Type.Strip().Tag == arrayTag && e.dialect != paths.Pascal { // up to the zero
			if i := bytes.IndexByte(c.c.Raw, 0); i >= 0 && c.c.Size == 1 {
				c.c.Raw = c.c.Raw[:i]
			}
		}
	}
	t, err := e.truth((bytes.Equal(p.Raw, q.Raw) && p.Cut == q.Cut) == (n.Op == "=="))
	return t, true, err
}
