package session

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// What expressions of languages have that paths do not know: signs before names of PHP and Perl, arrows, symbols of Ruby.

// unsigiled returns an expression of PHP with blanks for the $ of its variables, and dots for its arrows: $this->items[1].
func unsigiled(expr string) string {
	b := []byte(expr)
	quote := byte(0)
	for i, c := range b {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '$':
			b[i] = ' '
		case c == '-' && i+1 < len(b) && b[i+1] == '>':
			b[i], b[i+1] = ' ', '.'
		}
	}
	return string(b)
}

// ofPerl returns an expression of Perl without the signs of its variables and the arrows, and with keys in brackets: $self->{items}[1].
func ofPerl(expr string) string {
	var b strings.Builder
	quote, braces := byte(0), false
	for i := 0; i < len(expr); i++ {
		c := expr[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote = c
			b.WriteByte(c)
		case strings.IndexByte("$@%", c) >= 0 && i+1 < len(expr) && nameByte(expr[i+1]) && (i == 0 || !nameByte(expr[i-1])):
		case c == '-' && i+1 < len(expr) && expr[i+1] == '>':
			i++
		case c == '{':
			b.WriteByte('[')
			n := 0
			for i+1+n < len(expr) && nameByte(expr[i+1+n]) {
				n++
			}
			if n > 0 && i+1+n < len(expr) && expr[i+1+n] == '}' { // a word is a key as it is
				fmt.Fprintf(&b, "%q]", expr[i+1:i+1+n])
				i += n + 1
				continue
			}
			braces = true
		case c == '}' && braces:
			b.WriteByte(']')
			braces = false
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// What ofRuby replaces.
var (
	symbols = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`\[:([A-Za-z_]\w*[?!]?)\]`) }}
	ofSelf  = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`(^|[^\w@"'.])@([A-Za-z_]\w*)`) }}
)

// instanceVariable stands for the @ of a variable of an object of Ruby.
const instanceVariable = "__at_"

// ofRuby returns an expression of Ruby with symbols that are keys as texts, h[:name], and with variables of self as its attributes, @name.
func ofRuby(expr string) string {
	expr = symbols.Get().ReplaceAllString(expr, `[":$1"]`)
	return ofSelf.Get().ReplaceAllString(expr, "${1}self."+instanceVariable+"${2}")
}

// nameByte reports whether a byte may be in a name.
func nameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// find returns the variable of a name; nil if there is none.
func (r *variables) find(name string) *report.Variable {
	for _, list := range [...][]report.Variable{r.args, r.locals} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// variable returns the variable of a name, which of Perl is without its sign.
func (w follower) variable(read *variables, name string) (*report.Variable, error) {
	if v := read.find(name); v != nil {
		return v, nil
	}
	var found *report.Variable
	if w.f.language() == "perl" {
		for _, sign := range [...]string{"$", "@", "%"} {
			v := read.find(sign + name)
			if v != nil && found != nil {
				return nil, fmt.Errorf("%s and %s are variables: only the whole of such can be asked for", found.Name, v.Name)
			}
			if v != nil {
				found = v
			}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no variable is called %s", name)
	}
	return found, nil
}
