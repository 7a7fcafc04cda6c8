package hotspot

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// limits of what is read of a value.
type limits struct {
	elements int  // of an array, of an object
	inner    int  // likewise, of those within the value; 0 for elements
	depth    int  // objects within objects
	parts    int  // values within a value
	text     int  // bytes of a string in memory
	line     int  // bytes of text, behind which nothing more is read; 0 for no limit
	whole    bool // all that is read is written
}

var (
	textLimits = limits{elements: 10, depth: 4, parts: 64, text: 400, line: maxLine}
	treeLimits = limits{elements: 200, depth: 6, parts: 2000, text: maxString}
)

// limited are limits with those that somebody asked for. Who asks for more wants the whole line, too.
func (l limits) limited(asked tasks.Limits) limits {
	if asked == (tasks.Limits{}) {
		return l
	}
	most := asked.Or(tasks.Limits{Elements: l.elements, String: l.text, Depth: l.depth})
	return limits{elements: most.Elements, inner: asked.Inner, depth: most.Depth, parts: asked.Parts(l.parts), text: most.String, whole: true}
}

// width is how long a line of text is, about; 0 for any length.
func (l limits) width() int {
	if l.whole {
		return 0
	}
	return maxLine
}

// A valueError says why a variable has no value.
type valueError string

func (e valueError) Error() string { return string(e) }

const (
	errMemory   valueError = "not in the dump"
	errDropped  valueError = "not kept by the compiler"
	errZero     valueError = "0, or not kept by the compiler"
	errNull     valueError = "null, or not kept by the compiler"
	errRegister valueError = "was in a register, which is not known"
	errObject   valueError = "no object is there"
)

// A treeBuilder makes the tree of a value.
type treeBuilder struct {
	*VM
	limits
	count int
	in    []uint64 // the objects around
	wrote int      // bytes of text of what was read
}

// ValueAt implements tasks.Valuer.
func (j *Java) ValueAt(at uint64, asked tasks.Limits) (report.Data, bool) {
	vm := j.machine()
	if vm == nil || at == 0 || !vm.isObject(at) {
		return report.Data{}, false
	}
	p := treeBuilder{VM: vm, limits: treeLimits.limited(asked)}
	return p.object(at), true
}

// atMost is how many elements of the innermost object around are wanted.
func (p *treeBuilder) atMost() int {
	return tasks.Limits{Elements: p.elements, Inner: p.inner}.At(len(p.in) - 1)
}

// full reports whether no more values are wanted.
func (p *treeBuilder) full() bool {
	return p.count >= p.parts || p.line != 0 && p.wrote > p.line
}

// told counts the text of a value.
func (p *treeBuilder) told(v report.Data) report.Data {
	p.wrote += len(v.Text)
	return v
}

// isObject reports whether an address is that of an object: its class must lead back to itself.
func (vm *VM) isObject(at uint64) bool {
	klass := vm.klassOf(at)
	name := vm.className(klass)
	if name == "" {
		return false
	}
	if name[0] == '[' {
		_, ok := vm.arrayAt(at)
		return ok
	}
	off, ok := vm.off("InstanceKlass._constants")
	if !ok {
		return false
	}
	pool := vm.Word(klass + off)
	return pool != 0 && vm.Word(pool+vm.layout.holder) == klass
}

// typed reads a value of a type, written as in signatures, that is stored in the heap.
func (p *treeBuilder) typed(signature string, at uint64) report.Data {
	if signature == "" {
		return note(errMemory)
	}
	if signature[0] == 'L' || signature[0] == '[' {
		narrow := p.objects.narrowOops
		if b := p.Bytes(at, map[bool]int{true: 4, false: 8}[narrow]); b == nil {
			return note(errMemory)
		}
		return p.object(p.oop(at))
	}
	b := p.Bytes(at, primitiveSize(signature[0]))
	if b == nil {
		return note(errMemory)
	}
	return p.told(primitive(signature[0], b))
}

