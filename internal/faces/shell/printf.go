package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// printFormatted is printf.
func (sh *Shell) printFormatted(ctx context.Context, args string) error {
	format, rest, err := quotedText(args)
	if err != nil {
		return err
	}
	var exprs []string
	if rest = strings.TrimSpace(rest); rest != "" {
		if rest[0] != ',' {
			return fmt.Errorf("printf \"FORMAT\", EXPR, ...: a comma is expected before %q", rest)
		}
		exprs = splitComma(rest[1:])
	}
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out.WriteByte(format[i])
			continue
		}
		from := i
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0; i++ {
		}
		flags := format[from:i]
		for ; i < len(format) && strings.IndexByte("hlLzjt", format[i]) >= 0; i++ {
		}
		if i == len(format) {
			return fmt.Errorf("the format ends in %q", format[from:])
		}
		if format[i] == '%' {
			out.WriteByte('%')
			continue
		}
		if len(exprs) == 0 {
			return errors.New("printf: the format asks for more values than there are")
		}
		if err := sh.directive(ctx, &out, flags, format[i], strings.Contains(format[from:i], "l"), strings.TrimSpace(exprs[0])); err != nil {
			return err
		}
		exprs = exprs[1:]
	}
	if len(exprs) > 0 {
		return fmt.Errorf("printf: the format leaves out %q", strings.TrimSpace(exprs[0]))
	}
	return sh.printf("%s", clean(out.String()))
}

// directive writes one value of printf. Widths are bounded, as Go's fmt bounds them.
func (sh *Shell) directive(ctx context.Context, out *strings.Builder, flags string, verb byte, long bool, expr string) error {
	v, err := sh.value(ctx, expr)
	if err != nil {
		return err
	}
	if v.Status != report.StatusSuccess {
		return fmt.Errorf("%s: %s", expr, v.Reason)
	}
	switch verb {
	case 's':
		s := v.Value
		if i := strings.IndexByte(s, '"'); i >= 0 {
			if u, err := strconv.Unquote(s[i:]); err == nil {
				s = u
			}
		}
		fmt.Fprintf(out, flags+"s", s)
		return nil
	case 'f', 'g', 'e', 'G', 'E':
		if verb|0x20 == 'g' && !strings.Contains(flags, ".") { // as C does
			flags += ".6"
		}
		f, err := strconv.ParseFloat(v.Value, 64)
		if err != nil {
			return fmt.Errorf("%s is no floating-point number", expr)
		}
		fmt.Fprintf(out, flags+string(verb), f)
		return nil
	}
	f, err := sh.current()
	if err != nil {
		return err
	}
	n, err := sh.s.Address(ctx, f.ID, expr, sh.dollars(ctx, expr))
	if err != nil {
		return err
	}
	if !long && v.Size <= 4 && verb != 'p' {
		n = uint64(int64(int32(n)))
	}
	switch verb {
	case 'd', 'i':
		fmt.Fprintf(out, flags+"d", int64(n))
	case 'u', 'x', 'X', 'o':
		if !long && v.Size <= 4 {
			n &= math.MaxUint32
		}
		if verb == 'u' {
			verb = 'd'
		}
		fmt.Fprintf(out, flags+string(verb), n)
	case 'c':
		out.WriteByte(byte(n))
	case 'p', 'a':
		fmt.Fprintf(out, "%#x", n)
	default:
		return fmt.Errorf("printf: %%%c is not known", verb)
	}
	return nil
}

// quotedText takes a string in quotes from the front of arguments.
func quotedText(args string) (text, rest string, err error) {
	if !strings.HasPrefix(args, `"`) {
		return "", "", errors.New(`printf "FORMAT", EXPR, ...: the format is missing`)
	}
	for i := 1; i < len(args); i++ {
		switch args[i] {
		case '\\':
			i++
		case '"':
			text, err := strconv.Unquote(args[:i+1])
			if err != nil {
				return "", "", fmt.Errorf("the format %s is no string of C", args[:i+1])
			}
			return text, args[i+1:], nil
		}
	}
	return "", "", errors.New("the format has no end")
}

// splitComma parts expressions at commas that are not in brackets or quotes.
func splitComma(s string) (out []string) {
	depth, from := 0, 0
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth <= 0:
			out = append(out, s[from:i])
			from = i + 1
		}
	}
	return append(out, s[from:])
}
