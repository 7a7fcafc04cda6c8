package demangle

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

func decimal(v uint64, neg bool) string {
	if neg {
		return "-" + strconv.FormatUint(v, 10)
	}
	return strconv.FormatUint(v, 10)
}

var msvcBasic = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{
		'X': "void", 'D': "char", 'C': "signed char", 'E': "unsigned char", 'F': "short", 'G': "unsigned short",
		'H': "int", 'I': "unsigned int", 'J': "long", 'K': "unsigned long", 'M': "float", 'N': "double", 'O': "long double",
	}
}}

var msvcExtended = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{
		'N': "bool", 'J': "__int64", 'K': "unsigned __int64", 'W': "wchar_t", 'Q': "char8_t", 'S': "char16_t", 'U': "char32_t",
	}
}}

var msvcTags = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{'T': "union ", 'U': "struct ", 'V': "class "}
}}

// typ reads a type.
func (d *msvc) typ() (t msvcType) {
	if !d.enter() {
		return t
	}
	defer d.leave()
	switch {
	case d.take("$$T"):
		return msvcType{pre: "std::nullptr_t"}
	case d.take("$$A6"):
		return d.functionType("")
	case d.take("$$A8@@"):
		return d.functionType(d.thisQualifiers())
	case d.take("$$C"):
		quals := d.qualifiers()
		t = d.typ()
		return t.qualified(quals)
	case d.take("?"):
		if isDigit(d.peek()) { // types without a mangling of their own: <auto>
			t.pre = d.nameBack()
		} else {
			t.pre = d.simple(true)
		}
		d.want("@")
		return t
	case d.take("$$Q"):
		return d.pointer("&&", "")
	case d.take("$$R"):
		return d.pointer("&&", "volatile")
	case d.take("W4"):
		return msvcType{pre: "enum " + d.qualifiedType()}
	case d.take("_"):
		t.pre = msvcExtended.Get()[d.next()]
	default:
		c := d.next()
		switch c {
		case 'T', 'U', 'V':
			return msvcType{pre: msvcTags.Get()[c] + d.qualifiedType()}
		case 'Y':
			return d.array()
		case 'P':
			return d.pointer("*", "")
		case 'Q':
			return d.pointer("*", "const")
		case 'R':
			return d.pointer("*", "volatile")
		case 'S':
			return d.pointer("*", "const volatile")
		case 'A':
			return d.pointer("&", "")
		case 'B':
			return d.pointer("&", "volatile")
		}
		t.pre = msvcBasic.Get()[c]
	}
	if t.pre == "" {
		d.fail()
	}
	return t
}

// qualified adds qualifiers to a type. The pointee of a pointer may repeat the pointer's
// qualifiers.
func (t msvcType) qualified(quals string) msvcType {
	quals = strings.TrimSpace(quals)
	if quals == "" || t.kind == 'p' && strings.Contains(t.own, quals) {
		return t
	}
	if t.kind == 'p' && t.own == "" {
		t.pre += quals
	} else {
		t.pre += " " + quals
	}
	t.own += " " + quals
	return t
}

// functionType reads a function type after its code; quals are the object's qualifiers.
func (d *msvc) functionType(quals string) msvcType {
	ret, conv, params, suffix := d.signature()
	return msvcType{pre: d.bounded(ret.pre + " " + conv), post: d.bounded(params + quals + suffix + ret.post), kind: 'f', conv: conv}
}

// pointer reads the pointee of a pointer or reference. sign is "*", "&" or "&&"; own are
// the pointer's own qualifiers.
func (d *msvc) pointer(sign, own string) msvcType {
	ext := d.extended()
	var to msvcType
	class := ""
	switch {
	case d.take("6"):
		to = d.functionType("")
	case d.take("8"):
		class = d.qualifiedType() + "::"
		to = d.functionType(d.thisQualifiers())
	default:
		quals := ""
		if c := d.peek(); c >= 'Q' && c <= 'T' { // pointer to member
			d.s = string('A'+c-'Q') + d.s[1:]
			quals = d.qualifiers()
			class = d.qualifiedType() + "::"
		} else {
			quals = d.qualifiers()
		}
		to = d.typ()
		to = to.qualified(quals)
	}
	words := own
	if ext != "" {
		words = strings.TrimSpace(own + " " + ext)
	}
	out := msvcType{kind: 'p', own: words}
	switch to.kind {
	case 'f':
		before := strings.TrimSuffix(to.pre, to.conv)
		out.pre = joined(strings.TrimSuffix(before, " "), "") + " (" + to.conv + " " + class + sign + words
		out.post = ")" + to.post
	case 'a':
		out.pre = joined(to.pre, "(") + class + sign + words
		out.post = ")" + to.post
	default:
		out.pre = joined(to.pre, class+sign) + words
		out.post = to.post
	}
	d.bounded(out.pre + out.post)
	return out
}

// array reads an array type: the number of dimensions, each dimension, and the element
// type.
func (d *msvc) array() msvcType {
	n, neg := d.number()
	if neg || n == 0 || n > 64 {
		d.fail()
		return msvcType{}
	}
	dims := ""
	for range n {
		v, neg := d.number()
		if neg {
			d.fail()
		}
		dims += "["
		if v != 0 {
			dims += decimal(v, false)
		}
		dims += "]"
	}
	quals := ""
	if d.take("$$C") {
		quals = d.qualifiers()
	}
	of := d.typ()
	return msvcType{pre: d.bounded(of.qualified(quals).pre), post: d.bounded(dims + of.post), kind: 'a'}
}
