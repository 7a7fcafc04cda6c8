package python

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // characters of a string
	maxDepthOf  = 4   // containers within containers
	maxParts    = 64  // values within a value
	maxDigits   = 1 << 10
)

// Kinds of local variables, from 3.11 on.
const (
	kindHidden = 0x10
	kindLocal  = 0x20
	kindCell   = 0x40
	kindFree   = 0x80
)

// Flags of code objects.
const (
	codeVarArgs     = 0x04
	codeVarKeywords = 0x08
)

// maxVariables limits how many variables of a call are read.
const maxVariables = 512

// variables reads the arguments and the local variables of a call.
func (r *runtime) variables(f *pyFrame, c *code, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !c.namesRead {
		c.namesRead = true
		r.readNames(c)
	}
	isArg := c.args + c.kwonly
	if c.flags&codeVarArgs != 0 {
		isArg++
	}
	if c.flags&codeVarKeywords != 0 {
		isArg++
	}
	n := min(len(c.names), maxVariables)
	stored := r.bytes(f.at+r.at("frame.localsplus"), uint64(n)*8)
	if stored == nil {
		return nil, nil
	}
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	for i := range n {
		kind := r.kindOf(c, i)
		arg := i < isArg && kind&kindLocal != 0
		if !arg && !locals || kind&kindHidden != 0 || strings.HasPrefix(c.names[i], ".") {
			continue
		}
		v := r.p.State.Arch().ByteOrder.Uint64(stored[i*8:])
		v &^= r.tag()
		if v != 0 && kind&(kindCell|kindFree) != 0 {
			if t := r.typeAt(r.field(v, "object.type")); t != nil && t.name == "cell" {
				v = r.field(v, "cell.value")
			}
		}
		if v == 0 && arg && r.minor < 11 { // an argument that functions within use
			if k := slices.Index(c.cells, c.names[i]); k >= 0 && c.nlocals+k < n {
				cell := r.p.State.Arch().ByteOrder.Uint64(stored[(c.nlocals+k)*8:])
				v = r.field(cell, "cell.value")
			}
		}
		if v == 0 {
			if arg {
				args = append(args, tasks.SuspendedVariable{Name: c.names[i], Err: errUnset})
			}
			continue
		}
		value := tasks.SuspendedVariable{Name: c.names[i], Address: v}
		if t := r.typeAt(r.field(v, "object.type")); t != nil {
			value.Type = t.name
		}
		value.Value = r.textOf(v, limits)
		value.Tree = func() report.Data { return r.tree(v, limits) }
		if arg {
			args = append(args, value)
		} else {
			own = append(own, value)
		}
		if r.p.Spend(1) != nil {
			break
		}
	}
	return args, own
}

const errUnset chainError = "not assigned"

// kindOf returns what sort of variable the one with a number is.
func (r *runtime) kindOf(c *code, i int) byte {
	if r.minor >= 11 {
		if i < len(c.kinds) {
			return c.kinds[i]
		}
		return kindHidden
	}
	switch {
	case i < c.nlocals:
		return kindLocal
	case i < c.nlocals+len(c.cells):
		return kindCell
	}
	return kindFree
}

// readNames reads the names of the variables of a code object.
func (r *runtime) readNames(c *code) {
	if r.minor >= 11 {
		c.names = r.strings(r.field(c.at, "code.localsplusnames"))
		c.kinds = r.bytesObject(r.field(c.at, "code.localspluskinds"))
		return
	}
	c.names = r.strings(r.field(c.at, "code.varnames"))
	c.nlocals = min(c.nlocals, len(c.names))
	c.names = c.names[:c.nlocals:c.nlocals]
	c.cells = r.strings(r.field(c.at, "code.cellvars"))
	c.free = r.strings(r.field(c.at, "code.freevars"))
	c.names = append(append(c.names, c.cells...), c.free...)
}

// strings reads a tuple of str objects.
func (r *runtime) strings(at uint64) []string {
	items := r.tuple(at, maxVariables)
	out := make([]string, len(items))
	for i, s := range items {
		out[i], _ = r.str(s, maxName)
	}
	return out
}

