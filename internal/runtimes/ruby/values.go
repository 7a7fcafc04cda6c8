package ruby

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // bytes of a string
	maxNested   = 4   // arrays, hashes and objects within others
	maxParts    = 64  // values within a value
	maxDigits   = 128 // words of an Integer
)

// Where values that are no objects have what.
const (
	smallInteger = 1 // the last bit; the others are the number
	smallFloat   = 2 // the last two bits
	smallZero    = 1<<63 | 2
	smallSymbol  = 0x0c // the last byte; the others are the ID
)

// object reports whether a value is an object, and not the value itself.
func (r *runtime) object(v uint64) bool { return r.flags(v)&typeMask != 0 }

// typeOf is the class of a value.
func (r *runtime) typeOf(v uint64) string {
	switch {
	case v&smallInteger != 0:
		return "Integer"
	case v&3 == smallFloat:
		return "Float"
	case v == 0:
		return "FalseClass"
	case v == r.at("value.nil"):
		return "NilClass"
	case v == r.at("value.true"):
		return "TrueClass"
	case v&0xff == smallSymbol:
		return "Symbol"
	case r.object(v):
		return r.classOf(v)
	}
	return ""
}

// kindOf is the kind of a value in reports.
func (r *runtime) kindOf(v uint64) string {
	switch {
	case v&smallInteger != 0:
		return "int"
	case v&3 == smallFloat:
		return "float"
	case v == 0 || v == r.at("value.true"):
		return "bool"
	case v == r.at("value.nil"):
		return "void"
	case v&0xff == smallSymbol:
		return "enum"
	}
	switch r.flags(v) & typeMask {
	case typeBignum:
		return "int"
	case typeFloat:
		return "float"
	case typeString:
		return "string"
	case typeSymbol:
		return "enum"
	case typeArray:
		return "sequence"
	case typeHash:
		return "map"
	case typeObject, typeStruct:
		return "struct"
	}
	return "text"
}

// scalar is the text of a value that has no others in it, as inspect writes it.
func (r *runtime) scalar(v uint64, limit int) (string, bool) {
	switch {
	case v&smallInteger != 0:
		return strconv.FormatInt(int64(v)>>1, 10), true
	case v&3 == smallFloat:
		return floatText(smallFloatOf(v)), true
	case v == 0:
		return "false", true
	case v == r.at("value.nil"):
		return "nil", true
	case v == r.at("value.true"):
		return "true", true
	case v&0xff == smallSymbol:
		name := r.idName(v >> 8)
		if name == "" {
			return "?", true
		}
		return symbol(name), true
	}
	f := r.flags(v)
	switch f & typeMask {
	case typeFloat:
		w, ok := r.LookupWord(v + r.at("float.value"))
		if !ok {
			return "?", true
		}
		return floatText(math.Float64frombits(w)), true
	case typeString:
		s, n, ok := r.text(v, limit)
		if !ok {
			return "?", true
		}
		out := quoted(s, f>>encodingShift&encodingMask != binaryEncoding)
		if uint64(len(s)) < n {
			out += "..."
		}
		return out, true
	case typeSymbol:
		if name := r.name(r.field(v, "symbol.text")); name != "" {
			return symbol(name), true
		}
		return "?", true
	case typeBignum:
		return r.bignum(v, f), true
	case typeClass, typeModule:
		c := r.classAt(v)
		switch {
		case c.singleton && c.name != "":
			return "#<Class:" + c.name + ">", true
		case c.name != "" && !c.singleton:
			return c.name, true
		case f&typeMask == typeModule:
			return "#<Module:" + address(v) + ">", true
		}
		return "#<Class:" + address(v) + ">", true
	case typeRegexp:
		return r.regexp(v, limit), true
	case typeRational:
		a, _ := r.scalar(r.Word(v+16), limit)
		b, _ := r.scalar(r.Word(v+24), limit)
		return "(" + a + "/" + b + ")", true
	case typeComplex:
		a, _ := r.scalar(r.Word(v+16), limit)
		b, _ := r.scalar(r.Word(v+24), limit)
		if !strings.HasPrefix(b, "-") {
			b = "+" + b
		}
		return "(" + a + b + "i)", true
	case typeArray, typeHash, typeObject, typeStruct:
		return "", false
	case typeFile, typeData, typeMatch:
		if place := r.proc(v); place != "" {
			return "#<Proc:" + address(v) + " " + place + ">", true
		}
		if name := r.classOf(v); name != "" {
			return "#<" + name + ":" + address(v) + ">", true
		}
	}
	return "?", true
}

