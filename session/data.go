package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Values of languages above the native code. A report has them as trees, which are read whole; expressions walk these
// trees: self.items[3], d["k"].

// dataVariable converts a part of a tree.
func (s *Session) dataVariable(h *partsOwner, i int, c *report.Child) Variable {
	name, expr := c.Name, ""
	switch {
	case c.Key != nil:
		name = "[" + dataText(c.Key) + "]"
		expr = name
	case name == "":
		name = fmt.Sprintf("[%d]", i)
		expr = name
	default:
		expr = "." + name
	}
	if h.expr == "" {
		expr = ""
	} else {
		expr = h.expr + expr
	}
	v := s.dataValue(h.frame, &c.Data, expr)
	v.Name = name
	return v
}

func (s *Session) dataValue(f *frameAt, d *report.Data, expr string) Variable {
	v := Variable{Type: d.Type, Kind: d.Kind, Value: dataText(d), Status: report.StatusSuccess, Truncated: d.Truncated, Expression: expr,
		Address: arch.Address(d.Address), HasAddress: d.Address != 0}
	if d.Error != "" {
		v.Status, v.Reason, v.Value = report.StatusUnknown, d.Error, ""
	}
	if len(d.Children) > 0 || f.growable(d) {
		v.Ref = s.refs.add(partsOwner{frame: f, data: d, expr: expr})
	}
	return v
}

// maxGrown is how many parts of a value are read at most.
const maxGrown = 1 << 16

// growable reports whether more parts of a value of a frame may be read than a report has.
func (f *frameAt) growable(d *report.Data) bool {
	return f.language() != "" && d.Truncated && d.Address != 0 && (d.Kind == "sequence" || d.Kind == "array" || d.Kind == "map" || d.Kind == "struct")
}

// grow returns a value of a frame with at least n parts, if it has as many and they can be read. The value itself stays as it is: what is
// shown of it does not depend on who asked for more.
func (s *Session) grow(f *frameAt, d *report.Data, n int) *report.Data {
	if len(d.Children) >= n || !f.growable(d) {
		return d
	}
	if g := s.grown[d]; g != nil && (len(g.Children) >= n || !g.Truncated) {
		return g
	}
	n = min(max(n, 2*len(d.Children)), maxGrown)
	g, ok := s.facts.ValueAt(f.st.named[f.index].Stepper, arch.Address(d.Address), tasks.Limits{Elements: n, Inner: grownInner, String: s.o.Values.MaxString, Depth: grownDepth})
	if !ok || len(g.Children) <= len(d.Children) {
		return d
	}
	if g.Type = d.Type; s.grown == nil || len(s.grown) >= maxKeptGrown {
		s.grown = map[*report.Data]*report.Data{}
	}
	s.grown[d] = &g
	return &g
}

const (
	grownDepth   = 2  // how deep the parts of a value are read
	grownInner   = 6  // how many parts of each of them
	maxKeptGrown = 16 // of how many values more parts are kept
)

// maxDataText is about how long the text of a tree is.
const maxDataText = 400

// dataText returns a tree in one line.
func dataText(d *report.Data) string {
	var b strings.Builder
	writeData(&b, d)
	return b.String()
}

func writeData(b *strings.Builder, d *report.Data) {
	b.WriteString(d.Text)
	if len(d.Children) == 0 {
		return
	}
	if d.Text != "" {
		b.WriteByte(' ')
	}
	b.WriteByte('{')
	for i := range d.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > maxDataText {
			b.WriteString("...")
			break
		}
		c := &d.Children[i]
		switch {
		case c.Key != nil && d.Kind == "sequence": // its keys go without saying
		case c.Key != nil:
			writeData(b, c.Key)
			b.WriteString(": ")
		case c.Name != "":
			b.WriteString(c.Name + " = ")
		}
		writeData(b, &c.Data)
	}
	b.WriteByte('}')
}

// path follows an expression through the variables of a frame that a report has.
func (s *Session) path(f *frameAt, read variables, expr string) (Variable, error) {
	written := expr
	switch f.language() {
	case "php":
		written = unsigiled(expr)
	case "perl":
		if v := read.find(strings.TrimSpace(expr)); v != nil {
			return named(s.reportedVariable(f, v), expr), nil
		}
		written = ofPerl(expr)
	case "ruby":
		written = ofRuby(expr)
	}
	n, err := paths.Parse(written)
	if err != nil {
		return Variable{}, &dwarfvars.ExpressionError{At: errorAt(err), Err: err}
	}
	d, whole, err := follower{s, f}.follow(&read, n)
	if err != nil {
		return Variable{}, &dwarfvars.ExpressionError{At: n.At(), Err: err}
	}
	var v Variable
	if whole != nil {
		v = s.reportedVariable(f, whole)
	} else {
		v = s.dataValue(f, d, expr)
	}
	return named(v, expr), nil
}

func named(v Variable, expr string) Variable {
	v.Name, v.Expression = expr, expr
	return v
}

// language is the language above the native code that the frame's function is in; "" for none.
func (f *frameAt) language() string {
	if f == nil || f.st == nil {
		return ""
	}
	return f.st.named[f.index].Language
}

func errorAt(err error) int {
	if e, ok := err.(*paths.Error); ok {
		return e.Where
	}
	return 0
}

// A follower follows expressions in a frame. Without a Session it sees what was read, and no more.
type follower struct {
	s *Session
	f *frameAt
}

