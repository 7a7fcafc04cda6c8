package beam

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
)

// Limits of what is shown of a value.
const (
	maxElements = 10
	maxText     = 200 // bytes of a string
	maxNested   = 4   // values within others
	maxParts    = 64  // values within a value
	maxDigits   = 128 // words of an integer
)

// Tags of terms: two, four or six of the lowest bits.
const (
	mask2, mask4, mask6 = 3, 15, 63

	tagList  = 1
	tagBoxed = 2

	tagPid   = 0x03
	tagPort  = 0x07
	tagSmall = 0x0f

	tagAtom  = 0x0b
	tagCatch = 0x1b
	tagNil   = 0x3b

	tagTuple = 0 // of what a boxed term leads to, in bits 2 to 5, behind which its size is
)

// A shape is what sort of term one is.
type shape int

const (
	shapeNone shape = iota
	shapeAtom
	shapeSmall
	shapePid
	shapePort
	shapeNil
	shapeList
	shapeTuple
	shapeBig
	shapeFloat
	shapeBits
	shapeMap
	shapeFun
	shapeExternalFun
	shapeRef
	shapeRemote
)

// A term is a value with what its header says.
type term struct {
	v      uint64
	shape  shape
	at     uint64 // of what it leads to
	header uint64
}

func (t term) size() uint64 { return t.header >> 6 }

// term reads what sort of term a word is.
func (r *runtime) term(v uint64) term {
	t := term{v: v}
	switch v & mask2 {
	case tagList:
		if t.at = v &^ 7; t.at >= lowest {
			t.shape = shapeList
		}
		return t
	case tagBoxed:
		t.at = v &^ 7
	default:
		switch {
		case v == tagNil:
			t.shape = shapeNil
		case v&mask6 == tagAtom:
			t.shape = shapeAtom
		case v&mask4 == tagSmall:
			t.shape = shapeSmall
		case v&mask4 == tagPid:
			t.shape = shapePid
		case v&mask4 == tagPort:
			t.shape = shapePort
		}
		return t
	}
	header, ok := r.LookupWord(t.at)
	if !ok || t.at < lowest || header&mask2 != 0 {
		return t
	}
	t.header = header
	kind := header >> 2 & 15
	is := func(name string) bool { return r.has(name) && r.at(name) == kind }
	switch {
	case kind == tagTuple:
		t.shape = shapeTuple
	case kind&^1 == r.at("tag.positive"):
		t.shape = shapeBig
	case is("tag.float"):
		t.shape = shapeFloat
	case is("tag.map"):
		t.shape = shapeMap
	case is("tag.ref"):
		t.shape = shapeRef
	case is("tag.fun"):
		t.shape = shapeFun
		if r.has("fun.creator") && r.atomOf(r.Word(t.at+r.at("fun.creator"))) == "external" || r.has("fun.envshift") && header>>r.at("fun.envshift") == 0 {
			t.shape = shapeExternalFun
		}
	case kind >= r.at("tag.pid") && kind <= r.at("tag.pid")+2:
		t.shape = shapeRemote
	case is("tag.binary"), is("tag.shared"), is("tag.part"), is("tag.bits"), is("tag.partbits"):
		t.shape = shapeBits
	}
	return t
}

// kind is the kind of a value in reports, and its type in Erlang's words.
func (t term) kind() (kind, typ string) {
	switch t.shape {
	case shapeAtom:
		return "enum", "atom"
	case shapeSmall, shapeBig:
		return "int", "integer"
	case shapePid:
		return "text", "pid"
	case shapePort:
		return "text", "port"
	case shapeNil, shapeList:
		return "sequence", "list"
	case shapeTuple:
		return "struct", "tuple"
	case shapeFloat:
		return "float", "float"
	case shapeBits:
		return "string", "binary"
	case shapeMap:
		return "map", "map"
	case shapeFun, shapeExternalFun:
		return "function", "fun"
	case shapeRef:
		return "text", "reference"
	}
	return "text", ""
}

// scalar is the text of a value that has no others in it, as Erlang writes it.
func (r *runtime) scalar(t term, limit int) (text string, ok bool) {
	switch t.shape {
	case shapeAtom:
		if s, ok := r.atomText(t.v); ok {
			return quoteAtom(s), true
		}
	case shapeSmall:
		return strconv.FormatInt(int64(t.v)>>4, 10), true
	case shapePid:
		return r.pidText(t.v), true
	case shapePort:
		return "#Port<0." + strconv.FormatUint(t.v>>4, 10) + ">", true
	case shapeNil:
		return "[]", true
	case shapeBig:
		return r.bigText(t), true
	case shapeFloat:
		if w, ok := r.LookupWord(t.at + 8); ok {
			return floatText(math.Float64frombits(w)), true
		}
	case shapeBits:
		return r.bitsText(t, limit), true
	case shapeFun, shapeExternalFun:
		return r.funText(t), true
	case shapeRef:
		return r.refText(t), true
	case shapeRemote:
		return "#Remote<" + address(t.at) + ">", true
	case shapeList:
		if s, ok := r.listText(t, limit); ok {
			return s, true
		}
		return "", false
	case shapeTuple, shapeMap:
		return "", false
	}
	return "?", true
}

