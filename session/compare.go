package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/report"
)

// What is computed of values of languages above the native code: lengths, comparisons, choices.

// errUnknownForm is the error of an expression that frames of these languages do not know.
var errUnknownForm = errors.New("only names, attributes and elements are looked up in frames of this language, len(x), comparisons, !, && and ||, x ? y : z")

// computed evaluates what is no part of a value.
func (w follower) computed(read *variables, n paths.Node) (*report.Data, *report.Variable, error) {
	switch n := n.(type) {
	case *paths.Number:
		if n.Bool {
			return truth(n.Value != 0), nil, nil
		}
		return &report.Data{Kind: "int", Text: strconv.FormatUint(n.Value, 10)}, nil, nil
	case *paths.Float:
		return &report.Data{Kind: "float", Text: strconv.FormatFloat(n.Value, 'g', -1, 64)}, nil, nil
	case *paths.Text:
		return &report.Data{Kind: "string", Text: `"` + n.Value + `"`}, nil, nil
	case *paths.Unary:
		return w.unary(read, n)
	case *paths.Binary:
		return w.binary(read, n)
	case *paths.Ternary:
		is, err := w.condition(read, n.If)
		switch {
		case err != nil:
			return nil, nil, err
		case is:
			return w.follow(read, n.X)
		}
		return w.follow(read, n.Y)
	case *paths.Call:
		f, ok := n.Fun.(*paths.Ident)
		if m, method := n.Fun.(*paths.Member); method {
			return nil, nil, fmt.Errorf("a call of %s: functions of the process are not called", m.Name)
		}
		if !ok || f.Name != "len" || len(n.Args) != 1 {
			if ok {
				return nil, nil, fmt.Errorf("a call of %s: functions of the process are not called", f.Name)
			}
			return nil, nil, errors.New("a call: functions of the process are not called")
		}
		return w.length(read, n.Args[0])
	}
	return nil, nil, errUnknownForm
}

func truth(is bool) *report.Data {
	return &report.Data{Kind: "bool", Text: strconv.FormatBool(is)}
}

func (w follower) unary(read *variables, n *paths.Unary) (*report.Data, *report.Variable, error) {
	switch n.Op {
	case "!":
		is, err := w.condition(read, n.X)
		if err != nil {
			return nil, nil, err
		}
		return truth(!is), nil, nil
	case "-":
		if x, ok := n.X.(*paths.Number); ok && !x.Bool {
			return &report.Data{Kind: "int", Text: "-" + strconv.FormatUint(x.Value, 10)}, nil, nil
		}
		if x, ok := n.X.(*paths.Float); ok {
			return &report.Data{Kind: "float", Text: strconv.FormatFloat(-x.Value, 'g', -1, 64)}, nil, nil
		}
	}
	return nil, nil, errUnknownForm
}

func (w follower) binary(read *variables, n *paths.Binary) (*report.Data, *report.Variable, error) {
	switch n.Op {
	case "&&", "||":
		is, err := w.condition(read, n.X)
		if err == nil && is == (n.Op == "&&") {
			is, err = w.condition(read, n.Y)
		}
		if err != nil {
			return nil, nil, err
		}
		return truth(is), nil, nil
	case "==", "!=", "<", "<=", ">", ">=":
		x, err := w.scalar(read, n.X)
		if err != nil {
			return nil, nil, err
		}
		y, err := w.scalar(read, n.Y)
		if err != nil {
			return nil, nil, err
		}
		is, err := compareScalars(n.Op, x, y)
		if err != nil {
			return nil, nil, err
		}
		return truth(is), nil, nil
	}
	return nil, nil, fmt.Errorf("%q is not computed in frames of this language", n.Op)
}

// length is len(x).
func (w follower) length(read *variables, n paths.Node) (*report.Data, *report.Variable, error) {
	d, err := w.value(read, n)
	if err != nil {
		return nil, nil, err
	}
	count := int64(0)
	switch d.Kind {
	case "string":
		s, err := scalarOf(d)
		if err != nil {
			return nil, nil, err
		}
		count = int64(len([]rune(s.text)))
	case "sequence", "array", "map":
		if d.Truncated {
			d = w.grow(d, maxGrown)
		}
		if d.Truncated {
			return nil, nil, errors.New("it has more elements than were read: how many is not known")
		}
		for i := range d.Children {
			if c := &d.Children[i]; c.Key != nil || c.Name == "" {
				count += int64(max(c.Repeat, 1))
			}
		}
	default:
		return nil, nil, fmt.Errorf("a value of kind %s has no length", d.Kind)
	}
	return &report.Data{Kind: "int", Text: strconv.FormatInt(count, 10)}, nil, nil
}

