package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// infos are the kinds of info.
func infos() []command {
	return []command{
		{[]string{"threads"}, "", "threads with their frames to look at first", (*Shell).infoThreads},
		{[]string{"tasks", "goroutines"}, "[N]", "goroutines and other tasks without a thread", (*Shell).infoTasks},
		{[]string{"args"}, "", "arguments of the frame", (*Shell).infoArgs},
		{[]string{"locals"}, "", "local variables of the frame", (*Shell).infoLocals},
		{[]string{"registers"}, "", "registers of the frame", (*Shell).infoRegisters},
		{[]string{"frame"}, "", "where the frame is", (*Shell).infoFrame},
		{[]string{"modules", "sharedlibrary"}, "", "the files that the process ran", (*Shell).infoModules},
		{[]string{"functions"}, "REGEX", "the functions whose names match", (*Shell).infoFunctions},
		{[]string{"line", "symbol", "address"}, "ADDRESS", "what is at an address", (*Shell).infoAddress},
	}
}

func (sh *Shell) info(ctx context.Context, args string) error {
	name, rest, _ := strings.Cut(args, " ")
	if name == "" {
		var names []string
		for _, c := range infos() {
			names = append(names, c.names[0])
		}
		return fmt.Errorf("info what? One of %s", strings.Join(names, ", "))
	}
	c, err := find(infos(), name, "kind of info")
	if err != nil {
		return err
	}
	return c.run(sh, ctx, strings.TrimSpace(rest))
}

// place says where a frame is, in one line.
func place(f *session.Frame) string {
	name := f.Function
	if name == "" {
		name = f.PC.String()
	}
	if f.Source.File != "" {
		return fmt.Sprintf("%s at %s:%d", name, report.Base(f.Source.File), f.Source.Line)
	}
	if f.Module != "" {
		name += " in " + report.Base(f.Module)
	}
	return name
}

func (sh *Shell) infoThreads(ctx context.Context, _ string) error {
	list, err := sh.s.Threads(ctx)
	if err != nil {
		return err
	}
	return sh.stacks(ctx, list)
}

// stacks writes a line for each stack.
func (sh *Shell) stacks(ctx context.Context, list []session.Stack) error {
	rows := make([][]string, 0, len(list))
	for i := range list {
		st := &list[i]
		mark := " "
		if sh.has && st.ID == sh.stack.ID {
			mark = "*"
		}
		where := "no frames"
		if f, err := sh.s.FocusOf(ctx, st.ID); err == nil {
			where = fmt.Sprintf("#%d %s", f.Index, place(&f))
		} else if context.Cause(ctx) != nil {
			return err
		}
		rows = append(rows, []string{mark, heading(st), report.Clean(where)})
	}
	return report.WriteColumns(sh.out, []string{"", "stack", "frame"}, rows)
}

// tasksShown is how many tasks are listed if it is not told.
const tasksShown = 50

func (sh *Shell) infoTasks(ctx context.Context, args string) error {
	n, err := number(args, tasksShown)
	if err != nil {
		return err
	}
	list, more, err := sh.s.Tasks(ctx, 0, n)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return sh.printf("no tasks without a thread\n")
	}
	if err := sh.stacks(ctx, list); err != nil || !more {
		return err
	}
	return sh.printf("more follow: info tasks %d\n", 2*n)
}

// scope writes the variables of a scope.
func (sh *Shell) scope(ctx context.Context, name, none string) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	scopes, err := sh.s.Scopes(ctx, f.ID)
	if err != nil {
		return err
	}
	for _, sc := range scopes {
		if sc.Name != name || sc.Count == 0 {
			continue
		}
		list, _, err := sh.s.Children(ctx, sc.Ref, 0, sc.Count)
		if err != nil {
			return err
		}
		for i := range list {
			if err := sh.printf("%s = %s\n", report.Clean(list[i].Name), text(&list[i])); err != nil {
				return err
			}
		}
		return nil
	}
	return sh.printf("%s\n", none)
}

// text is the value of a variable, or why there is none.
func text(v *session.Variable) string {
	s := report.Clean(v.Value)
	if v.Status != report.StatusSuccess {
		s = "<" + report.Clean(v.Reason) + ">"
	}
	if v.Entry != "" {
		s += "   (on entry " + report.Clean(v.Entry) + ")"
	}
	return s + v.Whose()
}

func (sh *Shell) infoArgs(ctx context.Context, _ string) error {
	return sh.scope(ctx, "Arguments", "no arguments")
}

func (sh *Shell) infoLocals(ctx context.Context, _ string) error {
	return sh.scope(ctx, "Locals", "no local variables")
}

func (sh *Shell) infoRegisters(ctx context.Context, _ string) error {
	return sh.scope(ctx, "Registers", "no registers: the call was inlined")
}