func address(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// bigText writes a large integer.
func (r *runtime) bigText(t term) string {
	n := t.size()
	words, ok := r.Words(t.at+8, int(min(n, maxDigits)))
	if !ok || n > maxDigits {
		return "?"
	}
	b := make([]byte, 0, 8*len(words))
	for i := len(words) - 1; i >= 0; i-- {
		for shift := 56; shift >= 0; shift -= 8 {
			b = append(b, byte(words[i]>>shift))
		}
	}
	v := new(big.Int).SetBytes(b)
	if t.header>>2&1 != 0 {
		v.Neg(v)
	}
	return v.String()
}

// floatText writes a number as Erlang does: in the shorter of the two forms.
func floatText(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	sign, text := "", strconv.FormatFloat(v, 'e', -1, 64)
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	mantissa, exponent, _ := strings.Cut(text, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	n, _ := strconv.Atoi(exponent)
	place, count := n+1, len(digits) // of the point in the digits
	const exact = 1 << 53
	scientific := digits[:1] + "." + digits[1:] + "e" + strconv.Itoa(n)
	cost := len(strconv.Itoa(n)) + 2
	if count == 1 {
		scientific = digits + ".0e" + strconv.Itoa(n)
		cost++
	}
	switch {
	case v == 0:
		return sign + "0.0"
	case math.Abs(v) > exact:
		return sign + scientific
	case place >= 0 && place < count:
		if place == 0 {
			return sign + "0." + digits
		}
		return sign + digits[:place] + "." + digits[place:]
	case place < 0 && 2-place <= cost:
		return sign + "0." + strings.Repeat("0", -place) + digits
	case place >= count && place-count+2 <= cost:
		return sign + digits + strings.Repeat("0", place-count) + ".0"
	}
	return sign + scientific
}

// bits returns the first bytes of a binary, at most limit, and how many bits it has.
func (r *runtime) bits(t term, limit int) (b []byte, size uint64, ok bool) {
	kind := t.header >> 2 & 15
	is := func(name string) bool { return r.has(name) && r.at(name) == kind }
	var at, offset uint64
	switch {
	case is("tag.binary"):
		size, at = 8*r.Word(t.at+r.at("binary.size")), t.at+r.at("binary.bytes")
	case is("tag.shared"):
		size, at = 8*r.Word(t.at+r.at("shared.size")), r.Word(t.at+r.at("shared.bytes"))
	case is("tag.bits"):
		size, at = r.Word(t.at+r.at("bits.size")), t.at+r.at("bits.bytes")
	case is("tag.part"):
		of := r.term(r.Word(t.at + r.at("part.of")))
		if of.shape != shapeBits {
			return nil, 0, false
		}
		switch of.header >> 2 & 15 {
		case r.at("tag.binary"):
			at = of.at + r.at("binary.bytes")
		case r.at("tag.shared"):
			at = r.Word(of.at + r.at("shared.bytes"))
		default:
			return nil, 0, false
		}
		bits, _ := r.U8(t.at + r.at("part.bits"))
		first, _ := r.U8(t.at + r.at("part.bitoffset"))
		size = 8*r.Word(t.at+r.at("part.size")) + uint64(bits&7)
		offset = 8*r.Word(t.at+r.at("part.offset")) + uint64(first&7)
	case is("tag.partbits"):
		offset = r.Word(t.at + r.at("partbits.start"))
		size = r.Word(t.at+r.at("partbits.end")) - offset
		at = r.Word(t.at+r.at("partbits.base")) &^ r.at("partbits.mask")
	default:
		return nil, 0, false
	}
	if size > maxBits || offset > maxBits || at < lowest {
		return nil, 0, false
	}
	n := int(min(uint64(limit), (size+7)/8))
	at += offset / 8
	shift := offset % 8
	more := 0
	if shift != 0 {
		more = 1
	}
	b = r.Some(at, n+more)
	if len(b) < n {
		return nil, 0, false
	}
	if shift != 0 {
		out := make([]byte, n)
		for i := range out {
			out[i] = b[i] << shift
			if i+1 < len(b) {
				out[i] |= b[i+1] >> (8 - shift)
			}
		}
		b = out
	}
	return b[:n], size, true
}

// maxBits is more than a binary has.
const maxBits = 1 << 46

// bitsText writes a binary: as text if it is some.
func (r *runtime) bitsText(t term, limit int) string {
	b, size, ok := r.bits(t, limit)
	if !ok {
		return "?"
	}
	cut := ""
	if uint64(8*len(b)) < size {
		cut = "..."
	}
	if size%8 == 0 {
		text := b
		for n := 0; cut != "" && n < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); n++ { // a character that was cut
			text = text[:len(text)-1]
		}
		if len(text) > 0 && printable(string(text)) {
			end := ""
			if !ascii(text) {
				end = "/utf8"
			}
			return "<<" + quoteText(string(text)) + cut + end + ">>"
		}
		if s := latin1(b); len(b) > 0 && printable(s) {
			return "<<" + quoteText(s) + cut + ">>"
		}
	}
	var out strings.Builder
	out.WriteString("<<")
	for i, c := range b {
		if i > 0 {
			out.WriteByte(',')
		}
		if rest := size - 8*uint64(i); rest < 8 {
			out.WriteString(strconv.Itoa(int(c >> (8 - rest))))
			out.WriteString(":" + strconv.Itoa(int(rest)))
			continue
		}
		out.WriteString(strconv.Itoa(int(c)))
		if i+1 == maxElements && i+1 < len(b) {
			cut = ",..."
			break
		}
	}
	return out.String() + cut + ">>"
}

// latin1 is the text of bytes each of which is a character.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

func ascii(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// printable reports whether a text is one that Erlang shows as such.
func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, c := range s {
		if !unicode.IsPrint(c) && !strings.ContainsRune("\n\r\t\v\b\f\x1b", c) {
			return false
		}
	}
	return true
}

// quoteText writes a text in double quotes.
func quoteText(s string) string { return remote.QuoteBytes(s, `"\`) }

// listText writes a list that is a text: of characters alone; false for others.
func (r *runtime) listText(t term, limit int) (string, bool) {
	var b strings.Builder
	for n := 0; t.shape == shapeList; n++ {
		words, ok := r.Words(t.at, 2)
		if !ok || r.p.Spend(1) != nil {
			return "", false
		}
		c := words[0] >> 4
		if words[0]&mask4 != tagSmall || c > unicode.MaxLatin1 || !printable(string(rune(c))) {
			return "", false
		}
		if n == limit {
			return quoteText(b.String()) + "...", true
		}
		b.WriteRune(rune(c))
		t = r.term(words[1])
	}
	return quoteText(b.String()), t.shape == shapeNil
}

// funText writes a fun: with its module and its numbers, as Erlang does.
func (r *runtime) funText(t term) string {
	entry := r.Word(t.at + r.at("fun.entry"))
	if t.shape == shapeExternalFun {
		if p := r.function(entry + r.at("export.function")); p != nil {
			return "fun " + p.name()
		}
		return "?"
	}
	module := r.atomOf(r.field(entry, "entry.module"))
	uniq, ok := r.U32(entry + r.at("entry.uniq"))
	index, ok2 := r.U32(entry + r.at("entry.index"))
	if module == "" || !ok || !ok2 {
		return "?"
	}
	return "#Fun<" + quoteAtom(module) + "." + strconv.FormatUint(uint64(index), 10) + "." + strconv.FormatUint(uint64(uniq), 10) + ">"
}

// refText writes a reference that this node made.
func (r *runtime) refText(t term) string {
	n := r.ref(t)
	if n == nil {
		return "#Ref<" + address(t.at) + ">"
	}
	s := "#Ref<0"
	for i := 2; i >= 0; i-- {
		s += "." + strconv.FormatUint(uint64(n[i]), 10)
	}
	return s + ">"
}

// ref returns the three numbers of a reference: nil if it is none, or one that belongs to an object of C.
func (r *runtime) ref(t term) []uint32 {
	b := r.Bytes(t.at+8, 16)
	if t.shape != shapeRef || b == nil {
		return nil
	}
	number := r.Arch.ByteOrder.Uint32
	if number(b) != 1<<32-1 {
		return nil
	}
	return []uint32{number(b[4:]), number(b[8:]), number(b[12:])}
}

// pidText writes the number of a process of this node.
func (r *runtime) pidText(v uint64) string {
	n := r.numberOf(v)
	bits := r.at("pid.bits")
	return "<0." + strconv.FormatUint(n&(1<<bits-1), 10) + "." + strconv.FormatUint(n>>bits, 10) + ">"
}

// quoteAtom writes an atom: in quotes if it does not look like one.
func quoteAtom(s string) string {
	plain := s != "" && !reserved(s)
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 0xdf && c <= 0xff && c != 0xf7:
		case i > 0 && (c == '_' || c == '@' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 0xc0 && c <= 0xde && c != 0xd7):
		default:
			plain = false
		}
	}
	if plain {
		return s
	}
	quoted := remote.QuoteBytes(s, `'\`)
	return "'" + quoted[1:len(quoted)-1] + "'"
}

// reserved reports whether a word has a meaning in Erlang.
func reserved(s string) bool {
	switch s {
	case "after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr", "bxor", "case", "catch", "cond", "div", "else", "end", "fun", "if", "let", "maybe",
		"not", "of", "or", "orelse", "receive", "rem", "try", "when", "xor":
		return true
	}
	return false
}
