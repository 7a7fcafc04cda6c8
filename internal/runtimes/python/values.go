package python

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

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
func (r *runtime) variables(f *pyFrame, c *code, locals bool) (args, own []tasks.SuspendedVariable) {
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
		w := printer{r: r}
		w.value(v, 0)
		value.Value = w.String()
		value.Tree = func() tasks.Value { return r.tree(v) }
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

// A printer writes values as Python's repr does. What it cannot read is a question mark, what it leaves out an ellipsis.
type printer struct {
	strings.Builder
	r     *runtime
	parts int
	seen  []uint64 // the containers that the current value is in
}

func (w *printer) value(at uint64, depth int) {
	r := w.r
	if w.parts++; w.parts > maxParts || r.p.Spend(4) != nil {
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
		s, whole, ok := r.text(at, maxText)
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
		b := r.bytes(at+r.at("bytes.data"), min(n, maxText))
		if b == nil && n > 0 {
			w.WriteString("?")
			return
		}
		w.WriteString("b" + quoteBytes(b))
		if n > maxText {
			w.WriteString("...")
		}
	case t.flags&flagType != 0:
		if c := r.typeAt(at); c != nil {
			w.WriteString("<class '" + c.name + "'>")
			return
		}
		w.WriteString("<class>")
	case depth >= maxDepthOf || w.inside(at):
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
		items, n := r.items(at, t, maxElements)
		if names := r.fieldNames(t); uint64(len(names)) == n && n > 0 && len(items) == len(names) {
			w.named(short(t.name), names, items, depth)
			return
		}
		w.list("(", ")", items, n, depth)
	case t.flags&flagList != 0:
		items, n := r.items(at, t, maxElements)
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
		items, n := r.items(at, t, maxElements)
		w.list("deque([", "])", items, n, depth)
	case t.flags&flagException != 0:
		w.WriteString(short(t.name))
		items, n := r.items(at, t, maxElements)
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
		if w.parts > maxParts {
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

// A pair is an entry of a dict.
type pair struct{ key, value uint64 }

// pairs reads the entries of a dict in their order, up to a limit; false if they cannot be read.
func (r *runtime) pairs(at uint64, limit int) (list []pair, all, ok bool) {
	used := r.field(at, "dict.used")
	if used == 0 {
		return nil, true, true
	}
	return r.keyed(r.field(at, "dict.keys"), r.field(at, "dict.values"), limit)
}

// keyed reads what a table of keys has, with the values in the table or, if they are split, in another place.
func (r *runtime) keyed(keys, values uint64, limit int) (list []pair, all, ok bool) {
	head := r.bytes(keys, 40)
	if head == nil {
		return nil, false, false
	}
	o := r.p.State.Arch().ByteOrder
	var entries, n uint64
	size, keyAt := uint64(24), uint64(8)
	if r.minor >= 11 {
		logIndex, kind := head[9], head[10]
		if logIndex > 40 || kind > 2 {
			return nil, false, false
		}
		n = o.Uint64(head[24:])
		entries = keys + 32 + 1<<logIndex
		if kind != 0 {
			size, keyAt = 16, 0
		}
	} else {
		slots := o.Uint64(head[8:])
		n = o.Uint64(head[32:])
		width := uint64(1)
		switch {
		case slots > 0xffffffff:
			return nil, false, false
		case slots > 0xffff:
			width = 4
		case slots > 0xff:
			width = 2
		}
		entries = keys + 40 + slots*width
		if slots > 1<<31 {
			return nil, false, false
		}
	}
	if n > 1<<32 {
		return nil, false, false
	}
	b := r.bytes(entries, min(n, uint64(limit)*4)*size)
	if b == nil && n > 0 {
		return nil, false, false
	}
	var split []uint64
	if values != 0 {
		if r.minor >= 13 {
			values += 8 // sizes
		}
		split = r.words(values, min(n, uint64(limit)*4))
	}
	for i := 0; uint64(len(b)) >= size*uint64(i+1); i++ {
		e := b[uint64(i)*size:]
		p := pair{o.Uint64(e[keyAt:]), o.Uint64(e[keyAt+8:])}
		if split != nil {
			p.value = split[i]
		}
		if p.value == 0 || p.key == 0 {
			continue
		}
		if len(list) == limit {
			return list, false, true
		}
		list = append(list, p)
	}
	return list, n*size <= uint64(len(b)), true
}

func (w *printer) dict(at uint64, depth int) {
	list, all, ok := w.r.pairs(at, maxElements)
	w.WriteString("{")
	if !ok {
		w.WriteString("?")
	}
	for i, p := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(p.key, depth+1)
		w.WriteString(": ")
		w.value(p.value, depth+1)
		if w.parts > maxParts {
			break
		}
	}
	if ok && !all {
		w.WriteString(", ...")
	}
	w.WriteString("}")
}

func isSet(t *typ) bool { return t.name == "set" || t.name == "frozenset" }

// items reads the first elements of a tuple, a list or a set, or the arguments of an exception; n is how many there are.
func (r *runtime) items(at uint64, t *typ, limit int) (items []uint64, n uint64) {
	most := uint64(limit)
	switch {
	case t.flags&flagTuple != 0:
		n = r.field(at, "var.size")
		return r.words(at+r.at("tuple.items"), min(n, most)), n
	case t.flags&flagList != 0:
		n = r.field(at, "var.size")
		return r.words(r.field(at, "list.items"), min(n, most)), n
	case t.flags&flagException != 0:
		args := r.field(at, "exception.args")
		return r.tuple(args, most), r.field(args, "var.size")
	}
	if isDeque(t) {
		return r.dequeItems(at, most)
	}
	const mostSlots = 1 << 12
	table, mask := r.field(at, "set.table"), r.field(at, "set.mask")
	for i, v := range r.words(table, min(mask, mostSlots-1)*2+2) {
		// Entries are a key and its hash, -1 for one that was removed.
		if i%2 == 0 && v != 0 && len(items) < limit && r.typeAt(r.field(v, "object.type")) != nil {
			if hash := r.word(table + uint64(i)*8 + 8); hash != ^uint64(0) {
				items = append(items, v)
			}
		}
	}
	return items, r.field(at, "set.used")
}

// set writes the elements in the order of the table, as Python does.
func (w *printer) set(at uint64, t *typ, depth int) {
	begin, end := "{", "}"
	if t.name == "frozenset" {
		begin, end = "frozenset({", "})"
	}
	items, n := w.r.items(at, t, maxElements)
	if n == 0 {
		w.WriteString(t.name + "()")
		return
	}
	w.list(begin, end, items, n, depth)
}

// A field is an attribute of an instance.
type field struct {
	name  string
	value uint64
}

// fields reads the attributes of an instance: those of __slots__, then those of __dict__. It reports whether that is all.
func (r *runtime) fields(at uint64, t *typ, limit int) (list []field, all bool) {
	for _, s := range r.slotsOf(t) {
		if v := r.word(at + s.offset); v != 0 && len(list) < limit {
			list = append(list, field{s.name, v})
		}
	}
	own, all, ok := r.attributes(at, t, limit)
	for _, p := range own {
		if name, whole := r.str(p.key, maxName); whole && len(list) < limit {
			list = append(list, field{name, p.value})
		}
	}
	return list, all || !ok
}

// instance writes an object of a class with its attributes, a member of an enumeration as that writes it.
func (w *printer) instance(at uint64, t *typ, depth int) {
	w.WriteString("<" + short(t.name))
	list, all := w.r.fields(at, t, maxElements)
	if name, value, ok := enumMember(list); ok {
		if s, ok := w.r.str(name, maxText); ok {
			w.WriteString("." + s + ": ")
			w.value(value, depth+1)
			w.WriteString(">")
			return
		}
	}
	for i, f := range list {
		if w.parts > maxParts {
			break
		}
		if i > 0 {
			w.WriteString(",")
		}
		w.WriteString(" " + f.name + "=")
		w.value(f.value, depth+1)
	}
	if !all {
		w.WriteString(", ...")
	}
	if len(list) == 0 {
		w.WriteString(" at " + address(at))
	}
	w.WriteString(">")
}

// Flags of types: where instances keep their attributes.
const (
	flagInlineValues = 1 << 2
	flagManagedDict  = 1 << 4
)

// attributes reads the __dict__ of an instance.
func (r *runtime) attributes(at uint64, t *typ, limit int) (list []pair, all, ok bool) {
	switch {
	case r.minor >= 11 && t.flags&flagManagedDict != 0:
		keys := r.word(t.at + r.at("heaptype.cached_keys"))
		switch {
		case r.minor == 11: // the word at -4 has the values, the one at -3 the dict
			if values := r.word(at - 32); values != 0 {
				return r.keyed(keys, values, limit)
			}
			return r.pairs(r.word(at-24), limit)
		case r.minor == 12: // one word: the dict, or one less than the address of the values
			v := r.word(at - 24)
			if v&1 != 0 {
				return r.keyed(keys, v+1, limit)
			}
			return r.pairs(v, limit)
		}
		before := uint64(24)
		if r.free {
			before = 8
		}
		if d := r.word(at - before); d != 0 {
			return r.pairs(d, limit)
		}
		if t.flags&flagInlineValues != 0 {
			// They follow the object's own fields.
			return r.keyed(keys, at+uint64(t.basic), limit)
		}
		return nil, true, true
	case t.dictOffset > 0 && t.dictOffset < 1<<20:
		if d := r.word(at + uint64(t.dictOffset)); d != 0 {
			return r.pairs(d, limit)
		}
	}
	return nil, true, true
}

// slotsOf returns the members that __slots__ made, of a class and of those that it is derived from.
func (r *runtime) slotsOf(t *typ) []slot {
	if t.slotsRead {
		return t.slots
	}
	t.slotsRead = true
	of := t
	for range 8 {
		if of == nil || of.flags&flagHeap == 0 {
			break
		}
		members := r.word(of.at + r.at("type.members"))
		for i := uint64(0); members != 0 && i < maxElements; i++ {
			const size, objectEx = 40, 16
			b := r.bytes(members+i*size, size)
			if b == nil {
				break
			}
			o := r.p.State.Arch().ByteOrder
			name := r.cstring(o.Uint64(b), 256)
			if name == "" {
				break
			}
			if kind := o.Uint32(b[8:]); kind == objectEx && !strings.HasPrefix(name, "__") {
				if off := o.Uint64(b[16:]); off < 1<<20 {
					t.slots = append(t.slots, slot{name, off})
				}
			}
		}
		of = r.typeAt(r.word(of.at + r.at("type.base")))
	}
	return t.slots
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

// integer returns an int in decimal.
func (r *runtime) integer(at uint64) (string, bool) {
	var digits uint64
	negative := false
	if r.has("long.tag") {
		b := r.bytes(at+r.at("long.tag"), 8)
		if b == nil {
			return "", false
		}
		tag := r.p.State.Arch().ByteOrder.Uint64(b)
		digits, negative = tag>>3, tag&3 == 2
		if tag&3 == 1 {
			return "0", true
		}
	} else {
		b := r.bytes(at+r.at("var.size"), 8)
		if b == nil {
			return "", false
		}
		n := int64(r.p.State.Arch().ByteOrder.Uint64(b))
		if negative = n < 0; negative {
			n = -n
		}
		digits = uint64(n)
	}
	if digits == 0 {
		return "0", true
	}
	if digits > maxDigits {
		return "<int of " + strconv.FormatUint(digits*30, 10) + " bits>", digits < 1<<40
	}
	b := r.bytes(at+r.at("long.digit"), digits*4)
	if b == nil {
		return "", false
	}
	if digits <= 2 { // nearly all
		low, high := r.p.State.Arch().ByteOrder.Uint32(b), uint32(0)
		if digits == 2 {
			high = r.p.State.Arch().ByteOrder.Uint32(b[4:])
		}
		if low >= 1<<30 || high >= 1<<30 {
			return "", false
		}
		v := int64(high)<<30 | int64(low)
		if negative {
			v = -v
		}
		return strconv.FormatInt(v, 10), true
	}
	v := new(big.Int)
	for i := int(digits) - 1; i >= 0; i-- {
		d := r.p.State.Arch().ByteOrder.Uint32(b[i*4:])
		if d >= 1<<30 {
			return "", false
		}
		v.Or(v.Lsh(v, 30), big.NewInt(int64(d)))
	}
	if negative {
		v.Neg(v)
	}
	s := v.String()
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return s, true
}

// floatText writes a float as Python does.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e < -4 || e >= 16 {
		sign := "+"
		if e < 0 {
			sign, e = "-", -e
		}
		return fmt.Sprintf("%se%s%02d", mantissa, sign, e)
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func complexText(re, im float64) string {
	return complexOf(binaryFloat{re, 64}, binaryFloat{im, 64})
}

func address(at uint64) string { return "0x" + strconv.FormatUint(at, 16) }

// short is a type's name without its module.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// quote writes text as Python's repr does.
func quote(s string) string {
	q := byte('\'')
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		q = '"'
	}
	var b strings.Builder
	b.WriteByte(q)
	for _, c := range s {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\\' || c == rune(q):
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteByte(q)
	return b.String()
}

// quoteBytes writes bytes as Python's repr does, without the b.
func quoteBytes(data []byte) string {
	q := byte('\'')
	if strings.ContainsRune(string(data), '\'') && !strings.ContainsRune(string(data), '"') {
		q = '"'
	}
	var b strings.Builder
	b.WriteByte(q)
	for _, c := range data {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\\' || c == q:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(q)
	return b.String()
}
