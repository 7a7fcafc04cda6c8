package lua

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // bytes of a string
	maxNested   = 4   // tables within others
	maxParts    = 64  // values within a value
)

// maxShown limits the variables of a call.
const maxShown = 256

// variables reads the arguments and the local variables of a call, and those of outer functions that it uses.
func (r *runtime) variables(c, caller *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	if c.f == nil {
		return r.given(c, caller, limits), own
	}
	read := func(name string, at uint64) tasks.SuspendedVariable {
		if c.stale != 0 && at >= c.stale && at < c.staleEnd {
			return tasks.SuspendedVariable{Name: name, Err: unknown.ErrOptimisedOut}
		}
		return r.variable(name, at, limits)
	}
	register := uint64(0)
	for _, v := range r.variableNames(c.f) {
		if int64(v.from) > int64(c.pc) || len(args)+len(own) >= maxShown || r.p.Spend(1) != nil {
			break
		}
		if int64(c.pc) >= int64(v.to) {
			continue
		}
		at := c.base + register*r.valueSize()
		register++
		switch {
		case register <= uint64(c.f.parameters):
			args = append(args, read(v.name, at))
		case locals && !strings.HasPrefix(v.name, "("): // of a loop's own
			own = append(own, read(v.name, at))
		}
	}
	for i, at := range r.extra(c) {
		args = append(args, read("..."+strconv.Itoa(i+1), at))
	}
	if !locals {
		return args, own
	}
	for i := range uint64(min(c.f.upvalueCount, maxShown)) {
		name := r.upvalue(c.f, int(i))
		if name == environment || len(own) >= maxShown || r.p.Spend(1) != nil {
			continue
		}
		up := r.element(c.function.bits, "closure.upvalues", int(i))
		own = append(own, read(name, r.field(up, "upvalue.at")))
	}
	return args, own
}

// extra is where the arguments are that a function with variable arguments has beyond its parameters.
func (r *runtime) extra(c *call) (list []uint64) {
	if !c.f.vararg {
		return nil
	}
	first, n := uint64(0), uint64(0)
	if r.jit {
		first, n = r.jitExtra(c)
	} else if r.minor == 4 {
		n = uint64(r.number(c.at, "call.extra"))
		first = c.slot - n*r.valueSize()
	} else {
		first = c.slot + r.valueSize()*(1+uint64(c.f.parameters))
		if c.base > first {
			n = (c.base - first) / r.valueSize()
		}
	}
	if stack := r.field(c.state, "state.stack"); n > maxStack || first < stack || first > c.base {
		return nil
	}
	for i := range min(n, maxArguments) {
		list = append(list, first+i*r.valueSize())
	}
	return list
}

// given are the arguments of a function of C, where the instruction that called it says how many it gave.
func (r *runtime) given(c, caller *call, limits tasks.Limits) []tasks.SuspendedVariable {
	list := []tasks.SuspendedVariable{}
	if caller == nil || caller.f == nil || r.tail(c) {
		return list
	}
	if name := r.codeName(c, caller); name == "pcall" || name == "xpcall" { // which put something else there
		return list
	}
	i, ok := r.instruction(caller.f, caller.pc)
	if !ok || r.op(i) != "CALL" {
		return list
	}
	n := r.b(i) // and one; 0 if it is not known
	if r.jit {
		n = r.c(i)
	}
	for k := range min(uint64(max(n, 1)-1), maxArguments) {
		at := c.base + k*r.valueSize()
		if at >= c.top {
			break
		}
		list = append(list, r.variable("arg"+strconv.Itoa(int(k+1)), at, limits))
	}
	return list
}

func (r *runtime) variable(name string, at uint64, limits tasks.Limits) tasks.SuspendedVariable {
	out := tasks.SuspendedVariable{Name: name}
	v, ok := r.valueAt(at)
	if !ok {
		out.Err = chainError("its value cannot be read")
		return out
	}
	out.Type, out.Address, out.Value = typeOf(v), at, r.show(v, limits)
	out.Tree = func() report.Data {
		b := treeBuilder{r: r, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
		return b.value(v)
	}
	return out
}

// show writes a value in one line.
func (r *runtime) show(v value, limits tasks.Limits) string {
	w := printer{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxNested}), all: limits.Parts(maxParts)}
	w.value(v)
	return w.String()
}

// typeOf is the type of a value, as type and math.type say it.
func typeOf(v value) string {
	switch v.kind {
	case kindNil:
		return "nil"
	case kindFalse, kindTrue:
		return "boolean"
	case kindInt:
		return "integer"
	case kindFloat:
		return "number"
	case kindString:
		return "string"
	case kindTable:
		return "table"
	case kindFunction, kindNative, kindPlain:
		return "function"
	case kindThread:
		return "thread"
	case kindForeign:
		return "cdata"
	}
	return "userdata"
}

// A printer writes values as Lua's programs do, in one line.
type printer struct {
	strings.Builder
	r     *runtime
	most  tasks.Limits
	all   int // values within the value that may be written
	parts int
	seen  []uint64 // the tables that the current value is in
}

func (w *printer) value(v value) {
	if w.parts++; w.parts > w.all || w.r.p.Spend(4) != nil {
		w.WriteString("...")
		return
	}
	if v.kind != kindTable {
		w.WriteString(w.r.scalar(v, w.most.String))
		return
	}
	switch {
	case !w.r.is(v.bits, tagTable):
		w.WriteString("?")
		return
	case slices.Contains(w.seen, v.bits) || len(w.seen) >= w.most.Depth:
		w.WriteString("{...}")
		return
	}
	w.seen = append(w.seen, v.bits)
	list, whole := w.r.elements(v.bits, w.most.At(len(w.seen)-1))
	w.WriteByte('{')
	next := uint64(1)
	for i, e := range list {
		if w.parts > w.all {
			break // it says so
		}
		if i > 0 {
			w.WriteString(", ")
		}
		if e.key.kind == kindInt && e.key.bits == next {
			next++
		} else {
			w.WriteString(w.r.keyText(e.key) + "=")
		}
		w.value(e.value)
	}
	if !whole {
		if len(list) > 0 {
			w.WriteString(", ")
		}
		w.WriteString("...")
	}
	w.WriteByte('}')
	w.seen = w.seen[:len(w.seen)-1]
}