// regexp writes a Regexp.
func (r *runtime) regexp(v uint64, limit int) string {
	s, n, ok := r.text(r.field(v, "regexp.source"), limit)
	options, known := r.U32(r.field(v, "regexp.pattern") + r.at("pattern.options"))
	if !ok || !known || n > uint64(len(s)) {
		return "?"
	}
	s = strings.TrimSuffix(strings.TrimPrefix(remote.QuoteBytes(s, "/"), `"`), `"`)
	const ignoreCase, extended, multiline = 1, 2, 4
	s = "/" + strings.ReplaceAll(s, `\/`, `\/`) + "/"
	for _, o := range [...]struct {
		bit    uint32
		letter string
	}{{multiline, "m"}, {ignoreCase, "i"}, {extended, "x"}} {
		if options&o.bit != 0 {
			s += o.letter
		}
	}
	return s
}

// Where a Proc has what: the code of its block, and whether it is a lambda.
const (
	procCode   = 16
	procLambda = 32
)

// proc says where the code of a Proc is, and whether it is a lambda; "" if it is none, or of C.
func (r *runtime) proc(v uint64) string {
	data, ok := r.data(v, "proc")
	if !ok {
		return ""
	}
	f := r.functionAt(r.Word(data + procCode))
	if f == nil {
		return ""
	}
	place := f.path + ":" + strconv.Itoa(f.first)
	if bits, _ := r.U8(data + procLambda); bits&2 != 0 {
		place += " (lambda)"
	}
	return place
}

// address writes where an object is, as inspect does.
func address(v uint64) string {
	s := strconv.FormatUint(v, 16)
	return "0x" + strings.Repeat("0", 16-len(s)) + s
}

// An element is one of an Array or a Hash, or a variable of an object.
type element struct {
	name  string // of a variable
	key   uint64 // of a Hash
	value uint64
}

// elements lists at most limit of what a value has in it; false if there are more, or if not all could be read.
func (r *runtime) elements(v uint64, limit int) (list []element, whole bool) {
	switch r.flags(v) & typeMask {
	case typeArray:
		from, n, ok := r.list(v)
		if !ok {
			return nil, false
		}
		words, ok := r.Words(from, int(min(n, uint64(limit))))
		for _, w := range words {
			list = append(list, element{value: w})
		}
		return list, ok && n <= uint64(limit)
	case typeHash:
		return r.pairs(v, limit)
	case typeStruct:
		return r.members(v, limit)
	}
	return r.instanceVariables(v, limit, true)
}

// smallHash is how many elements a Hash has without a table.
const smallHash = 8

// pairs lists those of a Hash.
func (r *runtime) pairs(v uint64, limit int) (list []element, whole bool) {
	f := r.flags(v)
	inside := r.at("hash.inside")
	add := func(key, value uint64) bool {
		if key == r.at("value.undef") { // it was taken out
			return true
		}
		if len(list) >= limit {
			whole = false
			return false
		}
		list = append(list, element{key: key, value: value})
		return true
	}
	whole = true
	if f&hashTable != 0 {
		at := v + inside
		if r.has("hash.st") {
			at = r.field(v, "hash.st")
		}
		return list, r.table(at, add) && whole
	}
	bound := f >> (flagUser + 8) & 15
	if bound > smallHash {
		return nil, false
	}
	at := v + inside + 8 // hints are before them
	if r.has("hash.ar") {
		at = r.field(v, "hash.ar")
	}
	if bound == 0 {
		return nil, true
	}
	words, ok := r.Words(at, int(2*bound))
	if !ok || at%8 != 0 {
		return nil, false
	}
	for ; len(words) > 0 && add(words[0], words[1]); words = words[2:] {
	}
	return list, whole
}

