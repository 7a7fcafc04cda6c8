package demangle

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

var msvcOperators = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"2": "operator new", "3": "operator delete", "4": "operator=", "5": "operator>>", "6": "operator<<", "7": "operator!",
		"8": "operator==", "9": "operator!=", "A": "operator[]", "C": "operator->", "D": "operator*", "E": "operator++",
		"F": "operator--", "G": "operator-", "H": "operator+", "I": "operator&", "J": "operator->*", "K": "operator/",
		"L": "operator%", "M": "operator<", "N": "operator<=", "O": "operator>", "P": "operator>=", "Q": "operator,",
		"R": "operator()", "S": "operator~", "T": "operator^", "U": "operator|", "V": "operator&&", "W": "operator||",
		"X": "operator*=", "Y": "operator+=", "Z": "operator-=", "_0": "operator/=", "_1": "operator%=", "_2": "operator>>=",
		"_3": "operator<<=", "_4": "operator&=", "_5": "operator|=", "_6": "operator^=", "_D": "`vbase dtor'",
		"_E": "`vector deleting dtor'", "_F": "`default ctor closure'", "_G": "`scalar deleting dtor'",
		"_H": "`vector ctor iterator'", "_I": "`vector dtor iterator'", "_J": "`vector vbase ctor iterator'",
		"_K": "`virtual displacement map'", "_L": "`eh vector ctor iterator'", "_M": "`eh vector dtor iterator'",
		"_N": "`eh vector vbase ctor iterator'", "_O": "`copy ctor closure'", "_T": "`local vftable ctor closure'",
		"_U": "operator new[]", "_V": "operator delete[]", "__L": "operator co_await", "__M": "operator<=>",
	}
}}

// operator reads the name of an operator or of a compiler-generated function.
func (d *msvc) operator() msvcIdent {
	switch {
	case d.take("0"):
		return msvcIdent{what: 'c'}
	case d.take("1"):
		return msvcIdent{what: 'd'}
	case d.take("B"):
		return msvcIdent{what: 'v'}
	case d.take("__K"):
		return msvcIdent{text: `operator ""` + d.simple(false)}
	}
	for n := 1; n <= 3 && n <= len(d.s); n++ {
		if name, ok := msvcOperators.Get()[d.s[:n]]; ok {
			d.s = d.s[n:]
			return msvcIdent{text: name}
		}
	}
	d.fail()
	return msvcIdent{}
}

// special reads symbols that are not functions or variables of the program: tables, RTTI,
// string literals, and functions that initialize variables.
func (d *msvc) special() (msvcSymbol, bool) {
	switch {
	case d.take("?_7"):
		return d.table("`vftable'"), true
	case d.take("?_8"):
		return d.table("`vbtable'"), true
	case d.take("?_S"):
		return d.table("`local vftable'"), true
	case d.take("?_R4"):
		return d.table("`RTTI Complete Object Locator'"), true
	case d.take("?_9"):
		return d.vcall(), true
	case d.take("?_R0"):
		quals := ""
		if d.take("?") {
			quals = d.qualifiers()
		}
		t := d.typ()
		d.want("@8")
		return msvcSymbol{"", joined(t.qualified(quals).pre+t.post, "`RTTI Type Descriptor'"), ""}, true
	case d.take("?_R1"):
		return d.baseClass(), true
	case d.take("?_R2"):
		return d.rtti("`RTTI Base Class Array'"), true
	case d.take("?_R3"):
		return d.rtti("`RTTI Class Hierarchy Descriptor'"), true
	case d.take("?_C@_"):
		return d.literal(), true
	case d.take("?__E"):
		return d.initializer("`dynamic initializer for '"), true
	case d.take("?__F"):
		return d.initializer("`dynamic atexit destructor for '"), true
	}
	return msvcSymbol{}, false
}

func (d *msvc) want(s string) {
	if !d.take(s) {
		d.fail()
	}
}

func (d *msvc) scoped(name string) string {
	list := []string{name}
	for _, s := range d.scopes() {
		list = append([]string{s}, list...)
	}
	return d.bounded(strings.Join(list, "::"))
}

// vtordisp reads the kind of a thunk that finds its object through a virtual base: access,
// and the 32-bit offsets that it uses.
func (d *msvc) vtordisp() (pre, adjust string) {
	n, name := 2, "`vtordisp{"
	if d.take("R") {
		n, name = 4, "`vtordispex{"
	}
	c := d.next()
	if c < '0' || c > '5' {
		d.fail()
		return "", ""
	}
	var v [4]string
	for i := range n {
		u, neg := d.number()
		x := int64(int32(u))
		if neg {
			x = -x
		}
		v[i] = strconv.FormatInt(x, 10)
	}
	return "[thunk]: " + msvcAccess[(c-'0')/2] + "virtual ", name + strings.Join(v[:n], ", ") + "}'"
}

