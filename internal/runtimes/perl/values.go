package perl

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // bytes of a string
	maxNested   = 4   // arrays and hashes within others
	maxParts    = 64  // values within a value
)

// typeOf is what ref says of what a value refers to, of arrays and hashes what they are; "" of values without a type.
func (r *runtime) typeOf(at uint64) string {
	f, ok := r.flags(at)
	if ok && f&flagRef != 0 {
		at = r.Word(at + valueHere)
		if s := r.class(at); s != "" {
			return s
		}
		return r.refType(at)
	}
	switch uint64(f & typeMask) {
	case r.at("type.av"):
		return "ARRAY"
	case r.at("type.hv"):
		return "HASH"
	}
	return ""
}

// refType is what a reference to a value is called.
func (r *runtime) refType(at uint64) string {
	f, ok := r.flags(at)
	switch kind := uint64(f & typeMask); {
	case !ok:
		return ""
	case kind == r.at("type.av"):
		return "ARRAY"
	case kind == r.at("type.hv"):
		return "HASH"
	case kind == r.at("type.cv"):
		return "CODE"
	case kind == r.at("type.gv"):
		return "GLOB"
	case kind == r.at("type.io"):
		return "IO"
	case kind == r.at("type.regexp"):
		return "Regexp"
	case kind == r.at("type.format"):
		return "FORMAT"
	case kind == r.at("type.object"):
		return "OBJECT"
	case f&flagRef != 0:
		return "REF"
	}
	return "SCALAR"
}

// class is the package of an object; "" if a value is none.
func (r *runtime) class(at uint64) string {
	f, ok := r.flags(at)
	if !ok || uint64(f)&r.at("flag.object") == 0 {
		return ""
	}
	return r.packageName(r.field(r.body(at), "body.stash"))
}

// kindOf is the kind of a value in reports.
func (r *runtime) kindOf(at uint64) string {
	f, ok := r.flags(at)
	if !ok {
		return "text"
	}
	if f&flagRef != 0 {
		switch to := r.Word(at + valueHere); r.refType(to) {
		case "ARRAY":
			return "sequence"
		case "HASH":
			return "map"
		case "CODE":
			return "function"
		case "SCALAR", "REF":
			return "reference"
		}
		return "text"
	}
	switch kind := uint64(f & typeMask); kind {
	case r.at("type.av"):
		return "sequence"
	case r.at("type.hv"):
		return "map"
	case r.at("type.gv"):
		return "text"
	}
	switch {
	case uint64(f)&r.at("flag.iok") != 0:
		return "int"
	case uint64(f)&r.at("flag.nok") != 0:
		return "float"
	case f&flagText != 0:
		return "string"
	}
	return "void"
}

// plain writes a value that has no others in it; false if it is a reference, an array or a hash.
func (r *runtime) plain(at uint64, limit int) (string, bool) {
	f, ok := r.flags(at)
	if !ok {
		return "?", true
	}
	switch kind := uint64(f & typeMask); {
	case kind == r.at("type.av"), kind == r.at("type.hv"), f&flagRef != 0:
		return "", false
	case kind == r.at("type.gv"):
		if s := r.globName(at); s != "" {
			return "*" + s, true
		}
		return "?", true
	case kind > r.at("type.lv"):
		return "?", true
	}
	if uint64(f)&r.at("flag.iok") != 0 {
		v, ok := r.LookupWord(r.Word(at+valueBody) + r.at("body.iv")) // the body of a number may begin before the value
		switch {
		case !ok:
			return "?", true
		case f&flagUV != 0:
			return strconv.FormatUint(v, 10), true
		}
		return strconv.FormatInt(int64(v), 10), true
	}
	if uint64(f)&r.at("flag.nok") != 0 {
		v, ok := r.LookupWord(r.Word(at+valueBody) + r.at("body.nv"))
		if !ok {
			return "?", true
		}
		return floatText(math.Float64frombits(v)), true
	}
	if f&flagText == 0 {
		return "undef", true
	}
	s, n, ok := r.textOf(at, limit)
	if !ok {
		return "?", true
	}
	return quoted(s, uint64(f)&r.at("flag.utf8") != 0, n > uint64(len(s))), true
}