// members lists those of a Struct.
func (r *runtime) members(v uint64, limit int) (list []element, whole bool) {
	from, n, ok := r.structure(v)
	if !ok {
		return nil, false
	}
	words, ok := r.Words(from, int(min(n, uint64(limit))))
	if !ok {
		return nil, false
	}
	labels := r.memberNames(v)
	for i, w := range words {
		e := element{name: "?", value: w}
		if s, ok := r.scalar(r.element(labels, uint64(i)), maxText); ok && labels != 0 {
			e.name = strings.TrimPrefix(s, ":")
		}
		list = append(list, e)
	}
	return list, n <= uint64(limit)
}

// memberNames is the Array of the names of the members of a Struct; 0 if there is none.
func (r *runtime) memberNames(v uint64) uint64 {
	c := r.Word(v + 8)
	for range maxAncestors {
		if !r.is(c, typeClass) && !r.is(c, typeIncluded) {
			break
		}
		if r.has("class.inside") {
			list, _ := r.instanceVariables(c, maxElements, false)
			for _, e := range list {
				if e.name == "__members__" {
					return e.value
				}
			}
		} else if found := r.classVariable(c, "__members__"); found != 0 {
			return found
		}
		c = r.field(c, "class.super")
	}
	return 0
}

// instanceVariables lists those of an object; without plain also those that Ruby keeps for itself, whose names do not begin with @.
func (r *runtime) instanceVariables(v uint64, limit int, plain bool) (list []element, whole bool) {
	whole = true
	add := func(id, value uint64) bool {
		name := r.idName(id)
		if value == r.at("value.undef") || name == "" || plain && name[0] != '@' {
			return true
		}
		if len(list) >= limit {
			whole = false
			return false
		}
		list = append(list, element{name: name, value: value})
		return true
	}
	if r.shapes != 0 {
		ok := r.shaped(v, add)
		return list, whole && ok
	}
	f := r.flags(v)
	if f&typeMask != typeObject {
		return nil, false
	}
	index := r.field(v, "object.index")
	from, n := v+r.at("object.array"), uint64(3)
	if f&flagHere != 0 {
		index = r.field(r.field(r.realClass(v), "class.ext"), "ext.index")
	} else {
		from, n = r.field(v, "object.heap"), r.field(v, "object.count")
	}
	if index == 0 { // it has none
		return nil, true
	}
	if from%8 != 0 {
		return nil, false
	}
	ok := r.table(index, func(id, at uint64) bool {
		if r.version != "2.7" { // the entry has more than the number
			number, ok := r.U32(at)
			if at%8 != 0 || !ok {
				return false
			}
			at = uint64(number)
		}
		if at >= min(n, maxVariables) {
			return true // not set
		}
		value, ok := r.LookupWord(from + 8*at)
		return ok && add(id, value)
	})
	return list, ok && whole
}

// realClass is the class of an object that is no singleton class.
func (r *runtime) realClass(v uint64) uint64 {
	c := r.Word(v + 8)
	for range maxAncestors {
		if f := r.flags(c); f&typeMask != typeIncluded && (f&typeMask != typeClass || f&r.at("class.singleton") == 0) {
			break
		}
		c = r.field(c, "class.super")
	}
	return c
}

// hidden looks for a variable that Ruby keeps for itself; false if there is none.
func (r *runtime) hidden(v uint64, name string) (uint64, bool) {
	list, _ := r.instanceVariables(v, maxVariables, false)
	for _, e := range list {
		if e.name == name {
			return e.value, true
		}
	}
	return 0, false
}