// note is the place of a value that cannot be told.
func note(err error) report.Data {
	return report.Data{Kind: "text", Text: "<" + err.Error() + ">"}
}

func primitiveSize(signature byte) int {
	switch signature {
	case 'Z', 'B':
		return 1
	case 'C', 'S':
		return 2
	case 'J', 'D':
		return 8
	}
	return 4
}

// primitive is a value of a primitive type, out of at least as many bytes as it has.
func primitive(signature byte, b []byte) report.Data {
	v := report.Data{Kind: "int", Type: javaType(string(signature))}
	switch signature {
	case 'Z':
		v.Kind, v.Text = "bool", strconv.FormatBool(b[0] != 0)
	case 'B':
		v.Text = strconv.Itoa(int(int8(b[0])))
	case 'C':
		v.Kind, v.Text = "char", strconv.QuoteRune(rune(binary.LittleEndian.Uint16(b)))
	case 'S':
		v.Text = strconv.Itoa(int(int16(binary.LittleEndian.Uint16(b))))
	case 'I':
		v.Text = strconv.Itoa(int(int32(binary.LittleEndian.Uint32(b))))
	case 'J':
		v.Text = strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10)
	case 'F':
		v.Kind, v.Text = "float", floating(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case 'D':
		v.Kind, v.Text = "float", floating(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	default:
		return note(errObject)
	}
	return v
}

// floating is a number as Java writes it, but for the limits beyond which it has an exponent.
func floating(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, bits), "+") + "inity"
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// object reads an object.
func (p *treeBuilder) object(obj uint64) report.Data {
	if obj == 0 {
		return report.Data{Kind: "void", Text: "null"}
	}
	if p.count++; p.count > p.parts || p.spend(4) != nil {
		p.count = p.parts // nothing more is read
		return report.Data{Kind: "text", Text: "...", Truncated: true}
	}
	if !p.isObject(obj) {
		return note(errObject)
	}
	name := p.className(p.klassOf(obj))
	v := report.Data{Kind: "struct", Type: dotted(name), Address: report.Addr(obj)}
	if p.simple(&v, obj, name) {
		return p.told(v)
	}
	if len(p.in) >= p.depth || slices.Contains(p.in, obj) {
		v.Text, v.Truncated = simpleName(v.Type)+"{...}", true
		return v
	}
	p.in = append(p.in, obj)
	if a, ok := p.arrayAt(obj); ok {
		p.array(&v, a, name)
	} else if !p.collection(&v, obj, name) {
		p.members(&v, obj)
	}
	p.in = p.in[:len(p.in)-1]
	return v
}

// simple reads an object that is shown as one value.
func (p *treeBuilder) simple(v *report.Data, obj uint64, name string) bool {
	switch name {
	case "java/lang/String":
		s, whole, ok := p.beginning(obj, p.text)
		if !ok {
			v.Kind, v.Text = "text", "<"+errMemory.Error()+">"
			return true
		}
		v.Kind, v.Text, v.Truncated = "string", strconv.Quote(s), !whole
		if !whole {
			v.Text += "..."
		}
		return true
	case "java/lang/StringBuilder", "java/lang/StringBuffer":
		s, whole := p.builder(obj)
		v.Kind, v.Text, v.Truncated = "string", strconv.Quote(s), !whole
		return true
	case "java/lang/Class":
		v.Kind, v.Text = "text", p.mirrored(obj)+".class"
		return true
	case "java/math/BigInteger":
		if s, ok := p.bigInteger(obj); ok {
			v.Kind, v.Text = "int", s
			return true
		}
		return false
	}
	if isBox(name) {
		at, signature, ok := p.member(obj, "value")
		if ok && strings.Contains(primitiveKeys, signature) {
			inner := p.typed(signature, at)
			v.Kind, v.Text = inner.Kind, inner.Text
			return true
		}
		return false
	}
	for klass := range p.supers(p.klassOf(obj)) {
		switch p.className(klass) {
		case "java/lang/Enum":
			if s, ok := p.stringAt(p.ref(obj, "name", "Ljava/lang/String;")); ok {
				v.Kind, v.Text = "enum", simpleName(v.Type)+"."+s
				return true
			}
		case "java/lang/Thread":
			name := strconv.Quote(p.nameOf(obj))
			if at, ok := p.fieldOf(obj, "tid", "J"); ok && name == `""` { // virtual threads have names only if they are given some
				name = "#" + strconv.FormatUint(p.Word(at), 10)
			}
			v.Kind, v.Text = "text", simpleName(v.Type)+" "+name
			return true
		case "java/lang/Throwable":
			v.Kind, v.Text = "text", v.Type
			if s, ok := p.stringAt(p.ref(obj, "detailMessage", "Ljava/lang/String;")); ok {
				v.Text += ": " + s
			}
			return true
		}
	}
	return false
}

