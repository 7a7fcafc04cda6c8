package shell

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// formats are gdb's letters for values, and r, which is for the members of library types: what they mean is shown without asking, too.
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
	format, expr := cutFormat(args)
	for strings.HasPrefix(expr, "-") && !strings.HasPrefix(expr, "--") { // print -pretty -- x
		option, rest, ok := strings.Cut(expr, " -- ")
		if !ok {
			break
		}
		if err := sh.set(ctx, "print "+strings.ReplaceAll(strings.TrimPrefix(option, "-"), " -", " ")); err != nil {
			return err
		}
		expr = rest
	}
	if strings.TrimSpace(expr) == "" {
		return errors.New("an expression is missing: p q->head")
	}
	v, err := sh.value(ctx, expr)
	if err != nil {
		return err
	}
	text, err := sh.valueText(ctx, &v, format)
	if err != nil {
		return err
	}
	if end == "" {
		return sh.printf("%s", text)
	}
	sh.remember(&v)
	return sh.printf("$%d = %s%s", sh.printed, text, end)
}

// maxHistory is how many values are kept that were printed: the oldest are forgotten.
const maxHistory = 1000

// remember keeps a value that is printed, as $N.
func (sh *Shell) remember(v *session.Variable) {
	if len(sh.history) >= maxHistory {
		sh.history = append(sh.history[:0:0], sh.history[maxHistory/4:]...)
	}
	sh.printed++
	sh.history = append(sh.history, *v)
}

// convenience is what "$" and a name stand for: $ and $$ are the last values that were printed, $1 the first, $$2 the last but two, $name what set made it.
func (sh *Shell) convenience(name string) (session.Variable, bool) {
	back := 0 // from the last
	switch {
	case name == "":
	case name[0] == '$':
		back = 1
		if name != "$" {
			n, err := strconv.Atoi(name[1:])
			if err != nil {
				return session.Variable{}, false
			}
			back = n
		}
	case name[0] >= '0' && name[0] <= '9':
		n, err := strconv.Atoi(name)
		if err != nil || n < 1 {
			return session.Variable{}, false
		}
		back = sh.printed - n
	default:
		v, ok := sh.made[name]
		return v, ok
	}
	at := len(sh.history) - 1 - back
	if back < 0 || at < 0 {
		return session.Variable{}, false
	}
	return sh.history[at], true
}

// maxVariables is how many variables set makes.
const maxVariables = 1000

// assign is set $NAME = EXPR, which changes nothing of the process.
func (sh *Shell) assign(ctx context.Context, name, expr string) error {
	name = strings.TrimSpace(name)
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" || name[0] >= '0' && name[0] <= '9' {
		return fmt.Errorf("$%s is no name for a variable", name)
	}
	if _, ok := sh.s.Target().ProcessState().Arch().RegByName(name); ok || name == "pc" || name == "sp" || name == "fp" {
		return fmt.Errorf("$%s is a register of the process, which is only read", name)
	}
	v, err := sh.value(ctx, strings.TrimSpace(expr))
	if err != nil {
		return err
	}
	if sh.made == nil {
		sh.made = map[string]session.Variable{}
	}
	if _, ok := sh.made[name]; !ok && len(sh.made) >= maxVariables {
		return fmt.Errorf("there are %d variables: no more are made", maxVariables)
	}
	sh.made[name] = v
	return nil
}

// value evaluates an expression in the frame.
func (sh *Shell) value(ctx context.Context, expr string) (session.Variable, error) {
	f, err := sh.current()
	if err != nil {
		return session.Variable{}, err
	}
	return sh.s.Evaluate(ctx, f.ID, expr, sh.convenience)
}

// valueText is a value in a format.
func (sh *Shell) valueText(ctx context.Context, v *session.Variable, format string) (string, error) {
	if v.Status != report.StatusSuccess {
		return text(v), nil
	}
	switch {
	case len(format) > 1 || format != "" && !strings.Contains(formats, format):
		return "", fmt.Errorf("the format /%s is not known; one of %s", format, strings.Join(strings.Split(formats, ""), " "))
	case format != "" && format != "r" && format != "s":
		return sh.inFormat(ctx, v, format[0], 0)
	case sh.settings.pretty && v.Ref != 0 && v.Kind != "pointer":
		r, err := sh.s.Report(ctx, *v)
		if err == nil && r.Data != nil && len(r.Data.Children) > 0 {
			var b strings.Builder
			pretty(&b, r.Data, 0)
			return clean(b.String()) + v.Whose(), nil
		}
	case v.Kind == "pointer" && v.Type != "":
		return fmt.Sprintf("(%s) %s", report.Clean(v.Type), text(v)), nil
	}
	return text(v), nil
}

