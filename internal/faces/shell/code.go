package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// codeOptions are those of disassemble.
type codeOptions struct {
	bytes, lines bool
	here         uint64 // the instruction with the arrow; 0 for none
}

// maxCode is how many instructions of a function are shown.
const maxCode = 4096

// disassemble writes the instructions of a function, or of a range: [/rsm] [FUNCTION|ADDRESS|START,END|START,+LENGTH].
func (sh *Shell) disassemble(ctx context.Context, args string) error {
	flags, args := cutFormat(args)
	var o codeOptions
	for _, c := range flags {
		switch c {
		case 'r', 'b':
			o.bytes = true
		case 's', 'm':
			o.lines = true
		default:
			return fmt.Errorf("disassemble/%c is not known: /r shows the bytes, /s the source", c)
		}
	}
	f, err := sh.current()
	if err == nil {
		o.here = uint64(f.PC)
	}
	from, to := uint64(0), uint64(0)
	switch start, end, isRange := strings.Cut(args, ","); {
	case args == "":
		if err != nil {
			return err
		}
		if from, to, err = sh.bounds(ctx, o.here); err != nil {
			return err
		}
	case isRange:
		if from, err = sh.location(ctx, strings.TrimSpace(start)); err != nil {
			return err
		}
		length, plus := strings.CutPrefix(strings.TrimSpace(end), "+")
		if to, err = sh.location(ctx, length); err != nil {
			return err
		}
		if plus {
			to += from
		}
	default:
		at, err := sh.location(ctx, args)
		if err != nil {
			return err
		}
		if from, to, err = sh.bounds(ctx, at); err != nil {
			return err
		}
	}
	if to <= from {
		return fmt.Errorf("the range ends at %#x, before it begins at %#x", to, from)
	}
	list, err := sh.s.Disassemble(ctx, from, 0, int(min(to-from, maxCode)))
	if err != nil {
		return err
	}
	end := len(list)
	for end > 0 && uint64(list[end-1].Address) >= to {
		end--
	}
	if err := sh.instructions(list[:end], o); err != nil {
		return err
	}
	if end > 0 && end == len(list) && end == maxCode {
		next := uint64(list[end-1].Address) + uint64(len(list[end-1].Bytes)/2)
		return sh.printf("  (more follow: disassemble %#x,%#x)\n", next, to)
	}
	return nil
}

// codeAround is how many bytes are shown of code that no function is known to have.
const codeAround = 64

// bounds are those of the function around an address.
func (sh *Shell) bounds(ctx context.Context, at uint64) (from, to uint64, err error) {
	f, err := sh.s.FunctionAt(ctx, at)
	switch {
	case err == nil && f.Size > 0 && at-uint64(f.Address) < f.Size:
		return uint64(f.Address), uint64(f.Address) + f.Size, nil
	case err == nil && uint64(f.Address) <= at && at-uint64(f.Address) < maxCode:
		return uint64(f.Address), at + codeAround, nil
	case context.Cause(ctx) != nil:
		return 0, 0, err
	}
	return at, at + codeAround, nil
}

