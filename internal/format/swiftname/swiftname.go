// Package swiftname reads mangled names of Swift, from version 4 on: "$s4main3FooV3bar1xyS2i_tF" is Foo.bar(x:).
// The form is that of https://github.com/swiftlang/swift/blob/main/docs/ABI/Mangling.rst: operators behind their operands,
// which are put on a stack. Names are written as swift-demangle -simplified writes them, without modules and types of
// parameters.
package swiftname

import "strings"

const (
	// maxInput is the length of the longest name that is read.
	maxInput = 8 << 10
	// maxOutput is the length of the longest name that is written; what is longer ends with "...".
	maxOutput = 16 << 10
	// maxNodes limits what one name may consist of, maxSteps how much of that is written, as parts may be repeated, and
	// maxDepth how deep parts are nested.
	maxNodes = 1 << 15
	maxSteps = 1 << 16
	maxDepth = 400
	// maxRepeat limits how often one operator repeats a part.
	maxRepeat = 2048
)

// Options select parts of a name to leave out.
type Options struct {
	NoParams bool // labels of parameters, generic parameters, and that it is a specialization: "Foo.bar"
}

// Mangled reports whether a name begins as those of Swift do.
func Mangled(s string) bool { _, ok := cutPrefix(s); return ok }

// cutPrefix removes what mangled names begin with.
func cutPrefix(s string) (rest string, ok bool) {
	s = strings.TrimPrefix(s, "_")
	if len(s) < 4 {
		return "", false
	}
	switch {
	case s[0] == '$' && (s[1] == 's' || s[1] == 'S' || s[1] == 'e'):
		return s[2:], true
	case s[0] == 'T' && s[1] == '0':
		return s[2:], true
	case s[0] == '_' && s[1] == 'T' && s[2] == '0':
		return s[3:], true
	}
	return "", false
}

// Name returns a name as a person reads it. It returns false for what is not a name of Swift, or is not understood in full.
func Name(mangled string, o Options) (string, bool) {
	text, ok := cutPrefix(mangled)
	if !ok || len(text) > maxInput {
		return "", false
	}
	m := machine{text: text}
	top := m.symbol()
	if top == nil {
		return "", false
	}
	p := printer{o: o}
	p.print(top)
	name := p.b.String()
	if p.failed || name == "" {
		return "", false
	}
	if len(name) > maxOutput {
		name = strings.ToValidUTF8(name[:maxOutput], "") + "..."
	}
	return name, true
}
