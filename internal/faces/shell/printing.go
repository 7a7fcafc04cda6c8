package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// formats are gdb's letters for values, and r, which shows the members that library types have.
const formats = "xduotzcafsr"

// cutFormat takes "/x" from the front of arguments.
func cutFormat(args string) (format, rest string) {
	if !strings.HasPrefix(args, "/") {
		return "", args
	}
	format, rest, _ = strings.Cut(args[1:], " ")
	return format, strings.TrimSpace(rest)
}

func (sh *Shell) print(ctx context.Context, args string) error {
	return sh.printValue(ctx, args, "\n")
}

// output is print without the end of the line.
func (sh *Shell) output(ctx context.Context, args string) error {
	return sh.printValue(ctx, args, "")
}

func (sh *Shell) printValue(ctx context.Context, args, end string) error {
	before := sh.settings
	defer func() { // what print's own options ask for is for this value alone
		sh.settings.object = before.object
		if sh.settings.pretty = before.pretty; sh.settings.values != before.values {
			sh.applyValues(before.values)
		}
	}()
	args, err := sh.options(args)
	if err != nil {
		return err
	}
	format, expr := cutFormat(args)
	if raw := sh.settings.values; strings.Contains(format, "r") { // the members of a library's type, as it has them
		format, raw.Raw = strings.ReplaceAll(format, "r", ""), true
		sh.applyValues(raw)
	}
	if strings.TrimSpace(expr) == "" && len(sh.history) > 0 && end != "" { // the last one again
		expr = "$"
	}
	if strings.TrimSpace(expr) == "" {
		return errors.New("an expression is missing: p q->head")
	}
	v, err := sh.value(ctx, expr)
	if err != nil {
		return err
	}
	if sh.settings.object {
		if of, ok, err := sh.s.MostDerived(ctx, sh.frame.ID, v); err == nil && ok {
			v = of
		}
	}
	text, err := sh.valueText(ctx, &v, format)
	if err != nil {
		return err
	}
	if format == "" {
		text = sh.plain(text)
	}
	if end == "" {
		return sh.printf("%s", text)
	}
	sh.remember(&v)
	return sh.printf("$%d = %s%s", sh.printed, text, end)
}

// options obeys the options of print before two dashes: -elements 3 -pretty -- EXPR. It returns what follows them.
func (sh *Shell) options(args string) (rest string, err error) {
	if !strings.HasPrefix(args, "-") || strings.HasPrefix(args, "--") {
		return strings.TrimSpace(strings.TrimPrefix(args, "-- ")), nil
	}
	list, rest, ok := strings.Cut(args, " -- ")
	if !ok {
		return args, nil // an expression that begins with a minus
	}
	words := strings.Fields(list)
	for i := 0; i < len(words); i++ {
		name, ok := strings.CutPrefix(words[i], "-")
		if !ok {
			return "", fmt.Errorf("print: %q is no option", words[i])
		}
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			name += " " + words[i]
		}
		if _, err := sh.setPrint(name); err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(rest), nil
}

// value evaluates an expression in the frame.
func (sh *Shell) value(ctx context.Context, expr string) (session.Variable, error) {
	f, err := sh.current()
	if err != nil {
		return session.Variable{}, err
	}
	return sh.s.Evaluate(ctx, f.ID, expr, sh.dollars(ctx, expr))
}

// valueText is a value in a format.
func (sh *Shell) valueText(ctx context.Context, v *session.Variable, format string) (string, error) {
	if v.Status != report.StatusSuccess {
		return text(v), nil
	}
	if format == "" && sh.settings.radix != 0 {
		left := maxFormatted
		if s, err := sh.inFormat(ctx, v, sh.inRadix()[0], 0, &left); err == nil {
			if v.Kind == "pointer" && v.Type != "" && !strings.HasPrefix(v.Value, v.Type+" ") {
				s = "(" + report.Clean(v.Type) + ") " + s
			}
			return s, nil
		}
	}
	switch {
	case len(format) > 1 || format != "" && !strings.Contains(formats, format):
		return "", fmt.Errorf("the format /%s is not known; one of %s", format, strings.Join(strings.Split(formats, ""), " "))
	case format != "" && format != "s":
		left := maxFormatted
		return sh.inFormat(ctx, v, format[0], 0, &left)
	case sh.settings.pretty && v.Ref != 0 && v.Kind != "pointer":
		r, err := sh.s.Report(ctx, *v)
		if err == nil && r.Data != nil && len(r.Data.Children) > 0 {
			var b strings.Builder
			pretty(&b, r.Data, 0)
			return clean(b.String()) + v.Whose(), nil
		}
	case v.Kind == "pointer" && v.Type != "" && !strings.HasPrefix(v.Value, v.Type+" "):
		return fmt.Sprintf("(%s) %s", report.Clean(v.Type), text(v)), nil
	}
	return text(v), nil
}