// vcall reads a thunk that calls the virtual function at an offset in a table.
func (d *msvc) vcall() msvcSymbol {
	name := d.scoped("`vcall'")
	d.want("$B")
	v, neg := d.number()
	d.want("A")
	conv := msvcConventions.Get()[d.next()]
	if conv == "" {
		d.fail()
	}
	return msvcSymbol{"[thunk]: " + conv, name + "{" + decimal(v, neg) + ", {flat}}", ""}
}

func (d *msvc) rtti(name string) msvcSymbol {
	name = d.scoped(name)
	d.want("8")
	return msvcSymbol{"", name, ""}
}

func (d *msvc) baseClass() msvcSymbol {
	var v [4]string
	for i := range v {
		n, neg := d.number()
		v[i] = decimal(n, neg)
	}
	return d.rtti("`RTTI Base Class Descriptor at (" + strings.Join(v[:], ", ") + ")'")
}

// table reads the name of a table of virtual functions or bases, and the base class that it
// is for.
func (d *msvc) table(name string) msvcSymbol {
	name = d.scoped(name)
	if !d.take("6") {
		d.want("7")
	}
	quals := strings.TrimSpace(d.qualifiers())
	var bases []string
	for !d.take("@") {
		if d.failed || len(bases) == msvcList {
			d.fail()
			return msvcSymbol{}
		}
		bases = append(bases, "`"+d.qualifiedType()+"'")
	}
	if len(bases) > 0 {
		name += "{for " + strings.Join(bases, "s ") + "}"
	}
	return msvcSymbol{quals, d.bounded(name), ""}
}

// initializer reads the function that initializes or destroys a variable before or after
// main.
func (d *msvc) initializer(what string) msvcSymbol {
	if d.take("?") { // a variable with its type
		d.s = "?" + d.s
		v := d.symbol()
		d.take("@")
		d.take("@")
		return d.function(what[:len(what)-1]+"`"+v.String()+"''", false)
	}
	name, _ := d.qualified()
	return d.function(what+name+"''", false)
}

// literal reads the name of a string literal: its first bytes, encoded.
func (d *msvc) literal() msvcSymbol {
	wide := d.take("1")
	if !wide {
		d.want("0")
	}
	size, neg := d.number()
	crc := strings.IndexByte(d.s, '@')
	if neg || crc < 0 {
		d.fail()
		return msvcSymbol{}
	}
	d.s = d.s[crc+1:]
	var b []byte
	for !d.take("@") {
		if d.failed || len(b) > 1024 {
			d.fail()
			return msvcSymbol{}
		}
		b = append(b, d.literalByte())
	}
	out := `"`
	unit := 1
	if wide {
		out, unit = `L"`, 2
	}
	cut := uint64(len(b)) < size // the name contains only the first 32 characters
	if n := len(b); !cut && n >= unit {
		b = b[:n-unit] // the terminating NUL
	}
	for i := 0; i+unit <= len(b); i += unit {
		c := int(b[i])
		if wide {
			c = c<<8 | int(b[i+1])
		}
		out += escaped(c)
	}
	out += `"`
	if cut {
		out += "..."
	}
	return msvcSymbol{"", out, ""}
}

func (d *msvc) literalByte() byte {
	c := d.next()
	if c != '?' {
		return c
	}
	switch c = d.next(); {
	case isDigit(c):
		return ",/\\:. \n\t'-"[c-'0']
	case c == '$':
		hi, lo := d.next()-'A', d.next()-'A'
		if hi > 15 || lo > 15 {
			d.fail()
		}
		return hi<<4 | lo
	case c >= 'a' && c <= 'z':
		return c - 'a' + 0xe1
	case c >= 'A' && c <= 'Z':
		return c - 'A' + 0xc1
	}
	d.fail()
	return 0
}

func escaped(c int) string {
	const hex = "0123456789ABCDEF"
	if i := strings.IndexByte("\x00\a\b\f\n\r\t\v\"\\'", byte(c)); c < 128 && i >= 0 {
		return `\` + "0abfnrtv\"\\'"[i:i+1]
	}
	switch {
	case c >= 0x20 && c < 0x7f:
		return string(rune(c))
	case c < 0x100:
		return `\x` + string([]byte{hex[c>>4], hex[c&15]})
	}
	return `\x` + string([]byte{hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15]})
}