// maxFormatted is how many parts of a value are written in a format.
const maxFormatted = 200

// maxFormatDepth is how deep they nest.
const maxFormatDepth = 8

// inFormat writes a value in a format of gdb's, and the parts of an array or a structure each by itself.
func (sh *Shell) inFormat(ctx context.Context, v *session.Variable, format byte, depth int) (string, error) {
	whole := v.Kind == "array" || v.Kind == "struct" || v.Kind == "union" || v.Kind == "sequence" || v.Kind == "map" || v.Kind == "string"
	switch {
	case v.Kind == "string" && v.HasAddress && strings.Contains(v.Type, "["):
		return sh.characters(ctx, v, format)
	case !whole:
		return sh.number(ctx, v, format)
	case v.Ref == 0:
		return text(v), nil // it has no parts
	}
	if depth > maxFormatDepth {
		return "{...}", nil
	}
	list, more, err := sh.s.Children(ctx, v.Ref, 0, maxFormatted)
	if err != nil {
		return "", err
	}
	var parts []string
	for i := range list {
		c := &list[i]
		part := text(c)
		if c.Status == report.StatusSuccess {
			if s, err := sh.inFormat(ctx, c, format, depth+1); err == nil {
				part = s
			}
		}
		if !strings.HasPrefix(c.Name, "[") || v.Kind == "map" {
			part = report.Clean(c.Name) + " = " + part
		}
		parts = append(parts, part)
	}
	if more {
		parts = append(parts, "...")
	}
	return "{" + strings.Join(repeated(parts), ", ") + "}" + v.Whose(), nil
}