// quoted writes a string in quotes, in one line, as characters or as bytes.
func quoted(s string, chars, more bool) string {
	if more && chars { // no half of a character
		for len(s) > 0 && !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	if !chars || !utf8.ValidString(s) {
		var b strings.Builder
		for _, c := range []byte(s) {
			if c >= 0x80 {
				b.WriteString("\x00x{" + strconv.FormatUint(uint64(c), 16) + "}")
			} else {
				b.WriteByte(c)
			}
		}
		s = b.String()
	}
	s = strings.ReplaceAll(remote.QuoteBytes(s, "\"\\$@"), `\x00x{`, `\x{`)
	if more {
		s += "..."
	}
	return s
}

// floatText writes a number as Perl prints it: without the sign of +Inf.
func floatText(v float64) string {
	const digits = 15
	return strings.TrimPrefix(strconv.FormatFloat(v, 'g', digits, 64), "+")
}

// bare reports whether a key of a hash needs no quotes.
func bare(s string) bool {
	for i, c := range []byte(s) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// keyText writes a key of a hash.
func keyText(s string) string {
	if bare(s) {
		return s
	}
	return quoted(s, utf8.ValidString(s), false)
}

// elements lists at most limit of what an array or a hash has, of a hash in the order of the keys; false if there are more, or not all could be read.
func (r *runtime) elements(at uint64, limit int) (list []entry, whole bool) {
	if r.is(at, "hv") {
		list, whole = r.entries(at)
		slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
		if len(list) > limit {
			return list[:limit], false
		}
		return list, whole
	}
	from, n, ok := r.list(at)
	if !ok {
		return nil, false
	}
	words, ok := r.Words(from, int(min(n, uint64(limit))))
	for _, w := range words {
		list = append(list, entry{value: w})
	}
	return list, ok && n <= uint64(limit)
}

// A shower writes a value in one line.
type shower struct {
	r     *runtime
	most  tasks.Limits
	all   int
	parts int
	seen  []uint64
}

// show writes a value in one line, as Data::Dumper does without line breaks.
func (r *runtime) show(at uint64, limits tasks.Limits) string {
	b := shower{r: r, most: limits.Or(tasks.Limits{Elements: maxElements, String: maxText, Depth: maxNested}), all: limits.Parts(maxParts)}
	if r.is(at, "av") || r.is(at, "hv") {
		return b.inside(at, "(", ")")
	}
	return b.value(at)
}

func (b *shower) value(at uint64) string {
	r := b.r
	if b.parts++; b.parts > b.all || r.p.Spend(4) != nil {
		b.parts = b.all // nothing more is read
		return "..."
	}
	if at == 0 { // no element is there
		return "undef"
	}
	if s, ok := r.plain(at, b.most.String); ok {
		return s
	}
	if f, _ := r.flags(at); f&flagRef == 0 {
		return "?"
	}
	to := r.Word(at + valueHere)
	s := b.referred(to)
	if class := r.class(to); class != "" && r.refType(to) != "Regexp" {
		return "bless(" + s + ", '" + class + "')"
	}
	return s
}

// referred writes what refers to a value.
func (b *shower) referred(to uint64) string {
	r := b.r
	switch r.refType(to) {
	case "ARRAY":
		return b.inside(to, "[", "]")
	case "HASH":
		return b.inside(to, "{", "}")
	case "CODE":
		if s, ok := r.subName(to); ok && !strings.HasSuffix(s, "::"+noPackage) {
			return `\&` + s
		}
		return "sub {...}"
	case "Regexp":
		if s, n, ok := r.textOf(to, b.most.String); ok && n == uint64(len(s)) {
			s = remote.QuoteBytes(s, "/")
			return "qr/" + s[1:len(s)-1] + "/"
		}
		return "qr/?/"
	case "SCALAR", "REF", "GLOB":
		if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, to) {
			return `\...`
		}
		b.seen = append(b.seen, to)
		defer func() { b.seen = b.seen[:len(b.seen)-1] }()
		return `\` + b.value(to)
	case "IO":
		return "*{IO}"
	}
	return "?"
}

// inside writes what an array or a hash has in it.
func (b *shower) inside(at uint64, begin, end string) string {
	r := b.r
	if len(b.seen) >= b.most.Depth || slices.Contains(b.seen, at) {
		return begin + "..." + end
	}
	b.seen = append(b.seen, at)
	list, whole := r.elements(at, b.most.At(len(b.seen)-1))
	var out []string
	hash := r.is(at, "hv")
	for _, e := range list {
		if b.parts >= b.all {
			whole = false
			break
		}
		s := b.value(e.value)
		if hash {
			s = keyText(e.key) + " => " + s
		}
		out = append(out, s)
	}
	if !whole {
		out = append(out, "...")
	}
	b.seen = b.seen[:len(b.seen)-1]
	return begin + strings.Join(out, ", ") + end
}