// array reads the elements of an array.
func (p *treeBuilder) array(v *report.Data, a array, name string) {
	element := name[1:]
	v.Kind, v.Type = "array", javaType(name)
	of, dimensions, _ := strings.Cut(simpleName(v.Type), "[]")
	v.Text = arrayText(of, a.length, dimensions)
	for i := range a.length {
		if i == p.atMost() || p.full() {
			v.Truncated = true
			break
		}
		v.Children = append(v.Children, report.Child{Data: p.typed(element, a.data+uint64(i)*a.size)})
	}
}

// arrayText is an array of so many elements as Java writes it.
func arrayText(of string, n int, dimensions string) string {
	return of + "[" + strconv.Itoa(n) + "]" + dimensions
}

// members reads the fields of an object, those that its class adds last.
func (p *treeBuilder) members(v *report.Data, obj uint64) {
	v.Text = simpleName(v.Type)
	var classes []uint64
	for klass := range p.supers(p.klassOf(obj)) {
		classes = append(classes, klass)
	}
	for _, klass := range slices.Backward(classes) {
		for _, f := range p.fieldsOf(klass) {
			if f.static || f.name == "" {
				continue
			}
			if len(v.Children) == p.atMost() || p.full() {
				v.Truncated = true
				return
			}
			v.Children = append(v.Children, report.Child{Name: f.name, Data: p.typed(f.signature, obj+uint64(f.offset))})
		}
	}
}

// member is where a field is, and its type, whatever that is.
func (vm *VM) member(obj uint64, name string) (at uint64, signature string, ok bool) {
	for _, f := range vm.fieldsNamed(vm.klassOf(obj), name) {
		return obj + uint64(f.offset), f.signature, true
	}
	return 0, "", false
}

// refIn is the object in a field, whatever its type; 0 if there is none.
func (vm *VM) refIn(obj uint64, name string) uint64 {
	at, signature, ok := vm.member(obj, name)
	if !ok || signature == "" || signature[0] != 'L' && signature[0] != '[' {
		return 0
	}
	return vm.oop(at)
}

// intIn is the number in a field of type int.
func (vm *VM) intIn(obj uint64, name string) int {
	at, ok := vm.fieldOf(obj, name, "I")
	if !ok {
		return 0
	}
	n, _ := vm.U32(at)
	return int(int32(n))
}

// builder is the text of a StringBuilder.
func (p *treeBuilder) builder(obj uint64) (s string, whole bool) {
	a, ok := p.arrayAt(p.refIn(obj, "value"))
	if !ok {
		return "", false
	}
	n := min(max(p.intIn(obj, "count"), 0), a.length)
	wide := a.element == 'C'
	if at, ok := p.fieldOf(obj, "coder", "B"); ok {
		c, _ := p.U8(at)
		wide = c != 0
	}
	size := n
	if wide {
		size = min(2*n, a.length*int(a.size))
	}
	b := p.Bytes(a.data, min(size, p.text))
	if wide {
		return utf16Text(b), size <= p.text
	}
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out), size <= p.text
}

