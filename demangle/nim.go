package demangle

import (
	"slices"
	"strings"
)

// Nim returns the name of a function as Nim and its stack traces write it, whose C code Nim's compiler made: "crash" of
// "crash__shop_64", "+%" of "pluspercent___system_696". The module, "shop", has lost which of its letters were slashes, and is left
// out. A name that is not understood in full is returned unchanged. C has names of this form, too: the caller knows that the
// code is Nim's.
func Nim(name string) string {
	if len(name) > MaxInput {
		return name
	}
	i := strings.LastIndex(name, "__")
	if i <= 0 {
		return name
	}
	module, stamp, ok := cutLast(name[i+2:], '_')
	if !ok || module == "" || !isNumber(stamp) || !plainWord(module) {
		return name
	}
	fn, ok := nimOperator(name[:i])
	if !ok {
		return name
	}
	return fn
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// nimOperators are the words that stand for the characters of operators.
var nimOperators = [...]struct{ word, op string }{
	{"dollar", "$"}, {"percent", "%"}, {"amp", "&"}, {"roof", "^"}, {"emark", "!"}, {"qmark", "?"}, {"star", "*"}, {"plus", "+"}, {"minus", "-"},
	{"backslash", `\`}, {"slash", "/"}, {"eq", "="}, {"lt", "<"}, {"gt", ">"}, {"tilde", "~"}, {"colon", ":"}, {"dot", "."}, {"at", "@"}, {"bar", "|"},
}

// nimHooks are the functions that a type may have for the compiler to call.
var nimHooks = [...]string{"destroy", "copy", "sink", "trace", "dup", "deepcopy", "wasMoved"}

// nimOperator returns a name with the characters of its words, if it consists of those alone; behind such a name stands "_".
func nimOperator(s string) (string, bool) {
	if !plainWord(s) {
		return "", false
	}
	if name, ok := strings.CutPrefix(s, "colon"); ok && strings.HasPrefix(name, "anonymous") {
		return ":anonymous", true
	}
	if hook, is := strings.CutPrefix(strings.TrimSuffix(s, "_"), "eq"); is && strings.HasSuffix(s, "_") && slices.Contains(nimHooks[:], hook) {
		return "=" + hook, true
	}
	word, of, ok := strings.TrimSuffix(s, "_"), "", strings.HasSuffix(s, "_")
	for word != "" && ok {
		ok = false
		for _, o := range nimOperators {
			if rest, is := strings.CutPrefix(word, o.word); is {
				word, of, ok = rest, of+o.op, true
				break
			}
		}
	}
	if ok {
		return of, true
	}
	return s, true
}

// plainWord reports whether a text has letters, digits and "_" alone, and begins with a letter.
func plainWord(s string) bool {
	for i := range len(s) {
		if !isWordByte(s[i]) || i == 0 && (s[0] == '_' || s[0] >= '0' && s[0] <= '9') {
			return false
		}
	}
	return s != ""
}