// tuple reads the addresses of the first items of a tuple.
func (r *runtime) tuple(at uint64, limit uint64) []uint64 {
	if t := r.typeAt(r.field(at, "object.type")); t == nil || t.flags&flagTuple == 0 {
		return nil
	}
	return r.words(at+r.at("tuple.items"), min(r.field(at, "var.size"), limit))
}

// words reads n pointers.
func (r *runtime) words(at, n uint64) []uint64 {
	b := r.bytes(at, n*8)
	if b == nil {
		return nil
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = r.p.State.Arch().ByteOrder.Uint64(b[i*8:])
	}
	return out
}

// A shown is a value that was written, and the limits that it was written with.
type shown struct {
	at     uint64
	limits tasks.Limits
}

// What is kept of values that were written. What a caller passes on is in the variables of many calls.
const (
	maxShown      = 1 << 14
	maxShownBytes = 8 << 20
)

// textOf writes a value, or has it as it was written for another variable.
func (r *runtime) textOf(v uint64, limits tasks.Limits) string {
	k := shown{v, limits}
	if s, ok := r.shown[k]; ok {
		return s
	}
	w := newPrinter(r, limits)
	w.value(v, 0)
	s := w.String()
	if len(r.shown) >= maxShown || r.shownBytes+len(s) > maxShownBytes || r.p.Spend(1) != nil { // what the budget cut short is not all
		return s
	}
	if r.shown == nil {
		r.shown = map[shown]string{}
	}
	r.shown[k] = s
	r.shownBytes += len(s)
	return s
}

// A printer writes values as Python's repr does. What it cannot read is a question mark, what it leaves out an ellipsis.
type printer struct {
	strings.Builder
	r     *runtime
	most  tasks.Limits
	all   int // values within the value that may be written
	parts int
	seen  []uint64 // the containers that the current value is in
}

// newPrinter returns a printer with limits.
func newPrinter(r *runtime, limits tasks.Limits) *printer {
	return &printer{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxDepthOf}), all: limits.Parts(maxParts)}
}

func (w *printer) value(at uint64, depth int) {
	r := w.r
	if w.parts++; w.parts > w.all || r.p.Spend(4) != nil {
		w.WriteString("...")
		return
	}
	t := r.typeAt(r.field(at, "object.type"))
	if t == nil {
		w.WriteString("<no object at " + address(at) + ">")
		return
	}
	switch t.name {
	case "NoneType":
		w.WriteString("None")
		return
	case "bool":
		s, ok := r.integer(at)
		if !ok || s != "0" && s != "1" {
			w.WriteString("?")
		} else if s == "1" {
			w.WriteString("True")
		} else {
			w.WriteString("False")
		}
		return
	case "float":
		w.WriteString(floatText(math.Float64frombits(r.word(at + r.at("float.value")))))
		return
	case "complex":
		re, im := math.Float64frombits(r.word(at+r.at("complex.value"))), math.Float64frombits(r.word(at+r.at("complex.value")+8))
		w.WriteString(complexText(re, im))
		return
	case "ellipsis":
		w.WriteString("Ellipsis")
		return
	case "function", "builtin_function_or_method", "method":
		w.function(at, t)
		return
	case "module":
		w.WriteString("<module")
		if name, ok := r.str(r.get(r.word(at+r.at("object.size")), "__name__", maxModules), maxText); ok {
			w.WriteString(" '" + name + "'")
		}
		w.WriteString(">")
		return
	case "bytearray":
		if t.flags&flagHeap == 0 {
			w.byteArray(at)
			return
		}
	case "range", "slice":
		if t.flags&flagHeap == 0 {
			w.span(at, t.name, depth)
			return
		}
	case "numpy.ndarray":
		w.array(at)
		return
	}
	if s, ok := r.scalarOf(t); ok {
		w.scalar(at, s)
		return
	}
	switch {
	case t.flags&flagLong != 0:
		s, ok := r.integer(at)
		if !ok {
			s = "?"
		}
		w.WriteString(s)
	case t.flags&flagStr != 0:
		s, whole, ok := r.text(at, w.most.String)
		if !ok {
			w.WriteString("?")
			return
		}
		w.WriteString(quote(s))
		if !whole {
			w.WriteString("...")
		}
	case t.flags&flagBytes != 0:
		n := r.field(at, "var.size")
		b := r.bytes(at+r.at("bytes.data"), min(n, uint64(w.most.String)))
		if b == nil && n > 0 {
			w.WriteString("?")
			return
		}
		w.WriteString("b" + quoteBytes(b))
		if n > uint64(w.most.String) {
			w.WriteString("...")
		}
	case t.flags&flagType != 0:
		if c := r.typeAt(at); c != nil {
			w.WriteString("<class '" + c.name + "'>")
			return
		}
		w.WriteString("<class>")
	case depth >= w.most.Depth || w.inside(at):
		w.WriteString("...")
	default:
		w.seen = append(w.seen, at)
		w.container(at, t, depth)
		w.seen = w.seen[:len(w.seen)-1]
	}
}