// maxDigits is the most words of a BigInteger.
const maxDigits = 64

func (p *treeBuilder) bigInteger(obj uint64) (string, bool) {
	a, ok := p.arrayAt(p.refIn(obj, "mag"))
	if !ok || a.element != 'I' || a.length > maxDigits {
		return "", false
	}
	n := new(big.Int)
	for i := range a.length {
		w, ok := p.U32(a.data + 4*uint64(i))
		if !ok {
			return "", false
		}
		n.Lsh(n, 32).Or(n, big.NewInt(int64(w)))
	}
	if p.intIn(obj, "signum") < 0 {
		n.Neg(n)
	}
	return n.String(), true
}

// mirrored is the name of the class that a java.lang.Class stands for.
func (vm *VM) mirrored(mirror uint64) string {
	klass := vm.classOfMirror(mirror)
	name := vm.className(klass)
	if strings.HasPrefix(name, "[") {
		return javaType(name)
	}
	return dotted(name)
}

// classOfMirror is the class that a java.lang.Class stands for; 0 if it is that of a primitive type.
func (vm *VM) classOfMirror(mirror uint64) uint64 {
	at := vm.static("java_lang_Class._klass_offset")
	off, ok := vm.U32(at)
	if at == 0 || !ok || off == 0 || off > 1<<12 || vm.className(vm.klassOf(mirror)) != "java/lang/Class" {
		return 0
	}
	return vm.Word(mirror + uint64(off))
}

// dotted is the name of a class as programs write it. Classes without a name of their own, lambdas, end with the address
// of their class, or a number.
func dotted(name string) string {
	if i := strings.IndexByte(name, '+'); i > 0 && strings.Contains(name[:i], "$$Lambda") {
		name = name[:i]
	}
	return strings.ReplaceAll(name, "/", ".")
}

// simpleName is the name of a class without its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// javaType writes the type of a signature as Java does: "[Ljava/lang/String;" is "java.lang.String[]".
func javaType(signature string) string {
	arrays := 0
	for arrays < len(signature) && signature[arrays] == '[' {
		arrays++
	}
	s := signature[arrays:]
	name := ""
	switch {
	case s == "":
		return ""
	case s[0] == 'L':
		name = dotted(strings.TrimSuffix(s[1:], ";"))
	default:
		name = primitives[strings.IndexByte(primitiveKeys, s[0])+1]
	}
	return name + strings.Repeat("[]", arrays)
}

// maxLine is the most bytes of an object's text, about; what is in it is a tree all the same.
const maxLine = 160

// line writes a value in one line, of about maxLine bytes.
func line(v report.Data) string { return lineUpTo(v, maxLine) }

// lineUpTo writes a value in one line of about most bytes; 0 for no limit.
func lineUpTo(v report.Data, most int) string {
	var b strings.Builder
	writeLine(&b, v, most)
	return b.String()
}

func writeLine(b *strings.Builder, v report.Data, most int) {
	b.WriteString(v.Text)
	opening, closing := " {", "}"
	switch v.Kind {
	case "sequence":
		opening, closing = " [", "]"
	case "struct":
		opening = "{"
	}
	switch {
	case v.Kind != "sequence" && v.Kind != "array" && v.Kind != "map" && v.Kind != "struct", strings.HasSuffix(v.Text, "{...}"):
		return
	case len(v.Children) == 0 && v.Truncated:
		b.WriteString(opening + "..." + closing)
		return
	}
	b.WriteString(opening)
	for i, p := range v.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		if most > 0 && b.Len() > most {
			b.WriteString("..." + closing)
			return
		}
		switch {
		case p.Key != nil:
			writeLine(b, *p.Key, most)
			b.WriteByte('=')
		case p.Name != "":
			b.WriteString(p.Name + "=")
		}
		writeLine(b, p.Data, most)
	}
	if v.Truncated {
		b.WriteString(", ...")
	}
	b.WriteString(closing)
}
