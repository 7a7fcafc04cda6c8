package signature

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// maxMessage is the longest part of a message in a signature, in bytes.
const maxMessage = 200

// kindOf returns what happened, and its class for the first level; said means that the class contains words
// that the program's author wrote for this place.
func kindOf(c *report.Crash) (kind, class string, said bool) {
	if c == nil {
		return report.CrashNone, report.CrashNone, false
	}
	word := c.Kind
	if word == "" {
		word = wordOf(c)
	}
	kind, class = word, classOf(word)
	if accesses(c.Panic) {
		class = "access"
	} else if goText(c.Panic) {
		class += ": text"
	}
	if x := uncaught(c, word); x != nil {
		kind += ": " + report.Clean(x.Type) + ": " + Mask(x.Message)
		class = report.CrashException + ": " + report.Clean(x.Type)
		if strings.HasPrefix(x.Message, "Cannot read propert") || strings.HasPrefix(x.Message, "Cannot set propert") {
			class += ": of null or undefined" // other words may be values
		}
		return kind, class, false
	}
	if c.Message == "" {
		if word == report.CrashException && len(c.Thrown) > 0 {
			class += ": " + Normalize(c.Thrown[0].Type)
		}
		return kind, class, false
	}
	message := Mask(c.Message)
	kind += ": " + message
	switch word {
	case report.CrashAssertion:
		class += ": " + condition(message)
		if f := asserting(c.Assertion); f != "" {
			class, said = class+" in "+f, true
		}
	case report.CrashException:
		if t := thrown(c.Message); t != "" {
			class += ": " + t
			if words := ownWords(t, c); words != "" {
				class, said = class+": "+words, true
			}
		}
	}
	return kind, class, said
}

// uncaught returns the error of JavaScript for which V8 ended the program, by a breakpoint that it has for that; nil for none.
func uncaught(c *report.Crash, word string) *report.Raised {
	if word != report.CrashBreakpoint || c.Message != "" || len(c.Raised) == 0 || c.Raised[0].Language != "javascript" || c.Raised[0].Type == "" {
		return nil
	}
	return &c.Raised[0]
}

// accesses reports whether a panic stands for an access: one of Go that was recovered and raised again, or a check that Rust makes without optimisation.
func accesses(p *report.Panic) bool {
	if p == nil {
		return false
	}
	return p.Runtime == report.RuntimeGo && strings.Contains(p.Value, "invalid memory address or nil pointer dereference") ||
		p.Runtime == report.RuntimeRust && (strings.HasPrefix(p.Value, "null pointer dereference occurred") || strings.HasPrefix(p.Value, "misaligned pointer dereference"))
}

// madeElsewhere tells an error that is no longer on the stack by its type and by the function that made it: nothing on the stack does.
func madeElsewhere(c *report.Crash, th *report.Thread) string {
	x := c.MadeElsewhere(th)
	if x == nil {
		return ""
	}
	return report.Clean(x.Type) + " in " + Normalize(x.Function) + " of " + report.Clean(baseName(x.File))
}

// thrown returns the type of an exception from the messages of libstdc++ and libc++; "" if there is none.
func thrown(message string) string {
	_, rest, _ := strings.Cut(message, "instance of '")
	if t, _, ok := strings.Cut(rest, "'"); ok {
		return Normalize(t)
	}
	_, rest, _ = strings.Cut(message, "exception of type ")
	t, _, _ := strings.Cut(rest, ": ")
	return Normalize(t)
}

// ownWords returns what the program itself wrote into an exception, up to the first value. It identifies the
// throw even if a compiler merged it with others. It is "" for texts of libraries, which are one word or the
// name of a function.
func ownWords(exception string, c *report.Crash) string {
	_, said, _ := strings.Cut(c.Message, "what():")
	if len(c.Thrown) > 0 && c.Thrown[0].What != nil {
		said = *c.Thrown[0].What
	}
	said = Mask(said)
	if strings.HasPrefix(exception, "std::bad_") || strings.Contains(said, "::") {
		return ""
	}
	// The program's constants tell which words are the author's.
	if len(c.Thrown) > 0 && c.Thrown[0].Template != "" {
		if words := strings.FieldsFunc(unquoted(c.Thrown[0].Template), func(r rune) bool { return !unicode.IsLetter(r) }); len(words) >= 2 {
			return strings.Join(words, " ")
		}
	}
	words := leading(said)
	if len(words) < 2 {
		return ""
	}
	return strings.Join(words, " ")
}

// unquoted leaves out of a text what is in quotation marks: those enclose values, also where a constant of the program happens to have the same. The second
// mark may be lost with the end of the text.
func unquoted(text string) string {
	for _, mark := range [...]string{"'", "\"", "`"} {
		for from := 0; ; {
			at := strings.Index(text[from:], mark) + from
			if at < from {
				break
			}
			if before, _ := utf8.DecodeLastRuneInString(text[:at]); unicode.IsLetter(before) { // an apostrophe
				from = at + len(mark)
				continue
			}
			_, after, _ := strings.Cut(text[at+len(mark):], mark)
			text = text[:at] + " " + after
			from = at
		}
	}
	return text
}

// leading returns the words of a masked text up to the first value.
func leading(said string) []string {
	if end := strings.IndexAny(said, ":'\"`([{<="); end >= 0 {
		said = said[:end]
	}
	words := strings.Fields(said)
	if i := slices.Index(words, "N"); i >= 0 {
		words = words[:i]
	}
	return words
}