// location is an address that a person names: by a number, *EXPR, a function, or an expression.
func (sh *Shell) location(ctx context.Context, text string) (uint64, error) {
	if expr, ok := strings.CutPrefix(text, "*"); ok {
		return sh.address(ctx, expr)
	}
	if text != "" && !strings.ContainsAny(text[:1], "0123456789$&(") {
		if f, err := sh.s.FunctionNamed(ctx, strings.Trim(text, "'")); err == nil {
			return uint64(f.Address), nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	n, err := sh.address(ctx, text)
	if err != nil {
		return 0, fmt.Errorf("%s is no function and no address: %w", text, err)
	}
	return n, nil
}

func (sh *Shell) instructions(list []session.Instruction, o codeOptions) error {
	var rows [][]string
	flush := func() error {
		defer func() { rows = nil }()
		if len(rows) == 0 {
			return nil
		}
		return report.WriteColumns(sh.out, []string{"", "address", "where", "instruction"}, rows)
	}
	last := report.Source{}
	for i := range list {
		in := &list[i]
		if o.lines && in.Source != last && in.Source.File != "" {
			if err := flush(); err != nil {
				return err
			}
			last = in.Source
			if err := sh.sourceLine(in); err != nil {
				return err
			}
		}
		mark := "  "
		if o.here != 0 && uint64(in.Address) == o.here {
			mark = "=>"
		}
		code := in.Text
		if code == "" {
			code = "(not decoded: " + in.Bytes + ")"
		}
		if o.bytes {
			code = spaced(in.Bytes) + "  " + code
		}
		rows = append(rows, []string{mark, in.Address.String(), report.Clean(in.Symbol), report.Clean(code)})
	}
	return flush()
}

// spaced parts hexadecimal digits into bytes.
func spaced(hex string) string {
	var b strings.Builder
	for i := 0; i+2 <= len(hex); i += 2 {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(hex[i : i+2])
	}
	return b.String()
}

// sourceLine writes the source line of an instruction.
func (sh *Shell) sourceLine(in *session.Instruction) error {
	text := ""
	if file, err := sh.s.SourceOf(context.Background(), uint64(in.Address), in.Source.File); err == nil {
		if _, lines := file.Lines(in.Source.Line, in.Source.Line); len(lines) > 0 {
			text = "  " + sourceText(lines[0])
		}
	}
	return sh.printf("%s:%d%s\n", report.Clean(report.Base(in.Source.File)), in.Source.Line, text)
}

// infoLine says which source line code is of: info line [FUNCTION|*ADDRESS|FILE:LINE].
func (sh *Shell) infoLine(ctx context.Context, args string) error {
	at := uint64(0)
	if args == "" {
		f, err := sh.current()
		if err != nil {
			return err
		}
		at = uint64(f.PC)
	} else {
		if file, line, ok := sh.lineNamed(args); ok {
			return sh.lineCode(ctx, file, line)
		}
		var err error
		if at, err = sh.location(ctx, args); err != nil {
			return err
		}
	}
	src, err := sh.s.Line(ctx, at)
	if err != nil {
		return err
	}
	sh.lastAddress(ctx, at, 1, 1, 'i')
	f, err := sh.s.FunctionAt(ctx, at)
	where := ""
	if err == nil {
		where = fmt.Sprintf(" <%s+%d>", f.Name, at-uint64(f.Address))
	}
	if src.File == "" {
		return sh.printf("no line is known of %#x%s\n", at, report.Clean(where))
	}
	return sh.printf("line %d of %s is at %#x%s\n", src.Line, report.Clean(src.File), at, report.Clean(where))
}

// lineNamed reads FILE:LINE, or LINE of the frame's file.
func (sh *Shell) lineNamed(args string) (file string, line int, ok bool) {
	if file, line, ok = fileLine(args); ok {
		return file, line, true
	}
	line, err := strconv.Atoi(args)
	f, missing := sh.current()
	if err != nil || missing != nil || f.Source.File == "" {
		return "", 0, false
	}
	return f.Source.File, line, true
}

// lineCode says where the code of a line is.
func (sh *Shell) lineCode(ctx context.Context, file string, line int) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	low, high, err := sh.s.CodeOf(ctx, f.ID, file, line)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("line %d of %s has no code that is known", line, file)
	}
	if err != nil {
		return err
	}
	sh.lastAddress(ctx, uint64(low), 1, 1, 'i')
	where := ""
	if fn, err := sh.s.FunctionAt(ctx, uint64(low)); err == nil {
		where = fmt.Sprintf(" <%s+%d>", fn.Name, low-fn.Address)
	}
	return sh.printf("line %d of %s is at %#x%s, to %#x\n", line, report.Clean(file), uint64(low), report.Clean(where), uint64(high))
}

// infoAddress says where a symbol is: info address SYMBOL.
func (sh *Shell) infoAddress(ctx context.Context, args string) error {
	if args == "" {
		return errors.New("a name is missing: info address counter; info symbol ADDRESS says what is at an address")
	}
	if f, err := sh.current(); err == nil {
		v, err := sh.s.Evaluate(ctx, f.ID, args, sh.dollars(ctx, args))
		switch {
		case err == nil && v.HasAddress && v.Size == 0 && strings.HasPrefix(v.Value, "{"):
			return sh.printf("%s is a function at %#x\n", report.Clean(args), uint64(v.Address))
		case err == nil && v.HasAddress:
			return sh.printf("%s is %d bytes at %#x\n", report.Clean(args), v.Size, uint64(v.Address))
		case err == nil && v.Location != "":
			return sh.printf("%s is in %s\n", report.Clean(args), report.Clean(v.Location))
		}
	}
	fn, err := sh.s.FunctionNamed(ctx, args)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		if f, failed := sh.current(); failed == nil {
			if _, err := sh.s.Evaluate(ctx, f.ID, args, sh.dollars(ctx, args)); err == nil {
				return sh.printf("%s has no address: it is in a register, or was computed\n", report.Clean(args))
			}
		}
		return fmt.Errorf("no variable and no function is called %s", args)
	}
	return sh.printf("%s is a function at %#x of %s\n", report.Clean(fn.Name), uint64(fn.Address), report.Clean(report.Base(fn.Module)))
}
