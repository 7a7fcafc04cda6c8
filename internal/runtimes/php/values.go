package php

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // bytes of a string
	maxNested   = 4   // arrays and objects within others
	maxParts    = 64  // values within a value
	maxSlots    = 1 << 16
)

// slots is where the variables of a call begin, behind its record.
const slots = 80

const errUnset chainError = "not assigned"

// variables reads the arguments and the local variables of a call.
func (r *runtime) variables(c *call, locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	f := c.f
	n := min(c.args, maxVariables)
	internal := f.kind == funcInternal
	for i := range n {
		at := c.at + slots + 16*uint64(i)
		name := ""
		switch {
		case internal:
			name = r.parameter(f, i)
		case i < f.arguments && i < f.variables:
			name = r.variableName(f, i)
		default: // more than are declared: behind all others, unless the last takes them
			at += 16 * uint64(f.variables+f.temporaries-f.arguments)
		}
		if name == "" {
			name = "arg" + strconv.Itoa(int(i))
		}
		args = append(args, r.variable(name, at, limits))
	}
	if locals && c.this != 0 {
		own = append(own, r.valueOf("this", zval{value: c.this, kind: typeObject}, limits))
	}
	if internal || !locals {
		return args, own
	}
	for i := min(n, f.arguments); i < min(f.variables, maxVariables); i++ {
		if r.p.Spend(1) != nil {
			break
		}
		v, ok := r.zvalAt(c.at + slots + 16*uint64(i))
		name := r.variableName(f, i)
		if !ok || v.kind == typeUndef || name == "" {
			continue
		}
		own = append(own, r.valueOf(name, v, limits))
	}
	return args, own
}

func (r *runtime) variable(name string, at uint64, limits tasks.Limits) tasks.SuspendedVariable {
	v, ok := r.zvalAt(at)
	if !ok || v.kind == typeUndef {
		return tasks.SuspendedVariable{Name: name, Err: errUnset}
	}
	return r.valueOf(name, v, limits)
}

func (r *runtime) valueOf(name string, v zval, limits tasks.Limits) tasks.SuspendedVariable {
	out := tasks.SuspendedVariable{Name: name, Type: r.typeOf(v)}
	if v.at != 0 {
		out.Address = v.at
	}
	w := printer{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxNested}), all: limits.Parts(maxParts)}
	w.value(v, 0)
	out.Value = w.String()
	out.Tree = func() report.Data { return r.tree(v, limits) }
	return out
}

// variableName is the name of a variable of a function of the program.
func (r *runtime) variableName(f *function, i uint32) string {
	f.readNames.Do(func() {
		list, _ := r.Words(f.variableNames, int(min(f.variables, maxVariables)))
		for _, at := range list {
			f.names = append(f.names, r.name(at))
		}
	})
	if int(i) < len(f.names) {
		return f.names[i]
	}
	return ""
}