func (sh *Shell) infoFrame(ctx context.Context, _ string) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	if err := sh.show(ctx); err != nil {
		return err
	}
	rows := [][]string{{"pc", f.PC.String()}, {"sp", f.SP.String()}}
	if f.CFA != 0 {
		rows = append(rows, []string{"cfa", f.CFA.String()})
	}
	rows = append(rows, []string{"found by", f.Stepper + ", " + f.Trust})
	if f.Module != "" {
		rows = append(rows, []string{"module", report.Clean(f.Module) + " at " + f.Offset.String()})
	}
	return report.WriteColumns(sh.out, []string{"", "value"}, rows)
}

func (sh *Shell) infoModules(ctx context.Context, _ string) error {
	in, err := sh.s.Info(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range in.Modules {
		m := &in.Modules[i]
		rows = append(rows, []string{m.Base.String(), m.End.String(), m.Status, report.Clean(m.Path)})
	}
	return report.WriteColumns(sh.out, []string{"from", "to", "file", "path"}, rows)
}

func (sh *Shell) infoAddress(ctx context.Context, args string) error {
	addr, err := sh.address(ctx, args)
	if err != nil {
		return err
	}
	p, err := sh.s.At(ctx, addr)
	if err != nil {
		return err
	}
	return sh.printf("%s\n", report.Clean(p.String()))
}

// maxFunctions is how many functions are listed.
const maxFunctions = 500

func (sh *Shell) infoFunctions(ctx context.Context, pattern string) error {
	list, more, err := sh.s.Functions(ctx, pattern, 0, maxFunctions)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no function's name matches %s", pattern)
	}
	module := ""
	for i := range list {
		f := &list[i]
		if f.Module != module {
			module = f.Module
			if err := sh.printf("%s:\n", report.Clean(module)); err != nil {
				return err
			}
		}
		at := ""
		if f.Source.File != "" {
			at = fmt.Sprintf(" at %s:%d", report.Base(f.Source.File), f.Source.Line)
		}
		if err := sh.printf("  %#x %s\n", uint64(f.Address), report.Clean(f.Name+at)); err != nil {
			return err
		}
	}
	if more {
		return sh.printf("and others: the first %d are shown\n", maxFunctions)
	}
	return nil
}

// address evaluates an expression whose value is an address.
func (sh *Shell) address(ctx context.Context, expr string) (uint64, error) {
	if expr == "" {
		return 0, errors.New("an address is missing")
	}
	if n, err := strconv.ParseUint(expr, 0, 64); err == nil {
		return n, nil
	}
	f, err := sh.current()
	if err != nil {
		return 0, err
	}
	return sh.s.Address(ctx, f.ID, expr)
}

func (sh *Shell) print(ctx context.Context, args string) error {
	format := ""
	if strings.HasPrefix(args, "/") {
		format, args, _ = strings.Cut(args[1:], " ")
	}
	if strings.TrimSpace(args) == "" {
		return errors.New("an expression is missing: p q->head")
	}
	f, err := sh.current()
	if err != nil {
		return err
	}
	if format != "" && format != "r" {
		return sh.formatted(ctx, f.ID, format, args)
	}
	v, err := sh.s.Evaluate(ctx, f.ID, args)
	if err != nil {
		return err
	}
	if v.Kind == "pointer" && v.Type != "" && v.Status == report.StatusSuccess {
		return sh.printf("(%s) %s\n", report.Clean(v.Type), text(&v))
	}
	return sh.printf("%s\n", text(&v))
}

// formatted writes a number in a format of gdb's.
func (sh *Shell) formatted(ctx context.Context, id session.FrameID, format, expr string) error {
	n, err := sh.s.Address(ctx, id, expr)
	if err != nil {
		return err
	}
	switch format {
	case "x", "a":
		return sh.printf("%#x\n", n)
	case "d":
		return sh.printf("%d\n", int64(n))
	case "u":
		return sh.printf("%d\n", n)
	case "t":
		return sh.printf("%b\n", n)
	case "o":
		return sh.printf("%#o\n", n)
	case "c":
		return sh.printf("%d %q\n", n&0xff, rune(n&0xff))
	}
	return fmt.Errorf("the format /%s is not known; one of x d u t o a c", format)
}

// maxExamined is how many units x shows at most.
const maxExamined = 4096