// elements lists at most limit elements of a table; false if there are more, or if not all could be read.
func (r *runtime) elements(table uint64, limit int) (list []entry, whole bool) {
	more := false
	whole = r.each(table, func(e entry) bool {
		if len(list) >= limit {
			more = true
			return false
		}
		list = append(list, e)
		return true
	})
	return list, whole && !more
}

// keyText is a key as Lua's source has it.
func (r *runtime) keyText(v value) string {
	if v.kind == kindString {
		if s, n, ok := r.text(v.bits, maxText); ok && uint64(len(s)) == n && isName(s) {
			return s
		}
	}
	if v.kind == kindTable {
		return "[table " + hex(v.bits) + "]"
	}
	return "[" + r.scalar(v, maxText) + "]"
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// scalar is the text of a value that has no others in it.
func (r *runtime) scalar(v value, limit int) string {
	switch v.kind {
	case kindNil:
		return "nil"
	case kindFalse:
		return "false"
	case kindTrue:
		return "true"
	case kindInt:
		return strconv.FormatInt(int64(v.bits), 10)
	case kindFloat:
		return floatText(math.Float64frombits(v.bits), r.minor > 2)
	case kindString:
		s, n, ok := r.text(v.bits, limit)
		if !ok {
			return "?"
		}
		out := quoted(s)
		if uint64(len(s)) < n {
			out += "..."
		}
		return out
	case kindFunction:
		if r.is(v.bits, tagFunction) {
			if f := r.functionOf(v.bits); f != nil {
				return "function <" + place(f) + ">"
			}
		}
		return "?"
	case kindNative, kindPlain:
		return "function " + hex(v.bits)
	case kindThread:
		return "thread " + hex(v.bits)
	case kindForeign:
		return "cdata " + hex(v.bits)
	case kindData:
		if meta := r.field(v.bits, "data.meta"); r.is(v.bits, tagData) && meta != 0 {
			if name := r.lookup(meta, "__name"); name.kind == kindString {
				if s := r.name(name.bits); s != "" {
					return s + " " + hex(v.bits)
				}
			}
		}
		return "userdata " + hex(v.bits)
	case kindLight:
		return "userdata " + hex(v.bits)
	}
	return "?"
}

// quoted writes a string in quotes, in one line.
func quoted(s string) string { return remote.QuoteBytes(s, `"\`) }

// floatText writes a number as Lua does: 14 digits; since 5.3 it is told from an integer.
func floatText(v float64, point bool) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'e', 13, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if e < -4 || e >= 14 {
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return mantissa + "e" + exponent
	}
	s = strconv.FormatFloat(v, 'f', 13-e, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if point && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	r     *runtime
	most  tasks.Limits
	all   int // values within the value that may be read
	parts int
	seen  []uint64 // the tables that the current value is in
}

func (b *treeBuilder) value(v value) report.Data {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	out := report.Data{Kind: dataKind(v), Type: typeOf(v)}
	if v.kind >= kindString && v.kind != kindPlain {
		out.Address = report.Addr(v.bits)
	}
	if v.kind != kindTable || !r.is(v.bits, tagTable) {
		out.Text = r.scalar(v, b.most.String)
		out.Truncated = v.kind == kindString && strings.HasSuffix(out.Text, `"...`)
		return out
	}
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, v.bits) {
		out.Text, out.Truncated = "...", true
		return out
	}
	b.seen = append(b.seen, v.bits)
	list, whole := r.elements(v.bits, b.most.At(len(b.seen)-1))
	sequence := true
	for i, e := range list {
		sequence = sequence && e.key == value{uint64(i + 1), kindInt}
	}
	if sequence && len(list) > 0 {
		out.Kind = "sequence"
	}
	for _, e := range list {
		if b.parts >= b.all {
			whole = false
			break
		}
		// A sequence has its keys, too: Lua counts from 1, and who looks for t[1] means that.
		key := &report.Data{Kind: dataKind(e.key), Type: typeOf(e.key), Text: r.scalar(e.key, maxText)}
		if e.key.kind == kindTable {
			key.Text = "table " + hex(e.key.bits)
		}
		out.Children = append(out.Children, report.Child{Key: key, Data: b.value(e.value)})
	}
	out.Truncated = !whole
	b.seen = b.seen[:len(b.seen)-1]
	return out
}

// dataKind is the kind of a value in reports.
func dataKind(v value) string {
	switch v.kind {
	case kindFalse, kindTrue:
		return "bool"
	case kindInt:
		return "int"
	case kindFloat:
		return "float"
	case kindString:
		return "string"
	case kindTable:
		return "map"
	case kindFunction, kindNative, kindPlain:
		return "function"
	case kindNil:
		return "text"
	}
	return "pointer"
}

// ValueAt implements tasks.Valuer: tables, by their addresses.
func (r *runtime) ValueAt(at uint64, limits tasks.Limits) (report.Data, bool) {
	if !r.is(at, tagTable) {
		return report.Data{}, false
	}
	b := treeBuilder{r: r, most: limits.Or(tasks.Limits{Elements: remote.TreeElements, String: maxText, Depth: remote.TreeDepth}), all: limits.Parts(remote.TreeParts)}
	return b.value(value{at, kindTable}), true
}
