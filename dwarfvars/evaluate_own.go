package dwarfvars

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Functions that gdb has itself, and scripts call: $_strlen(name), $_streq(name, "x"). They read the process only.

// maxOwnText is how many bytes of a string such a function reads, and maxPattern how many a pattern has.
const (
	maxOwnText = 1 << 16
	maxPattern = 1 << 10
)

func (e *evaluation) ownFunction(n *paths.Call, name string) (Object, error) {
	count, known := map[string]int{"_strlen": 1, "_streq": 2, "_regex": 2, "_memeq": 3, "_isvoid": 1, "_as_string": 1}[name]
	switch {
	case !known:
		return Object{}, &ExpressionError{n.Open, fmt.Errorf("$%s is no function; $_strlen, $_streq, $_regex, $_memeq, $_isvoid and $_as_string are", name)}
	case len(n.Args) != count:
		return Object{}, &ExpressionError{n.Open, fmt.Errorf("$%s with %d arguments: it has %d", name, len(n.Args), count)}
	case name == "_isvoid":
		if r, ok := n.Args[0].(*paths.Register); ok {
			t, err := e.register(r)
			var void errVoid
			return e.yes(errors.As(err, &void) || err == nil && t.at && t.ob.Type.Strip().Tag == 0)
		}
		if _, err := e.eval(n.Args[0]); err != nil {
			return Object{}, err
		}
		return e.yes(false)
	case name == "_memeq":
		return e.sameMemory(n)
	case name == "_as_string":
		ob, err := e.stored(n.Args[0])
		if err != nil {
			return Object{}, err
		}
		v := e.x.Read(&ob, values.Options{})
		if v.Err != nil {
			return Object{}, wrongAt(n.Args[0], v.Err)
		}
		return e.textOf(&paths.Text{Value: v.String()})
	}
	text, err := e.ownText(n.Args[0])
	if err != nil {
		return Object{}, err
	}
	if name == "_strlen" {
		return e.word(e.integerType(4, true), uint64(len(text)))
	}
	other, err := e.ownText(n.Args[1])
	if err != nil {
		return Object{}, err
	}
	if name == "_streq" {
		return e.yes(text == other)
	}
	if len(other) > maxPattern {
		return Object{}, wrongAt(n.Args[1], fmt.Errorf("a pattern of %d bytes: %d at most", len(other), maxPattern))
	}
	re, err := regexp.Compile("^(?:" + other + ")")
	if err != nil {
		return Object{}, wrongAt(n.Args[1], fmt.Errorf("the pattern: %w", err))
	}
	return e.yes(re.MatchString(text))
}

// errVoid says that no variable of the prompt has a name.
type errVoid string

func (e errVoid) Error() string { return string(e) }

// yes is 1 or 0, as gdb's functions answer.
func (e *evaluation) yes(is bool) (Object, error) {
	v := uint64(0)
	if is {
		v = 1
	}
	return e.word(e.integerType(4, true), v)
}

// ownText returns the characters of an operand up to a zero.
func (e *evaluation) ownText(n paths.Node) (string, error) {
	if t, ok := n.(*paths.Text); ok {
		return t.Value, nil
	}
	ob, err := e.stored(n)
	if err != nil {
		return "", err
	}
	c, ok, err := e.x.Characters(&ob, maxOwnText)
	switch {
	case err != nil:
		return "", wrongAt(n, err)
	case !ok && ob.Type.Strip().Pointer(): // to characters, perhaps, that are not there
		if to, failed := e.x.Pointee(&ob); failed != nil {
			return "", wrongAt(n, failed)
		} else if _, failed := e.x.P.Bytes(&to, 0, 1); failed != nil {
			return "", wrongAt(n, failed)
		}
		fallthrough
	case !ok || c.Size != 1:
		return "", wrongAt(n, fmt.Errorf("an object of type %s is no string", clip(ob.Type.Name())))
	}
	text, _, ended := bytes.Cut(c.Raw, []byte{0})
	if !ended && c.Cut {
		return "", wrongAt(n, errors.New("the string has more than "+strconv.Itoa(maxOwnText)+" bytes"))
	}
	return string(text), nil
}

// sameMemory is $_memeq(a, b, count).
func (e *evaluation) sameMemory(n *paths.Call) (Object, error) {
	count, err := e.integer(n.Args[2])
	if err != nil {
		return Object{}, err
	}
	if count < 0 || count > maxOwnText {
		return Object{}, wrongAt(n.Args[2], fmt.Errorf("%d bytes: from 0 to %d are compared", count, maxOwnText))
	}
	var raw [2][]byte
	for i := range raw {
		ob, err := e.stored(n.Args[i])
		if err != nil {
			return Object{}, err
		}
		addr, _, err := e.x.Number(&ob)
		if err != nil {
			return Object{}, wrongAt(n.Args[i], err)
		}
		at := values.Object{Type: e.arrayOf(e.a.r.types.Integer(1, false), uint64(count)), Mem: true, Addr: addr, Size: uint64(count)}
		if raw[i], err = e.x.P.Bytes(&at, 0, uint64(count)); err != nil {
			return Object{}, wrongAt(n.Args[i], err)
		}
	}
	return e.yes(string(raw[0]) == string(raw[1]))
}