// parameter is the name of a parameter of a function of PHP itself.
func (r *runtime) parameter(f *function, i uint32) string {
	if i >= f.arguments || f.argumentInfo == 0 {
		return ""
	}
	s, ended := r.CString(r.Word(f.argumentInfo+uint64(i)*r.at("arginfo.size")), 64)
	if !ended || !isName(string(s)) {
		return ""
	}
	return string(s)
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// typeOf is the type of a value, as gettype says it, or the class of an object.
func (r *runtime) typeOf(v zval) string {
	switch v.kind {
	case typeNull:
		return "null"
	case typeFalse, typeTrue:
		return "bool"
	case typeLong:
		return "int"
	case typeDouble:
		return "float"
	case typeString:
		return "string"
	case typeArray:
		return "array"
	case typeObject:
		name, _ := r.className(r.field(v.value, "object.class"))
		return name
	case typeResource:
		return "resource"
	}
	return ""
}

// A printer writes values as var_dump does, in one line.
type printer struct {
	strings.Builder
	r     *runtime
	most  tasks.Limits
	all   int // values within the value that may be written
	parts int
	seen  []uint64 // the arrays and objects that the current value is in
}

func (w *printer) value(v zval, depth int) {
	r := w.r
	if w.parts++; w.parts > w.all || r.p.Spend(4) != nil {
		w.WriteString("...")
		return
	}
	if s, ok := r.scalar(v, w.most.String); ok {
		w.WriteString(s)
		return
	}
	switch {
	case v.kind == typeArray && r.counted(v.value, typeArray):
		count := r.number(v.value, "array.count")
		w.WriteString("array(" + strconv.FormatUint(uint64(count), 10) + ") {")
		w.inner(v, depth)
	case v.kind == typeObject && r.counted(v.value, typeObject):
		class := r.typeOf(v)
		if class == "" {
			w.WriteString("?")
			return
		}
		if name, ok := r.enumCase(v.value); ok {
			w.WriteString("enum(" + class + "::" + name + ")")
			return
		}
		w.WriteString("object(" + class + ")#" + strconv.FormatUint(uint64(r.number(v.value, "object.handle")), 10))
		if name := r.closure(v.value, class); name != "" {
			w.WriteString(" <" + name + ">")
			return
		}
		w.WriteString(" {")
		w.inner(v, depth)
	default:
		w.WriteString("?")
	}
}

// inner writes what is in an array or an object.
func (w *printer) inner(v zval, depth int) {
	switch {
	case slices.Contains(w.seen, v.value):
		w.WriteString(" *RECURSION* }")
		return
	case depth >= w.most.Depth:
		w.WriteString(" ... }")
		return
	}
	w.seen = append(w.seen, v.value)
	list, whole := w.r.elements(v, w.most.At(depth))
	for _, e := range list {
		if w.parts > w.all {
			whole = true // it says so
			break
		}
		w.WriteString(" " + e.label() + "=> ")
		w.value(e.value, depth+1)
	}
	if !whole {
		w.WriteString(" ...")
	}
	w.WriteString(" }")
	w.seen = w.seen[:len(w.seen)-1]
}

// scalar is the text of a value that has no others in it.
func (r *runtime) scalar(v zval, limit int) (string, bool) {
	switch v.kind {
	case typeUndef:
		return "uninitialized", true
	case typeNull:
		return "NULL", true
	case typeFalse:
		return "bool(false)", true
	case typeTrue:
		return "bool(true)", true
	case typeLong:
		return "int(" + strconv.FormatInt(int64(v.value), 10) + ")", true
	case typeDouble:
		return "float(" + floatText(math.Float64frombits(v.value)) + ")", true
	case typeString:
		s, n, ok := r.text(v.value, limit)
		if !ok {
			return "?", true
		}
		out := "string(" + strconv.FormatUint(n, 10) + ") " + quoted(s)
		if uint64(len(s)) < n {
			out += "..."
		}
		return out, true
	case typeResource:
		if !r.counted(v.value, typeResource) {
			return "?", true
		}
		id, _ := r.U32(v.value + 8)
		return "resource(" + strconv.FormatUint(uint64(id), 10) + ")", true
	}
	return "", false
}

// quoted writes a string in quotes, in one line: as var_dump does, which escapes no quotes.
func quoted(s string) string { return remote.QuoteBytes(s, "") }

// floatText writes a number as PHP does with 17 digits at most, of which it needs as many as tell it from others.
func floatText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NAN"
	case math.IsInf(v, 1):
		return "INF"
	case math.IsInf(v, -1):
		return "-INF"
	}
	s := strconv.FormatFloat(v, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if v == 0 || e >= -4 && e < 17 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := "+"
	if e < 0 {
		sign, e = "-", -e
	}
	return mantissa + "E" + sign + strconv.Itoa(e)
}

// An element is one of an array, or a property of an object.
type element struct {
	key    string
	number int64 // for a key that is a number
	text   bool  // the key is text
	note   string
	value  zval
}

// label is the key as var_dump writes it.
func (e *element) label() string {
	if !e.text {
		return "[" + strconv.FormatInt(e.number, 10) + "]"
	}
	return `["` + strings.Trim(quoted(e.key), `"`) + `"` + e.note + "]"
}

// elements lists at most limit elements of an array or properties of an object; false if there are more, or if not all could be read.
func (r *runtime) elements(v zval, limit int) ([]element, bool) {
	if v.kind == typeArray {
		return r.array(v.value, limit)
	}
	return r.properties(v.value, limit)
}

// packed says of an array that its keys are 0, 1, 2 and so on.
const packed = 1 << 2

