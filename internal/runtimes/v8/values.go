package v8

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10  // of an array, of an object
	maxString   = 200 // characters of a string
	maxNested   = 4   // objects within objects
	maxLine     = 160 // bytes of an object's text, about; what is in it is a tree all the same
	maxParts    = 64  // values within a value
	maxDigits   = 64  // words of a BigInt
)

// A reader reads one value and what is in it.
type reader struct {
	*engine
	most  tasks.Limits
	all   int // values within the value that may be read
	line  int // bytes of text, about; 0 for any number
	parts int
	in    []uint64 // the objects around
}

// value reads a value, written as util.inspect of Node does.
func (e *engine) value(w uint64, limits tasks.Limits) item {
	r := reader{engine: e, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxString, Depth: maxNested}), all: limits.Parts(maxParts)}
	if limits == (tasks.Limits{}) {
		r.line = maxLine
	}
	return r.read(w)
}

// isValue reports whether a word is a value of JavaScript.
func (e *engine) isValue(w uint64) bool {
	if _, ok := smi(w); ok {
		return true
	}
	switch t := e.typeOf(w); t {
	case e.types.oddball, e.types.heapNumber, e.types.bigInt, e.types.symbol:
		return true
	default:
		return e.isString(w) || t >= e.types.firstObject && t != 0
	}
}

func text(kind, typ, s string) item {
	return item{Kind: kind, Type: typ, Value: s}
}

// read reads a value.
func (r *reader) read(w uint64) (out item) {
	defer func() {
		if isObject(w) {
			out.Address = w - 1
		}
	}()
	if r.parts++; r.parts > r.all || r.p.Spend(4) != nil {
		return item{Kind: "text", Value: "...", More: true}
	}
	if n, ok := smi(w); ok {
		return text("int", "number", strconv.Itoa(n))
	}
	if r.isString(w) {
		s, whole, ok := r.shortText(w, r.most.String)
		if !ok {
			return item{Type: "string", Err: errMemory}
		}
		out = text("string", "string", quote(s))
		if out.More = !whole; out.More {
			out.Value += "..."
		}
		return out
	}
	switch t := r.typeOf(w); {
	case t == 0:
		return item{Err: errNoValue}
	case t == r.types.hole:
		return item{Err: errUnset}
	case t == r.types.oddball:
		switch s := r.oddball(w); s {
		case "true", "false":
			return text("bool", "boolean", s)
		case "null", "undefined":
			return text("text", s, s)
		}
		return item{Err: errUnset}
	case t == r.types.heapNumber:
		return text("float", "number", numberText(math.Float64frombits(r.at(w, r.numberValue))))
	case t == r.types.bigInt:
		s, ok := r.bigInt(w)
		if !ok {
			return item{Type: "bigint", Err: errMemory}
		}
		return text("int", "bigint", s+"n")
	case t == r.types.symbol:
		return text("text", "symbol", r.symbol(w))
	case t < r.types.firstObject:
		return item{Err: errNoValue}
	}
	return r.object(w)
}

type valueError string

func (e valueError) Error() string { return string(e) }

const (
	errUnset   valueError = "not assigned"
	errNoValue valueError = "no value of JavaScript is there"
)

// oddball is which of the few values it is: "true", "null", "undefined"; "" for V8's own.
func (e *engine) oddball(w uint64) string {
	kind, ok := smi(e.at(w, e.oddballKind))
	if !ok {
		return ""
	}
	return e.oddballs[uint64(kind)]
}

// symbol is a symbol as its description has it.
func (e *engine) symbol(w uint64) string {
	s, _ := e.text(e.at(w, e.symbolName))
	return "Symbol(" + s + ")"
}

// shortText reads the first characters of a string, and tells whether it is all.
func (e *engine) shortText(w uint64, most int) (s string, whole, ok bool) {
	read := max(maxText, 2*most)
	s, ok = e.textUpTo(w, read)
	if u := []rune(s); len(u) > most {
		return string(u[:most]), false, ok
	}
	n, _ := e.U32(w - 1 + 12)
	return s, int64(n) <= int64(read), ok
}

// quote writes a string as JavaScript does.
func quote(s string) string {
	return remote.Quote([]rune(s), strconv.IsPrint, func(c rune) string {
		if c < 0x100 {
			return `\x` + strings.ToUpper(strconv.FormatInt(int64(c)+0x100, 16)[1:])
		}
		return `\u{` + strings.ToUpper(strconv.FormatInt(int64(c), 16)) + "}"
	})
}