// unsigned reports whether the name of a type is that of a number without a sign, in any language.
func unsigned(name string) bool {
	switch name {
	case "byte", "ubyte", "ushort", "uint", "ulong", "usize", "uintptr", "size_t":
		return true
	}
	digits := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "u"), "int"), "_t")
	if strings.HasPrefix(name, "u") && digits != "" && strings.Trim(digits, "0123456789") == "" { // u8, uint8, uint8_t
		return true
	}
	return strings.HasPrefix(name, "unsigned") || strings.Contains(name, " unsigned ")
}

// maxFormatted is how many parts of a value are written in a format, those of its parts among them.
const maxFormatted = 1000

// maxFormatDepth is how deep they nest.
const maxFormatDepth = 8

// inFormat writes a value in a format of gdb's, and the parts of an array or a structure each by itself.
func (sh *Shell) inFormat(ctx context.Context, v *session.Variable, format byte, depth int, left *int) (string, error) {
	inRadix := format == radixHex[0] || format == radixOctal[0]
	whole := v.Kind == "array" || v.Kind == "struct" || v.Kind == "union" || v.Kind == "sequence" || v.Kind == "map" || v.Kind == "string"
	switch {
	case (v.Kind == "string" || v.Kind == "array" && v.Ref == 0 && strings.HasPrefix(strings.TrimLeft(v.Value, `LuU`), `"`) || v.Kind == "array" && v.Ref == 0 && strings.HasPrefix(v.Value, "'")) && v.HasAddress && strings.Contains(v.Type, "["):
		if inRadix {
			return text(v), nil
		}
		return sh.characters(ctx, v, format, left)
	case inRadix && !whole && v.Kind != "reference":
		if v.Kind == "int" || v.Kind == "char" {
			return sh.number(ctx, v, format|0x20)
		}
		return text(v), nil
	case v.Kind == "reference" && v.Ref != 0: // the parts are those of what it refers to
	case !whole:
		return sh.number(ctx, v, format)
	case v.Ref == 0:
		return text(v), nil // it has no parts
	}
	if depth > maxFormatDepth || *left <= 0 {
		return "{...}", nil
	}
	list, more, err := sh.s.Children(ctx, v.Ref, 0, *left)
	if err != nil {
		return "", err
	}
	if v.Kind == "reference" && len(list) == 1 && list[0].Name == "*" { // to a number
		if inRadix {
			s, err := sh.inFormat(ctx, &list[0], format, depth+1, left)
			return referred(v) + s, err
		}
		return sh.number(ctx, v, format)
	}
	var parts []string
	tuple := len(list) > 0
	for i := range list {
		tuple = tuple && list[i].Name == strconv.Itoa(i)
	}
	for i := range list {
		c := &list[i]
		if *left--; *left < 0 {
			more = true
			break
		}
		part := text(c)
		if c.Status == report.StatusSuccess {
			s, err := sh.inFormat(ctx, c, format, depth+1, left)
			if context.Cause(ctx) != nil {
				return "", err
			}
			if err == nil {
				part = s
			}
		}
		switch {
		case c.Name == "{...}" || tuple:
		case !strings.HasPrefix(c.Name, "[") || v.Kind == "map":
			part = report.Clean(c.Name) + " = " + part
		}
		parts = append(parts, part)
	}
	if more {
		parts = append(parts, "...")
	}
	open, end := referred(v)+"{", "}"
	if tuple {
		open, end = referred(v)+"(", ")"
	}
	if (v.Kind == "array" || v.Kind == "sequence") && strings.HasSuffix(v.Value, "]") { // as Rust writes them
		open, end = "[", "]"
	}
	return open + strings.Join(repeated(parts), ", ") + end + v.Whose(), nil
}