// characters writes each of the bytes of an array of characters.
func (sh *Shell) characters(ctx context.Context, v *session.Variable, format byte) (string, error) {
	b, err := sh.s.ReadMemory(ctx, v.Address, int(min(v.Size, maxFormatted)))
	if err != nil {
		return "", err
	}
	var parts []string
	for _, c := range b {
		parts = append(parts, sh.inUnit(ctx, uint64(c), 1, format, true, ""))
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
	order := sh.s.Target().ProcessState().Arch().ByteOrder
	size := int(v.Size)
	n, known := uint64(0), false
	if v.Kind == "int" { // of a bit-field the memory has more
		if i, err := strconv.ParseInt(v.Value, 10, 64); err == nil {
			n, known = uint64(i), true
		} else if u, err := strconv.ParseUint(v.Value, 10, 64); err == nil {
			n, known = u, true
		}
	}
	if known && (size == 0 || size > 8) {
		size = 8
	}
	if !known && v.HasAddress && (size == 1 || size == 2 || size == 4 || size == 8) {
		if b, err := sh.s.ReadMemory(ctx, v.Address, size); err == nil && len(b) == size {
			switch size {
			case 1:
				n = uint64(b[0])
			case 2:
				n = uint64(order.Uint16(b))
			case 4:
				n = uint64(order.Uint32(b))
			case 8:
				n = order.Uint64(b)
			}
			known = true
		}
	}
	if v.Kind == "float" && format != 'f' {
		if f, err := strconv.ParseFloat(v.Value, 64); err == nil && math.Abs(f) < math.MaxInt64 { // as gdb: the whole number, not the bits
			return sh.inUnit(ctx, uint64(int64(f)), 8, format, true, "int"), nil
		}
	}
	if !known {
		if v.Expression == "" {
			return text(v), nil
		}
		got, err := sh.s.Address(ctx, sh.frame.ID, v.Expression, sh.convenience)
		if err != nil {
			if format == 'f' {
				return text(v), nil
			}
			return "", err
		}
		if n = got; size == 0 || size > 8 {
			size = 8
		}
	}
	signed := !strings.HasPrefix(v.Type, "unsigned") && v.Kind != "pointer" && v.Kind != "bool"
	return sh.inUnit(ctx, n, size, format, signed, v.Kind), nil
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

// clean is report.Clean of each line of a text.
func clean(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = report.Clean(lines[i])
	}
	return strings.Join(lines, "\n")
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
	n, err := sh.s.Address(ctx, f.ID, expr, sh.convenience)
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

// ptype writes what a type is made of.
func (sh *Shell) ptype(ctx context.Context, args string) error {
	flags, text := cutFormat(args)
	layout := dwarfvars.Layout{Methods: true}
	for _, c := range flags {
		switch c {
		case 'o':
			layout.Offsets = true
		case 'm':
			layout.Methods = false
		case 't', 'r', 'x', 'd':
		default:
			return fmt.Errorf("ptype/%c is not known; ptype/o shows offsets and holes, /m leaves methods out", c)
		}
	}
	t, err := sh.typeOf(ctx, text)
	if err != nil {
		return err
	}
	lines := t.Definition(layout)
	if layout.Offsets {
		layout.Methods = false
		lines = t.Definition(layout)
	}
	if layout.Offsets && len(lines) > 1 {
		if err := sh.printf("/* offset | size */\n"); err != nil {
			return err
		}
	}
	for i, line := range lines {
		if i == 0 {
			at := len(line) - len(strings.TrimLeft(line, " "))
			line = line[:at] + "type = " + line[at:]
		}
		if err := sh.printf("%s\n", report.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}

// whatis writes the name of a type.
func (sh *Shell) whatis(ctx context.Context, text string) error {
	if f, err := sh.current(); err == nil && text != "" {
		if v, err := sh.s.Evaluate(ctx, f.ID, text, sh.convenience); err == nil && v.Type != "" {
			return sh.printf("type = %s\n", report.Clean(v.Type))
		}
	}
	t, err := sh.typeOf(ctx, text)
	if err != nil {
		return err
	}
	return sh.printf("type = %s\n", report.Clean(t.Aliased().Name()))
}

func (sh *Shell) typeOf(ctx context.Context, text string) (t dwarfvars.Type, err error) {
	if text == "" {
		return t, errors.New("a type or an expression is missing: ptype struct tile, ptype q->head")
	}
	f, err := sh.current()
	if err != nil {
		return t, err
	}
	return sh.s.TypeOf(ctx, f.ID, text)
}

// display shows an expression now and after each change of the frame.
func (sh *Shell) display(ctx context.Context, args string) error {
	if args == "" {
		return sh.displays(ctx)
	}
	if len(sh.displayed) >= maxDisplays {
		return fmt.Errorf("%d expressions are displayed: undisplay N takes one away", maxDisplays)
	}
	if err := sh.shown(ctx, sh.nextDisplay+1, args); err != nil {
		return err
	}
	sh.nextDisplay++
	sh.displayed = append(sh.displayed, displayed{sh.nextDisplay, args})
	return nil
}

const maxDisplays = 50

// A displayed expression has a number.
type displayed struct {
	n    int
	expr string
}

// shown writes one displayed expression.
func (sh *Shell) shown(ctx context.Context, n int, args string) error {
	format, expr := cutFormat(args)
	if format != "" && (len(format) > 1 || strings.ContainsAny(format, "si")) {
		if err := sh.printf("%d: x/%s %s\n", n, format, expr); err != nil {
			return err
		}
		return sh.examine(ctx, "/"+format+" "+expr)
	}
	v, err := sh.value(ctx, expr)
	if err != nil {
		return err
	}
	s, err := sh.valueText(ctx, &v, format)
	if err != nil {
		return err
	}
	return sh.printf("%d: %s = %s\n", n, report.Clean(expr), s)
}

func (sh *Shell) displays(ctx context.Context) error {
	for _, d := range sh.displayed {
		if err := sh.shown(ctx, d.n, d.expr); err != nil && context.Cause(ctx) != nil {
			return err
		}
	}
	return nil
}

func (sh *Shell) undisplay(_ context.Context, args string) error {
	if args == "" {
		sh.displayed = nil
		return nil
	}
	for word := range strings.FieldsSeq(args) {
		n, err := number(word, 0)
		if err != nil {
			return err
		}
		found := false
		for i := range sh.displayed {
			if sh.displayed[i].n == n {
				sh.displayed, found = append(sh.displayed[:i], sh.displayed[i+1:]...), true
				break
			}
		}
		if !found {
			return fmt.Errorf("no expression with the number %d is displayed", n)
		}
	}
	return nil
}