// value evaluates an operand.
func (w follower) value(read *variables, n paths.Node) (*report.Data, error) {
	d, v, err := w.follow(read, n)
	if id, ok := n.(*paths.Ident); ok && err != nil { // constants of the languages
		switch id.Name {
		case "True", "False":
			return truth(id.Name == "True"), nil
		case "None", "null", "undefined":
			return &report.Data{Kind: "void", Text: id.Name}, nil
		}
	}
	switch {
	case err != nil:
		return nil, err
	case d == nil && v != nil:
		return &report.Data{Kind: "text", Text: v.Value, Error: v.Reason}, nil
	case d == nil:
		return nil, errPartless
	case d.Error != "":
		return nil, errors.New(d.Error)
	}
	return d, nil
}

// A scalar is a number, a string, or a name such as None.
type scalar struct {
	text            string
	i               int64
	f               float64
	isInt, isFloat  bool
	isText, unknown bool // unknown: a number that has more than 64 bits
}

func (w follower) scalar(read *variables, n paths.Node) (scalar, error) {
	d, err := w.value(read, n)
	if err != nil {
		return scalar{}, err
	}
	return scalarOf(d)
}

func scalarOf(d *report.Data) (s scalar, err error) {
	if len(d.Children) > 0 || d.Kind == "map" || d.Kind == "sequence" || d.Kind == "array" || d.Kind == "struct" {
		return s, fmt.Errorf("a value of kind %s is not compared: its parts are", d.Kind)
	}
	s.text = d.Text
	if t := d.Text; d.Kind == "string" || len(t) > 1 && (t[0] == '"' || t[0] == '\'') {
		if d.Truncated || len(t) < 2 || t[0] != t[len(t)-1] || t[0] != '"' && t[0] != '\'' {
			return s, errors.New("the string was not read to its end")
		}
		s.isText, s.text = true, t[1:len(t)-1]
		return s, nil
	}
	switch strings.ToLower(s.text) {
	case "true":
		return scalar{text: "true", i: 1, isInt: true}, nil
	case "false":
		return scalar{text: "false", isInt: true}, nil
	}
	if s.i, err = strconv.ParseInt(s.text, 10, 64); err == nil {
		s.f, s.isInt = float64(s.i), true
		return s, nil
	}
	if s.f, err = strconv.ParseFloat(s.text, 64); err == nil {
		s.isFloat, s.unknown = true, !strings.ContainsAny(s.text, ".eEnN")
	}
	return s, nil
}

func compareScalars(op string, x, y scalar) (bool, error) {
	equal := op == "==" || op == "!="
	number := func(s scalar) bool { return s.isInt || s.isFloat }
	order := 0
	switch {
	case x.isInt && y.isInt:
		order = sign(x.i < y.i, x.i > y.i)
	case number(x) && number(y):
		if x.unknown && y.unknown && !(equal && x.text == y.text) {
			return false, errors.New("numbers of more than 64 bits are not compared")
		}
		if x.isInt {
			x.f = float64(x.i)
		}
		if y.isInt {
			y.f = float64(y.i)
		}
		if order = sign(x.f < y.f, x.f > y.f); x.f != x.f || y.f != y.f {
			return op == "!=", nil
		}
	case x.isText && y.isText:
		if strings.Contains(x.text+y.text, `\`) && x.text != y.text {
			return false, errors.New("strings with escapes are not compared")
		}
		order = strings.Compare(x.text, y.text)
	case equal:
		return (x.text == y.text && x.isText == y.isText) == (op == "=="), nil
	default:
		return false, fmt.Errorf("%q does not compare such values", op)
	}
	switch op {
	case "==":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

func sign(less, more bool) int {
	switch {
	case less:
		return -1
	case more:
		return 1
	}
	return 0
}

// condition reports whether a value is true, as the languages see it: a number that is not zero, a string that is not empty.
func (w follower) condition(read *variables, n paths.Node) (bool, error) {
	d, err := w.value(read, n)
	if err != nil {
		return false, err
	}
	if len(d.Children) > 0 {
		return true, nil
	}
	s, err := scalarOf(d)
	switch {
	case err != nil:
		return false, err
	case s.isInt:
		return s.i != 0, nil
	case s.isFloat:
		return s.f != 0, nil
	case s.isText:
		return s.text != "", nil
	}
	switch s.text {
	case "None", "null", "undefined":
		return false, nil
	}
	return false, fmt.Errorf("whether %s is true is not known", s.text)
}