// characters writes each of the bytes of an array of characters.
func (sh *Shell) characters(ctx context.Context, v *session.Variable, format byte, left *int) (string, error) {
	b, err := sh.s.ReadMemory(ctx, v.Address, int(min(v.Size, uint64(max(*left, 0)))))
	if err != nil {
		return "", err
	}
	*left -= len(b)
	elem, _, _ := strings.Cut(v.Type, " [")
	var parts []string
	for _, c := range b {
		parts = append(parts, sh.inUnit(ctx, uint64(c), 1, format, !unsigned(elem), ""))
	}
	if v.Size > uint64(len(b)) {
		parts = append(parts, "...")
	}
	return "{" + strings.Join(repeated(parts), ", ") + "}" + v.Whose(), nil
}

// repeatedFrom is how many equal elements one after the other are written as one, as gdb does.
const repeatedFrom = 10

func repeated(parts []string) (out []string) {
	for i := 0; i < len(parts); {
		n := 1
		for i+n < len(parts) && parts[i+n] == parts[i] {
			n++
		}
		if n > repeatedFrom && !strings.Contains(parts[i], " = ") {
			out = append(out, fmt.Sprintf("%s <repeats %d times>", parts[i], n))
			i += n
			continue
		}
		out = append(out, parts[i])
		i++
	}
	return out
}

// number writes a number, or the bytes of one, in a format.
func (sh *Shell) number(ctx context.Context, v *session.Variable, format byte) (string, error) {
	at := referred(v)
	if n, ok := new(big.Int).SetString(v.Value, 10); v.Kind == "int" && ok && v.Size > 8 {
		return wide(n, int(v.Size), format)
	}
	if v.Kind == "float" && format == 'f' {
		return text(v), nil
	}
	if f, err := strconv.ParseFloat(v.Value, 64); v.Kind == "float" && err == nil && (format == 'c' || format == 'a') && math.Abs(f) < 1<<63 { // of its integer, as in gdb
		return at + sh.inUnit(ctx, uint64(int64(f)), 8, format, true, "int"), nil
	}
	n, size, err := sh.s.Bits(ctx, *v)
	switch u, failed := strconv.ParseUint(v.Value, 0, 64); {
	case err == nil:
	case v.Kind == "int" && failed == nil: // of a register
		n, size = u, uint64(sh.s.Target().ProcessState().Arch().WordSize)
	case v.Kind == "int" || v.Kind == "float" || v.Expression == "":
		if v.Kind == "float" {
			return "", err
		}
		return text(v), nil
	default:
		if n, err = sh.s.Address(ctx, sh.frame.ID, v.Expression, sh.dollars(ctx, v.Expression)); err != nil {
			if format == 'f' {
				return text(v), nil
			}
			return "", err
		}
		size = 8
	}
	if size == 0 || size > 8 {
		size = 8
	}
	signed := !unsigned(v.Type) && v.Kind != "pointer" && v.Kind != "bool" && !(v.Kind == "char" && size == 4)
	return at + sh.inUnit(ctx, n, int(size), format, signed, v.Kind), nil
}

// referred is the beginning of a reference's value, which tells the address of what it refers to: "@0x7ffd1230: ".
func referred(v *session.Variable) string {
	at, _, ok := strings.Cut(v.Value, ": ")
	if v.Kind != "reference" || !ok || !strings.HasPrefix(at, "@") {
		return ""
	}
	return at + ": "
}