func (w follower) grow(d *report.Data, n int) *report.Data {
	if w.s == nil || d == nil {
		return d
	}
	return w.s.grow(w.f, d, n)
}

// follow walks from a variable of a frame to a part of its tree. It returns the variable itself for its name.
func (w follower) follow(read *variables, n paths.Node) (*report.Data, *report.Variable, error) {
	switch n := n.(type) {
	case *paths.Ident:
		v, err := w.variable(read, n.Name)
		if err != nil {
			return nil, nil, err
		}
		return v.Data, v, nil
	case *paths.Member:
		d, _, err := w.follow(read, n.X)
		if err != nil {
			return nil, nil, err
		}
		if c, whole, err := childNamed(d, n.Name); err == nil {
			return c, whole, nil
		}
		if w.f.language() == "lua" { // t.name is t["name"]
			if c, whole, err := keyed(d, n.Name); err == nil {
				return c, whole, nil
			}
			return keyed(w.grow(d, maxGrown), n.Name)
		}
		return childNamed(w.grow(d, maxGrown), n.Name)
	case *paths.Index:
		d, _, err := w.follow(read, n.X)
		if err != nil {
			return nil, nil, err
		}
		switch i := n.I.(type) {
		case *paths.Number:
			if c, whole, err := element(w.grow(d, int(min(i.Value, maxGrown))+1), int64(i.Value)); err == nil {
				return c, whole, nil
			}
			return element(w.grow(d, maxGrown), int64(i.Value)) // a key of a map
		case *paths.Unary:
			if num, ok := i.X.(*paths.Number); ok && i.Op == "-" {
				return fromEnd(w.grow(d, maxGrown), int64(num.Value))
			}
		case *paths.Text:
			if c, whole, err := keyed(d, i.Value); err == nil {
				return c, whole, nil
			}
			return keyed(w.grow(d, maxGrown), i.Value)
		}
		return nil, nil, fmt.Errorf("an index is a number or a string here")
	}
	return w.computed(read, n)
}

// errPartless is the error of what has no parts in the report.
var errPartless = errors.New("it has no parts that were read")

func childNamed(d *report.Data, name string) (*report.Data, *report.Variable, error) {
	if of, ok := strings.CutPrefix(name, instanceVariable); ok {
		name = "@" + of
	}
	if d != nil {
		for i := range d.Children {
			if d.Children[i].Name == name {
				return &d.Children[i].Data, nil, nil
			}
		}
	}
	if d == nil || len(d.Children) == 0 {
		return nil, nil, errPartless
	}
	if d.Truncated {
		return nil, nil, fmt.Errorf("attribute %s is not among those that were read", name)
	}
	return nil, nil, fmt.Errorf("it has no attribute %s", name)
}

func element(d *report.Data, at int64) (*report.Data, *report.Variable, error) {
	if d != nil {
		pos := int64(0)
		for i := range d.Children {
			c := &d.Children[i]
			if c.Key != nil {
				if c.Key.Text == strconv.FormatInt(at, 10) {
					return &c.Data, nil, nil
				}
				continue
			}
			pos += int64(max(c.Repeat, 1))
			if c.Name == "" && at >= 0 && at < pos {
				return &c.Data, nil, nil
			}
		}
	}
	if d == nil || len(d.Children) == 0 {
		return nil, nil, errPartless
	}
	switch {
	case d.Truncated:
		return nil, nil, fmt.Errorf("element %d is not among those that were read", at)
	case d.Children[0].Key != nil:
		return nil, nil, fmt.Errorf("it has no element with the key %d", at)
	}
	if n := countOf(d); n > 0 {
		return nil, nil, fmt.Errorf("it has no element %d: it has %d", at, n)
	}
	return nil, nil, errors.New("it has attributes, and no elements")
}

// fromEnd returns the element of a sequence that is the nth from its end, or the one with the key -n.
func fromEnd(d *report.Data, n int64) (*report.Data, *report.Variable, error) {
	if d == nil || len(d.Children) == 0 || d.Children[0].Key != nil {
		return element(d, -n)
	}
	if d.Truncated {
		return nil, nil, errors.New("it has more elements than were read: where it ends is not known")
	}
	if all := countOf(d); n <= all {
		return element(d, all-n)
	}
	return element(d, -n)
}

// countOf is how many elements a value has.
func countOf(d *report.Data) (n int64) {
	for i := range d.Children {
		if c := &d.Children[i]; c.Name == "" && c.Key == nil {
			n += int64(max(c.Repeat, 1))
		}
	}
	return n
}

func keyed(d *report.Data, key string) (*report.Data, *report.Variable, error) {
	if d != nil {
		for i := range d.Children {
			c := &d.Children[i]
			if c.Key == nil {
				continue
			}
			if t := c.Key.Text; t == key || len(t) > 1 && (t[0] == '"' || t[0] == '\'') && t[1:len(t)-1] == key { // words of Perl and Erlang, and symbols of Ruby, have no quotes
				return &c.Data, nil, nil
			}
		}
	}
	if d == nil || len(d.Children) == 0 {
		return nil, nil, errPartless
	}
	if d.Truncated {
		return nil, nil, fmt.Errorf("the key %q is not among those that were read", key)
	}
	return nil, nil, fmt.Errorf("it has no element with the key %q", key)
}