// rustPlace returns where a Rust library panicked on behalf of the program: the file and the column. The line
// changes whenever something is added above it, the column does not.
func rustPlace(p *report.Panic) string {
	if p == nil || p.Runtime != report.RuntimeRust || p.File == "" || p.Column == 0 {
		return ""
	}
	return report.Clean(baseName(p.File)) + " column " + strconv.Itoa(p.Column)
}

// panicWords returns the first two words of a panic's text, if no value comes before: the place tells most panics apart. What the library says when it
// refuses something is known by the function that did, via.
func panicWords(p *report.Panic, via string) string {
	said := Mask(cmp.Or(p.Value, refusal(via)))
	if strings.HasPrefix(said, "called `") { // by the library, of unwrap
		said, value, _ := strings.Cut(said, ": ")
		if words := leading(value); len(words) > 0 && strings.HasSuffix(words[0], "Error") { // a type; what else begins the text of an error is one of its values
			said += ": " + words[0]
		}
		return ": " + said
	}
	for _, begins := range sliced.Get() { // one wrong range is refused for its start, its end or both, as its numbers happen to be
		if strings.HasPrefix(said, begins) {
			return ": range of a slice"
		}
	}
	words := leading(said)
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words[:min(len(words), 2)], " ")
}

// leastTold is how many letters the words have at least with which a function is told why to end the program.
const leastTold = 4

// toldWords returns the words with which the function was called that ended the program, or else those that it wrote right before, without values; "" if they are not known.
func toldWords(c *report.Crash) string {
	if c == nil {
		return ""
	}
	var out []string
	letters := 0
	for _, w := range strings.FieldsFunc(Mask(conversion.Get().ReplaceAllString(cmp.Or(c.Told, c.Printed), " ")), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if w != "N" { // a number
			out = append(out, w)
			letters += len(w)
		}
	}
	if letters < leastTold {
		return ""
	}
	return strings.Join(out, " ")
}

// conversion is one of a format of C.
var conversion = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`%[-+ #0'*\d.]*(?:hh|h|ll|l|j|z|t|L|q)?[a-zA-Z]`)
}}

// goText reports whether a panic of Go that the program raised has a text for its value. One place may raise errors of several types.
func goText(p *report.Panic) bool {
	return p != nil && p.Runtime == report.RuntimeGo && p.Type == "string"
}

// sliced is how the texts begin with which Rust's library refuses a range of a slice.
var sliced = lazy.Value[[]string]{Make: func() []string {
	return []string{"range start index", "range end index", "slice index starts at"}
}}

// refusal returns what a function of Rust's library says, or how it begins, for a report that has lost it; "" if that is not known.
func refusal(via string) string {
	switch {
	case strings.HasPrefix(via, "core::panicking::panic_const::panic_const_async") || strings.HasPrefix(via, "core::panicking::panic_const::panic_const_coroutine"):
	case strings.HasPrefix(via, "core::panicking::panic_const::"):
		return "attempt to"
	case via == "core::option::unwrap_failed":
		return "called `Option::unwrap()` on a `None` value"
	case via == "core::panicking::panic_bounds_check":
		return "index out of bounds"
	}
	return ""
}

// wordOf replaces the kind for a report that has none.
func wordOf(c *report.Crash) string {
	switch {
	case strings.HasPrefix(c.Reason, "stack overflow"):
		return report.CrashStackOverflow
	case c.Reason != "":
		return Mask(c.Reason)
	case c.Signal != "":
		return c.Signal
	case c.Exception != "":
		return c.Exception
	}
	return report.CrashUnknown
}

// condition returns the asserted condition: in glibc's messages it is quoted, after names that the stack has
// too.
func condition(message string) string {
	if from := strings.Index(message, "Assertion `"); from >= 0 {
		rest := message[from+len("Assertion `"):]
		if to := strings.LastIndexByte(rest, '\''); to > 0 {
			return rest[:to]
		}
	}
	return message
}

// asserting returns the function that a failed assertion names: the one in the source, whatever became of it in
// the compiler's output. It is "" if the assertion names none.
func asserting(a *report.Assertion) string {
	if a == nil {
		return ""
	}
	function, _, _ := strings.Cut(a.Function, " [") // "int f(T) [with T = int]"
	return home(Normalize(function))
}

// Mask removes from a text what differs between dumps: numbers become N, paths their last part. The result is
// at most a few hundred bytes long and safe to print.
func Mask(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < maxMessage; {
		j := i
		for j < len(s) && wordByte(s[j]) {
			j++
		}
		if j == i {
			if !strings.HasPrefix(s[i:], "  ") { // one space for many
				b.WriteByte(s[i])
			}
			i++
			continue
		}
		b.WriteString(maskWord(s[i:j]))
		i = j
	}
	out := strings.ToValidUTF8(strings.TrimSpace(b.String()), "?")
	return report.Clean(out[:min(len(out), 2*maxMessage)])
}

func wordByte(c byte) bool {
	return c == '_' || c == '/' || c == '\\' || c == '.' || c >= 0x80 ||
		c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// maskWord masks one word. It keeps names with numbers in them: "utf8_decode".
func maskWord(w string) string {
	if base := baseName(w); len(base) > 1 && base != w {
		return maskWord(base)
	}
	if hexWord(w) {
		return "N"
	}
	if c := w[0]; c >= '0' && c <= '9' {
		return "N" // "12", "3.5e4", "10ms"
	}
	return w
}

// hexWord reports whether w looks like an address or a hash written without 0x.
func hexWord(w string) bool {
	digits := 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return len(w) >= 8 && digits > 0
}