// wide writes a number of more than 64 bits in a format.
func wide(n *big.Int, size int, format byte) (string, error) {
	bits := new(big.Int).Set(n)
	if n.Sign() < 0 {
		bits.Add(bits, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	switch format {
	case 'x', 'a':
		return fmt.Sprintf("%#x", bits), nil
	case 'z':
		return fmt.Sprintf("0x%0*x", 2*size, bits), nil
	case 't':
		return bits.Text(2), nil
	case 'o':
		return "0" + bits.Text(8), nil
	case 'u':
		return bits.String(), nil
	}
	return n.String(), nil
}

// inUnit writes n, of size bytes, in a format.
func (sh *Shell) inUnit(ctx context.Context, n uint64, size int, format byte, signed bool, kind string) string {
	if size < 8 {
		n &= 1<<(8*size) - 1
	}
	extended := int64(n<<(64-8*size)) >> (64 - 8*size)
	switch format {
	case 'x':
		return fmt.Sprintf("%#x", n)
	case 'z':
		return fmt.Sprintf("0x%0*x", 2*size, n)
	case 'd':
		return strconv.FormatInt(extended, 10)
	case 'u':
		return strconv.FormatUint(n, 10)
	case 't':
		return strconv.FormatUint(n, 2)
	case 'o':
		if n == 0 {
			return "0"
		}
		return "0" + strconv.FormatUint(n, 8)
	case 'c':
		c := byte(n)
		if signed {
			return fmt.Sprintf("%d %s", int8(c), quoteChar(c))
		}
		return fmt.Sprintf("%d %s", c, quoteChar(c))
	case 'a':
		if signed {
			n = uint64(extended)
		}
		return sh.symbolic(ctx, n)
	case 'f':
		switch {
		case size == 8:
			return strconv.FormatFloat(math.Float64frombits(n), 'g', -1, 64)
		case size == 4:
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(n))), 'g', -1, 32)
		}
	}
	if kind == "bool" {
		return strconv.FormatBool(n != 0)
	}
	if !signed {
		return strconv.FormatUint(n, 10)
	}
	return strconv.FormatInt(extended, 10)
}

// quoteChar writes a byte as C does: 'a', '\n', '\000'.
func quoteChar(c byte) string {
	switch {
	case c == '\'' || c == '\\':
		return `'\` + string(c) + `'`
	case c >= 0x20 && c < 0x7f:
		return "'" + string(c) + "'"
	}
	if i := strings.IndexByte("\a\b\t\n\v\f\r", c); i >= 0 {
		return `'\` + "abtnvfr"[i:i+1] + "'"
	}
	return fmt.Sprintf(`'\%03o'`, c)
}

// symbolic writes an address, and what it is in a function or a variable.
func (sh *Shell) symbolic(ctx context.Context, n uint64) string {
	p, err := sh.s.At(ctx, n)
	switch {
	case err == nil && p.Function != "":
		return report.Clean(fmt.Sprintf("%#x <%s+%d>", n, p.Function, p.FunctionOffset))
	case err == nil && p.Variable != "" && p.Thread == 0:
		return report.Clean(fmt.Sprintf("%#x <%s>", n, p.Variable))
	}
	return fmt.Sprintf("%#x", n)
}

// pretty writes a tree with a line for each member.
func pretty(b *strings.Builder, d *report.Data, depth int) {
	if d.Error != "" {
		b.WriteString("<" + d.Error + ">")
		return
	}
	b.WriteString(d.Text)
	if len(d.Children) == 0 {
		return
	}
	if d.Text != "" {
		b.WriteByte(' ')
	}
	flat := true // an array of numbers stands in one line
	for i := range d.Children {
		c := &d.Children[i]
		flat = flat && c.Name == "" && c.Key == nil && len(c.Data.Children) == 0
	}
	in := "\n" + strings.Repeat("  ", depth+1)
	b.WriteByte('{')
	for i := range d.Children {
		c := &d.Children[i]
		switch {
		case flat && i > 0:
			b.WriteString(", ")
		case !flat:
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(in)
		}
		switch {
		case c.Key != nil:
			b.WriteByte('[')
			pretty(b, c.Key, depth+1)
			b.WriteString("] = ")
		case c.Name != "":
			b.WriteString(c.Name + " = ")
		}
		pretty(b, &c.Data, depth+1)
		if c.Repeat > 1 {
			fmt.Fprintf(b, " <repeats %d times>", c.Repeat)
		}
	}
	if d.Truncated {
		b.WriteString(", ...")
	}
	if !flat {
		b.WriteString("\n" + strings.Repeat("  ", depth))
	}
	b.WriteByte('}')
}

// clean is report.Clean of each line of a text.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = report.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