// examine writes memory, as gdb's x does.
func (sh *Shell) examine(ctx context.Context, args string) error {
	count, format, unit := 1, byte('x'), 4
	if strings.HasPrefix(args, "/") {
		var spec string
		spec, args, _ = strings.Cut(args[1:], " ")
		digits := strings.TrimLeft(spec, "0123456789")
		if n := spec[:len(spec)-len(digits)]; n != "" {
			if count, _ = strconv.Atoi(n); count < 1 || count > maxExamined {
				return fmt.Errorf("from 1 to %d units are shown", maxExamined)
			}
		}
		for _, c := range []byte(digits) {
			switch c {
			case 'b':
				unit = 1
			case 'h':
				unit = 2
			case 'w':
				unit = 4
			case 'g':
				unit = 8
			case 'x', 'd', 'u', 'c', 's', 'i', 'a':
				format = c
			default:
				return fmt.Errorf("%q is no format and no unit: x/NFU with F of x d u c s i a, U of b h w g", c)
			}
		}
	}
	switch format {
	case 'a':
		unit = 8
		if sh.s.Target().ProcessState().Arch().WordSize == 4 {
			unit = 4
		}
	case 'c':
		unit = 1
	}
	addr, err := sh.address(ctx, strings.TrimSpace(args))
	if err != nil {
		return err
	}
	switch format {
	case 'i':
		return sh.instructions(ctx, addr, 0, count)
	case 's':
		return sh.strings(ctx, addr, count)
	}
	b, err := sh.s.ReadMemory(ctx, addr, count*unit)
	if err != nil {
		return err
	}
	perLine := map[int]int{1: 8, 2: 8, 4: 4, 8: 2}[unit]
	order := sh.s.Target().ProcessState().Arch().ByteOrder
	for i := 0; i*unit+unit <= len(b); i++ {
		if i%perLine == 0 {
			if i > 0 {
				_ = sh.printf("\n")
			}
			_ = sh.printf("%#x:", addr+uint64(i*unit))
		}
		word := b[i*unit : (i+1)*unit]
		var n uint64
		switch unit {
		case 1:
			n = uint64(word[0])
		case 2:
			n = uint64(order.Uint16(word))
		case 4:
			n = uint64(order.Uint32(word))
		case 8:
			n = order.Uint64(word)
		}
		_ = sh.printf("\t%s", sh.unit(ctx, n, unit, format))
	}
	if err := sh.printf("\n"); err != nil {
		return err
	}
	if len(b) < count*unit {
		return fmt.Errorf("no memory at %#x", addr+uint64(len(b)))
	}
	return nil
}

// unit writes one unit of memory.
func (sh *Shell) unit(ctx context.Context, n uint64, size int, format byte) string {
	switch format {
	case 'd':
		shift := 64 - 8*size
		return strconv.FormatInt(int64(n<<shift)>>shift, 10)
	case 'u':
		return strconv.FormatUint(n, 10)
	case 'c':
		return fmt.Sprintf("%d %q", int8(n), rune(n))
	case 'a':
		if p, err := sh.s.At(ctx, n); err == nil && p.Function != "" {
			return report.Clean(fmt.Sprintf("%#x <%s+%d>", n, p.Function, p.FunctionOffset))
		}
		return fmt.Sprintf("%#x", n)
	}
	return fmt.Sprintf("0x%0*x", 2*size, n)
}

// maxString is how much of one string is shown.
const maxString = 200

func (sh *Shell) strings(ctx context.Context, addr uint64, count int) error {
	for range count {
		b, err := sh.s.ReadMemory(ctx, addr, maxString+1)
		if err != nil {
			return err
		}
		end := strings.IndexByte(string(b), 0)
		more := ""
		if end < 0 {
			end, more = min(len(b), maxString), "..."
		}
		if err := sh.printf("%#x:\t%s%s\n", addr, strconv.Quote(string(b[:end])), more); err != nil {
			return err
		}
		addr += uint64(end)
		if more == "" {
			addr++
		}
	}
	return nil
}

// Instructions that disassemble shows before and after the frame's.
const (
	codeBefore = 8
	codeAfter  = 8
)

func (sh *Shell) disassemble(ctx context.Context, args string) error {
	if args != "" {
		addr, err := sh.address(ctx, args)
		if err != nil {
			return err
		}
		return sh.instructions(ctx, addr, codeBefore, codeAfter)
	}
	f, err := sh.current()
	if err != nil {
		return err
	}
	return sh.instructions(ctx, uint64(f.PC), codeBefore, codeAfter)
}

func (sh *Shell) instructions(ctx context.Context, addr uint64, before, n int) error {
	list, err := sh.s.Disassemble(ctx, addr, before, n)
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range list {
		in := &list[i]
		mark := "  "
		if in.Here && before > 0 {
			mark = "=>"
		}
		code := in.Text
		if code == "" {
			code = "(not decoded: " + in.Bytes + ")"
		}
		rows = append(rows, []string{mark, in.Address.String(), report.Clean(in.Symbol), report.Clean(code)})
	}
	return report.WriteColumns(sh.out, []string{"", "address", "where", "instruction"}, rows)
}

// listed is how many lines of source are shown before and after the frame's.
const listed = 5

func (sh *Shell) source(ctx context.Context, _ string) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	if sh.list.frame == f.ID {
		sh.list.lines += listed
	} else {
		sh.list.frame, sh.list.lines = f.ID, listed
	}
	l, err := sh.s.Listing(ctx, f.ID, sh.list.lines)
	if err != nil {
		return err
	}
	if l == nil {
		if f.Source.File == "" {
			return errors.New("the frame has no source line")
		}
		return fmt.Errorf("the source file %s was not found; --search DIR or --source-map FROM=TO says where sources are", report.Clean(f.Source.File))
	}
	for i, line := range l.Lines {
		mark := " "
		if l.First+i == f.Source.Line {
			mark = ">"
		}
		if err := sh.printf("%s %d\t%s\n", mark, l.First+i, report.Clean(line)); err != nil {
			return err
		}
	}
	return nil
}