// around is what is written around the elements of a value, and what of one that is within itself.
func (r *runtime) around(v uint64) (before, after, again string) {
	name := r.classOf(v)
	switch r.flags(v) & typeMask {
	case typeArray:
		return "[", "]", "[...]"
	case typeHash:
		return "{", "}", "{...}"
	case typeStruct:
		before = "#<struct"
		if name != "" {
			before += " " + name
		}
		return before, ">", before + ":...>"
	}
	if name == "" {
		name = "#<Class>"
	}
	before = "#<" + name + ":" + address(v)
	return before, ">", before + " ...>"
}

// A printer writes values as inspect does.
type printer struct {
	strings.Builder
	r     *runtime
	most  tasks.Limits
	all   int // values within the value that may be written
	parts int
	seen  []uint64 // the values that the current one is in
}

func (w *printer) value(v uint64) {
	r := w.r
	if w.parts++; w.parts > w.all || r.p.Spend(4) != nil {
		w.WriteString("...")
		return
	}
	if s, ok := r.scalar(v, w.most.String); ok {
		w.WriteString(s)
		return
	}
	if s, ok := r.short(v, w.most.String); ok {
		w.WriteString(s)
		return
	}
	before, after, again := r.around(v)
	if slices.Contains(w.seen, v) || len(w.seen) >= w.most.Depth {
		w.WriteString(again)
		return
	}
	w.seen = append(w.seen, v)
	w.WriteString(before)
	list, whole := r.elements(v, w.most.At(len(w.seen)-1))
	plain := r.is(v, typeArray) || r.is(v, typeHash)
	for i, e := range list {
		switch {
		case i > 0:
			w.WriteString(", ")
		case !plain:
			w.WriteString(" ")
		}
		if w.parts > w.all {
			whole = false
			break
		}
		switch {
		case e.name != "":
			w.WriteString(e.name + "=")
		case r.is(v, typeHash):
			w.key(e.key)
		}
		w.value(e.value)
	}
	if !whole {
		if len(list) > 0 {
			w.WriteString(", ")
		} else if !plain {
			w.WriteString(" ")
		}
		w.WriteString("...")
	}
	w.WriteString(after)
	w.seen = w.seen[:len(w.seen)-1]
}

// key writes a key of a Hash, and what is between it and its value: Ruby 3.4 changed both.
func (w *printer) key(v uint64) {
	switch s, _ := w.r.scalar(v, w.most.String); {
	case w.r.version < "3.4":
		w.value(v)
		w.WriteString("=>")
	case w.r.kindOf(v) == "enum":
		w.WriteString(symbolKey(s) + ": ")
	default:
		w.value(v)
		w.WriteString(" => ")
	}
}

// short is the text of an object that inspect writes in a way of its own: a Range, an exception.
func (r *runtime) short(v uint64, limit int) (string, bool) {
	switch {
	case v == r.field(r.vm, "vm.self"):
		return "main", true
	case r.is(v, typeStruct) && r.classOf(v) == "Range":
		list, _ := r.members(v, 3)
		if len(list) < 3 {
			return "?", true
		}
		dots := ".."
		if list[2].value == r.at("value.true") {
			dots = "..."
		}
		text := ""
		for i, e := range list[:2] {
			s, ok := r.scalar(e.value, limit)
			if !ok {
				s = "?"
			}
			if s != "nil" {
				text += s
			}
			if i == 0 {
				text += dots
			}
		}
		return text, true
	case r.is(v, typeObject) && r.descends(v, "Exception"):
		name := r.classOf(v)
		message := r.message(v, limit)
		if text, ok := r.hidden(v, "mesg"); ok && text == r.at("value.nil") {
			message = name
		}
		if message != "" && name != "" {
			return "#<" + name + ": " + message + ">", true
		}
		return name, name != ""
	}
	return "", false
}

// show writes a value in one line.
func (r *runtime) show(v uint64, limits tasks.Limits) string {
	w := printer{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxNested}), all: limits.Parts(maxParts)}
	w.value(v)
	return w.String()
}