// array lists elements of an array. Places of those that were removed are empty.
func (r *runtime) array(at uint64, limit int) (list []element, whole bool) {
	used, count := r.number(at, "array.used"), r.number(at, "array.count")
	data := r.field(at, "array.data")
	size := uint64(bucketSize)
	plainKeys := r.number(at, "array.flags")&packed != 0
	if plainKeys {
		size = r.at("array.packed")
	}
	for i := range uint64(min(used, maxSlots)) {
		if len(list) >= limit || r.p.Spend(1) != nil {
			return list, uint32(len(list)) == count
		}
		b := r.Bytes(data+i*size, int(size))
		if b == nil {
			return list, false
		}
		if b[8] == typeUndef {
			continue
		}
		e := element{number: int64(i)}
		if !plainKeys {
			e.number = int64(r.Arch.Word(b[16:]))
			if key := r.Arch.Word(b[24:]); key != 0 {
				s, n, ok := r.text(key, maxText)
				if e.key, e.text = s, true; !ok {
					e.key = "?"
				} else if n > maxText {
					e.key += "..."
				}
			}
		}
		var ok bool
		if e.value, ok = r.zvalAt(data + i*size); !ok {
			return list, false
		}
		if e.value.kind == typeUndef { // of a property that has no value
			continue
		}
		list = append(list, e)
	}
	return list, uint32(len(list)) >= count
}

// properties lists properties of an object: those that its class declares, by their places, then others.
func (r *runtime) properties(at uint64, limit int) (list []element, whole bool) {
	if table := r.field(at, "object.dynamic"); table != 0 && r.counted(table, typeArray) {
		list, whole = r.array(table, limit)
		for i := range list {
			list[i].unmangle()
		}
		return list, whole
	}
	declared, whole := r.declared(r.field(at, "object.class"), limit)
	for _, p := range declared {
		v, ok := r.zvalAt(at + p.offset)
		if !ok {
			return list, false
		}
		if v.kind == typeUndef {
			continue
		}
		p.element.value = v
		list = append(list, p.element)
	}
	return list, whole
}

// A property is one that a class declares.
type property struct {
	element
	offset uint64
}

// staticProperty says of a property that the class has it, not the object.
const staticProperty = 1 << 4

// declared lists the first properties that a class declares.
func (r *runtime) declared(class uint64, limit int) (list []property, whole bool) {
	count := uint64(r.number(class, "class.count"))
	table := class + r.at("class.properties")
	data := r.field(table, "array.data")
	used := r.number(table, "array.used")
	first := r.at("object.table")
	for i := range uint64(min(used, maxSlots)) {
		if r.p.Spend(2) != nil {
			return list, false
		}
		info := r.Word(data + i*bucketSize)
		flags := r.number(info, "property.flags")
		offset := uint64(r.number(info, "property.offset"))
		if info == 0 || flags&staticProperty != 0 || offset < first || (offset-first)%16 != 0 || (offset-first)/16 >= count {
			continue
		}
		name, n, ok := r.text(r.field(info, "property.name"), maxText)
		if !ok || n > maxText {
			continue
		}
		p := property{element{key: name, text: true}, offset}
		p.unmangle()
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b property) int { return int(int64(a.offset) - int64(b.offset)) })
	if len(list) > limit {
		return list[:limit], false
	}
	return list, true
}

// unmangle takes from the name of a property who may use it: a class and a zero byte are before it.
func (e *element) unmangle() {
	if len(e.key) < 3 || e.key[0] != 0 {
		return
	}
	i := strings.IndexByte(e.key[1:], 0)
	if i < 0 {
		return
	}
	class, name := e.key[1:i+1], e.key[i+2:]
	if k := strings.LastIndexByte(name, 0); k >= 0 { // of a class without a name
		name = name[k+1:]
	}
	if e.key = name; class == "*" {
		e.note = ":protected"
	} else {
		e.note = `:"` + class + `":private`
	}
}

// enumClass says of a class that it is an enumeration.
const enumClass = 1 << 28

// enumCase is the name of a member of an enumeration: the first property.
func (r *runtime) enumCase(at uint64) (string, bool) {
	if r.version == "7.4" || r.version == "8.0" || r.number(r.field(at, "object.class"), "class.flags")&enumClass == 0 {
		return "", false
	}
	v, ok := r.zvalAt(at + r.at("object.table"))
	if !ok || v.kind != typeString {
		return "", false
	}
	name := r.name(v.value)
	return name, isName(name)
}

// closure is the name of the function of a closure, and where that is; "" for other objects.
func (r *runtime) closure(at uint64, class string) string {
	if class != "Closure" {
		return ""
	}
	f := r.readFunction(at + r.at("closure.func"))
	if f == nil {
		return ""
	}
	name := f.name
	if f.class != "" {
		name = f.class + "::" + name
	}
	if f.file != "" {
		name += " at " + f.file + ":" + strconv.Itoa(int(f.first))
	}
	return name
}