func (w *printer) inside(at uint64) bool {
	for _, s := range w.seen {
		if s == at {
			return true
		}
	}
	return false
}

// container writes an object that has others in it.
func (w *printer) container(at uint64, t *typ, depth int) {
	r := w.r
	switch {
	case t.flags&flagTuple != 0:
		items, n := r.items(at, t, w.most.Elements)
		if names := r.fieldNames(t); uint64(len(names)) == n && n > 0 && len(items) == len(names) {
			w.named(short(t.name), names, items, depth)
			return
		}
		w.list("(", ")", items, n, depth)
	case t.flags&flagList != 0:
		items, n := r.items(at, t, w.most.Elements)
		w.list("[", "]", items, n, depth)
	case t.flags&flagDict != 0:
		if t.name != "dict" {
			w.WriteString(short(t.name) + "(")
			defer w.WriteString(")")
		}
		w.dict(at, depth)
	case isSet(t):
		w.set(at, t, depth)
	case isDeque(t):
		items, n := r.items(at, t, w.most.Elements)
		w.list("deque([", "])", items, n, depth)
	case t.flags&flagException != 0:
		w.WriteString(short(t.name))
		items, n := r.items(at, t, w.most.Elements)
		w.list("(", ")", items, n, -depth-1)
	default:
		w.instance(at, t, depth)
	}
}

// list writes n elements, of which the first are items. A negative depth is that of a call's arguments: those have no comma
// after a single one.
func (w *printer) list(begin, end string, items []uint64, n uint64, depth int) {
	call := depth < 0
	if call {
		depth = -depth - 1
	}
	w.WriteString(begin)
	for i, v := range items {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(v, depth+1)
		if w.parts > w.all {
			break
		}
	}
	switch {
	case items == nil && n > 0:
		w.WriteString("?")
	case n > uint64(len(items)):
		w.WriteString(", ...")
	case n == 1 && begin == "(" && !call:
		w.WriteString(",")
	}
	w.WriteString(end)
}

// function writes what is callable, by its name if that is known.
func (w *printer) function(at uint64, t *typ) {
	r := w.r
	if t.name == "method" {
		at = r.field(at, "method.function")
	}
	if t.name == "function" || t.name == "method" {
		for _, off := range []uint64{r.at("function.qualname"), r.at("function.name")} {
			if s, ok := r.str(r.word(at+off), maxText); ok {
				w.WriteString("<" + t.name + " " + s + ">")
				return
			}
		}
	}
	w.WriteString("<" + t.name + ">")
}

// array writes the type of the elements and the shape of a numpy array: its fields are data, number of dimensions,
// dimensions, strides, base, descriptor.
func (w *printer) array(at uint64) {
	r := w.r
	at += r.at("object.size")
	nd := r.u32(at + 8)
	if nd > 64 {
		w.WriteString("<numpy.ndarray>")
		return
	}
	w.WriteString("<numpy.ndarray shape=(")
	for i, d := range r.words(r.word(at+16), uint64(nd)) {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(strconv.FormatInt(int64(d), 10))
	}
	if nd == 1 {
		w.WriteString(",")
	}
	w.WriteString(")")
	// A descriptor begins with the type of its scalars, a kind and a letter.
	descr := r.word(at + 40)
	if t := r.typeAt(r.word(descr + r.at("object.size"))); t != nil {
		w.WriteString(" dtype=" + short(t.name))
	}
	w.WriteString(">")
}