// numberText writes a number as JavaScript does.
func numberText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.Replace(strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "Inf", "Infinity", 1), "+", "", 1)
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	if a := math.Abs(f); a != 0 && (a >= 1e21 || a < 1e-6) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		m, exp, _ := strings.Cut(s, "e")
		sign := exp[:1]
		return m + "e" + sign + strings.TrimLeft(exp[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// bigInt writes a BigInt in decimal.
func (e *engine) bigInt(w uint64) (string, bool) {
	bits, ok := e.U32(w - 1 + 8)
	n := int(bits >> 1)
	if !ok || n > 1<<24 {
		return "", false
	}
	if n > maxDigits {
		return "<" + strconv.Itoa(64*n) + " bits>", true
	}
	b := e.Bytes(w-1+16, 8*n)
	if b == nil && n > 0 {
		return "", false
	}
	v := new(big.Int)
	for i := n - 1; i >= 0; i-- {
		v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(littleEndian.Uint64(b[8*i:])))
	}
	if bits&1 != 0 {
		v.Neg(v)
	}
	return v.String(), true
}

// object reads an object with its properties and elements.
func (r *reader) object(w uint64) item {
	t := r.typeOf(w)
	if r.isFunction(w) {
		name := r.functionName(w)
		if name == "" {
			return text("function", "Function", "[Function (anonymous)]")
		}
		return text("function", "Function", "[Function: "+name+"]")
	}
	class := r.className(w)
	out := item{Kind: "struct", Type: class}
	for _, o := range r.in {
		if o == w {
			out.Kind, out.Value = "text", "[Circular]"
			return out
		}
	}
	if len(r.in) >= r.most.Depth {
		out.Value, out.More = "["+orObject(class)+"]", true
		return out
	}
	r.in = append(r.in, w)
	defer func() { r.in = r.in[:len(r.in)-1] }()
	begin, end := "{", "}"
	head := ""
	if class != "" && class != "Object" {
		head = class + " "
	}
	table := 0 // elements of the table of a Map or Set that belong together
	switch t {
	case r.types.array:
		out.Kind, begin, end, head = "sequence", "[", "]", ""
		if class != "Array" {
			head = class + " "
		}
		n, ok := smi(r.at(w, 24))
		if !ok {
			n = int(math.Float64frombits(r.at(r.at(w, 24), r.numberValue)))
		}
		r.elements(&out, w, n)
	case r.types.jsMap, r.types.jsSet:
		table = 2
		if t == r.types.jsMap {
			table, out.Kind = 3, "map"
		} else {
			out.Kind = "sequence"
		}
		n := r.table(&out, w, table)
		head = orObject(class) + "(" + strconv.Itoa(n) + ") "
	case r.types.date:
		v := r.at(w, r.dateValue)
		if n, ok := smi(v); r.dateDouble == 0 && ok {
			v = math.Float64bits(float64(n))
		} else if r.dateDouble == 0 {
			v = r.at(v, r.numberValue)
		}
		if ms := math.Float64frombits(v); ms >= -8.64e15 && ms <= 8.64e15 {
			out.Kind, out.Value = "text", time.UnixMilli(int64(ms)).UTC().Format("2006-01-02T15:04:05.000Z")
			return out
		}
	case r.types.promise:
		state := [...]string{"<pending>", "", "<rejected>", "?"}
		flags, _ := smi(r.at(w, 32))
		s := state[flags&3]
		out.Parts = append(out.Parts, item{Name: "<state>", Kind: "text", Value: [...]string{"pending", "fulfilled", "rejected", "?"}[flags&3]})
		if flags&3 == 1 || flags&3 == 2 {
			v := r.read(r.at(w, 24))
			v.Name = "<result>"
			out.Parts = append(out.Parts, v)
			s = strings.TrimSpace(s + " " + v.Value)
		}
		out.Value = "Promise { " + s + " }"
		return out
	case r.types.regExp:
		s, _ := r.text(r.at(w, 32))
		flags, _ := smi(r.at(w, 40))
		out.Kind, out.Value = "text", "/"+s+"/"+regExpFlags(flags)
		return out
	case r.types.jsError:
		message := ""
		if p, ok := r.property(w, "message"); ok {
			message, _ = r.text(p)
		}
		r.own(&out, w)
		out.Value = "[" + strings.TrimSuffix(orObject(r.errorType(w, message))+": "+message, ": ") + "]"
		return out
	case r.types.typedArray:
		bytes := r.at(w, r.viewLength)
		out.Kind, out.Value = "text", orObject(class)+" of "+strconv.FormatUint(bytes, 10)+" bytes"
		return out
	default:
		if strings.HasPrefix(class, "Weak") {
			out.Kind, out.Value = "text", class+" { <items unknown> }"
			return out
		}
		r.elements(&out, w, -1)
	}
	if table == 0 || r.types.array == t {
		r.own(&out, w)
	}
	out.Value = head + r.join(&out, begin, end)
	return out
}

func orObject(class string) string {
	if class == "" {
		return "Object"
	}
	return class
}

// regExpFlags writes the flags of a regular expression in their order.
func regExpFlags(bits int) (out string) {
	for _, f := range []struct {
		bit  int
		name string
	}{{128, "d"}, {1, "g"}, {2, "i"}, {4, "m"}, {32, "s"}, {16, "u"}, {256, "v"}, {8, "y"}} {
		if bits&f.bit != 0 {
			out += f.name
		}
	}
	return out
}

// join writes the parts of an object in one line.
func (r *reader) join(v *item, begin, end string) string {
	if len(v.Parts) == 0 && !v.More {
		return begin + end
	}
	var b strings.Builder
	b.WriteString(begin + " ")
	for i := range v.Parts {
		if i > 0 {
			b.WriteString(", ")
		}
		if r.line > 0 && b.Len() > r.line {
			b.WriteString("... " + end)
			return b.String()
		}
		p := &v.Parts[i]
		switch {
		case p.Key != "":
			b.WriteString(p.Key + " => ")
		case p.private:
			b.WriteString(p.Name + ": ")
		case p.Name != "":
			b.WriteString(propertyName(p.Name) + ": ")
		}
		if b.WriteString(p.Value); p.Err != nil {
			b.WriteString("?")
		}
	}
	if v.More {
		if len(v.Parts) > 0 {
			b.WriteString(", ")
		}
		b.WriteString("...")
	}
	b.WriteString(" " + end)
	return b.String()
}

// propertyName writes the name of a property: what is no identifier is quoted.
func propertyName(s string) string {
	if strings.HasPrefix(s, "[Symbol(") {
		return s
	}
	for i, c := range s {
		if c != '_' && c != '$' && !unicode.IsLetter(c) && !unicode.IsDigit(c) || i == 0 && s != "0" && unicode.IsDigit(c) && strings.Trim(s, "0123456789") != "" {
			return quote(s)
		}
	}
	return s
}

// elements reads what an object has by number. n is the length of an array; -1 of what is none.
func (r *reader) elements(out *item, w uint64, n int) {
	list := r.at(w, r.elementsAt)
	t := r.typeOf(list)
	have, ok := smi(r.at(list, 8))
	if !ok || have < 0 {
		return
	}
	double := t == r.types.fixedDoubles
	if _, _, ok := r.array(list, r.types.fixedArrays); !ok && !double {
		out.More = out.More || n > 0 // a dictionary
		return
	}
	length := have
	if n >= 0 {
		length = min(n, have)
	}
	holes := 0
	for i := range length {
		if len(out.Parts) >= r.most.At(len(r.in)-1) || r.p.Spend(1) != nil {
			out.More = true
			return
		}
		at := list - 1 + 16 + 8*uint64(i)
		x := r.Word(at)
		var v item
		const doubleHole = 0xfff7fffffff7ffff
		switch {
		case double && x == doubleHole || !double && r.isHole(x):
			if holes++; holes > 1<<16 {
				out.More = true
				return
			}
			if n < 0 {
				continue
			}
			v = item{Kind: "text", Value: "<empty item>"}
		case double:
			v = text("float", "number", numberText(math.Float64frombits(x)))
		default:
			v = r.read(x)
		}
		if n < 0 {
			v.Name = strconv.Itoa(i)
		}
		out.Parts = append(out.Parts, v)
	}
	out.More = out.More || n > length
}

// isHole reports whether an element is not there.
func (e *engine) isHole(w uint64) bool {
	t := e.typeOf(w)
	return t != 0 && t == e.types.hole || t == e.types.oddball && e.oddball(w) == ""
}

// table reads the elements of a Map or a Set, of which each has some words, and returns how many there are.
func (r *reader) table(out *item, w uint64, words int) int {
	t := r.at(w, 24)
	head := func(i uint64) int {
		n, ok := smi(r.at(t, 16+8*i))
		if !ok {
			return -1
		}
		return n
	}
	length, ok := smi(r.at(t, 8))
	n, deleted, buckets := head(0), head(1), head(2)
	if !ok || n < 0 || deleted < 0 || buckets <= 0 || 3+buckets+(n+deleted)*words > length {
		out.More = true
		return max(n, 0)
	}
	for i := range n + deleted {
		if len(out.Parts) >= r.most.At(len(r.in)-1) || r.p.Spend(1) != nil {
			out.More = true
			break
		}
		at := 16 + 8*uint64(3+buckets+i*words)
		key := r.at(t, at)
		if r.isHole(key) {
			continue
		}
		v := r.read(key)
		if words == 3 {
			k := v.Value
			v = r.read(r.at(t, at+8))
			v.Key = k
		}
		out.Parts = append(out.Parts, v)
	}
	return n
}

// own reads the own properties of an object.
func (r *reader) own(out *item, w uint64) {
	r.each(w, func(key uint64, v uint64, accessor bool) bool {
		if len(out.Parts) >= r.most.At(len(r.in)-1) {
			out.More = true
			return false
		}
		name, private := "", false
		if r.typeOf(key) == r.types.symbol {
			flags, _ := r.U32(key - 1 + r.symbolName - 4)
			switch private = flags&symbolPrivate != 0; {
			case !private:
				name = "[" + r.symbol(key) + "]"
			case flags&symbolPrivateName != 0 && flags&symbolBrand == 0: // a field of a class; the others are V8's and Node's own
				name, _ = r.text(r.at(key, r.symbolName))
			}
		} else {
			name, _, _ = r.shortText(key, maxString)
		}
		if name == "" || r.types.array == r.typeOf(w) && name == "length" || r.typeOf(w) == r.types.jsError && name == "stack" {
			return true
		}
		var p item
		if accessor {
			p = text("text", "", "[Getter]")
		} else {
			p = r.read(v)
		}
		p.Name, p.private = name, private
		out.Parts = append(out.Parts, p)
		return true
	})
}

// Flags of a Symbol.
const (
	symbolPrivate     = 1 << 0
	symbolPrivateName = 1 << 4
	symbolBrand       = 1 << 5
)

// each calls a function for each own property of an object, in order, until it returns false.
func (e *engine) each(obj uint64, yield func(key, value uint64, accessor bool) bool) {
	e.eachShown(obj, func(key, value uint64, accessor, _ bool) bool { return yield(key, value, accessor) })
}

// eachShown is each, and tells which properties are hidden from loops and printers.
func (e *engine) eachShown(obj uint64, yield func(key, value uint64, accessor, hidden bool) bool) {
	m := e.Word(obj - 1)
	bits, ok := e.U32(m - 1 + e.mapField3)
	if !ok {
		return
	}
	if bits&mapDictionary != 0 {
		e.dictionary(e.at(obj, e.properties), yield)
		return
	}
	size, _ := e.U8(m - 1 + 8)
	start, _ := e.U8(m - 1 + 9)
	inside := max(0, int(size)-int(start))
	entries := e.at(m, e.mapDescriptors) - 1 + 24
	for i := range uint64(bits >> mapOwnShift & mapOwnMask) {
		if e.p.Spend(1) != nil {
			return
		}
		key, value := e.Word(entries+24*i), uint64(0)
		details, ok := smi(e.Word(entries + 24*i + 8))
		if !ok || !e.isString(key) && e.typeOf(key) != e.types.symbol {
			return
		}
		accessor := details&detailAccessor != 0
		switch index := details >> detailIndex & detailIndexMask; {
		case accessor:
		case details&detailInMap != 0:
			value = e.Word(entries + 24*i + 16)
		case index < inside:
			value = e.at(obj, uint64(int(start)+index)*8)
		default:
			value = e.at(e.at(obj, e.properties), 16+8*uint64(index-inside))
		}
		if !yield(key, value, accessor, details&detailNotShown != 0) {
			return
		}
	}
}

// dictionary calls a function for each property of an object that keeps them in a table. The table tells its shape
// itself: its length, and for how many there is room.
func (e *engine) dictionary(t uint64, yield func(key, value uint64, accessor, hidden bool) bool) {
	if e.typeOf(t) == 0 {
		return
	}
	length, ok := smi(e.at(t, 8))
	n, ok2 := smi(e.at(t, 16))
	room, ok3 := smi(e.at(t, 32))
	prefix := length - 3 - 3*room
	if !ok || !ok2 || !ok3 || n < 0 || room <= 0 || room&(room-1) != 0 || room > 1<<20 || n > room || prefix < 1 || prefix > 4 {
		return
	}
	type entry struct {
		key, value uint64
		details    int
	}
	var list []entry
	for i := range uint64(room) {
		if e.p.Spend(1) != nil || len(list) > maxListed {
			break
		}
		at := 16 + 8*(3+uint64(prefix)+3*i)
		key := e.at(t, at)
		details, ok := smi(e.at(t, at+16))
		if e.isHole(key) || !ok || !e.isString(key) && e.typeOf(key) != e.types.symbol {
			continue
		}
		list = append(list, entry{key, e.at(t, at+8), details})
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.details>>detailOrder, b.details>>detailOrder) })
	for _, x := range list {
		if !yield(x.key, x.value, x.details&detailAccessor != 0, x.details&detailNotShown != 0) {
			return
		}
	}
}

// maxListed is the most properties in a table that are put in order.
const maxListed = 1 << 12

// detailOrder is the first bit of the number that properties in tables have by when they came.
const detailOrder = 8
