package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
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
		{[]string{"registers", "all-registers", "r"}, "[NAME ...]", "registers of the frame", (*Shell).infoRegisters},
		{[]string{"frame", "f"}, "[N|function NAME]", "where the frame is", (*Shell).infoFrame},
		{[]string{"stack", "s"}, "[full] [N]", "the frames, as bt shows them", (*Shell).backtrace},
		{[]string{"modules", "sharedlibrary", "dll", "files", "target"}, "[REGEX]", "the files that the process ran, or those whose paths match", (*Shell).infoModules},
		{[]string{"functions"}, "REGEX", "the functions whose names match", (*Shell).infoFunctions},
		{[]string{"symbol"}, "ADDRESS", "what is at an address", (*Shell).infoSymbol},
		{[]string{"address"}, "NAME", "where a variable or a function is", (*Shell).infoAddress},
		{[]string{"line"}, "[FUNCTION|LINE|FILE:LINE|*ADDRESS]", "the source line of code, or where the code of a line is", (*Shell).infoLine},
		{[]string{"vtbl"}, "EXPR", "the tables of virtual functions of an object of C++", (*Shell).infoVtbl},
		{[]string{"source"}, "", "the source file of the frame", (*Shell).infoSource},
		{[]string{"types"}, "[REGEX]", "the types whose names match, with where they are declared", (*Shell).infoTypes},
		{[]string{"variables"}, "[REGEX]", "the variables outside of functions whose names match", (*Shell).infoVariables},
		{[]string{"scope"}, "[FUNCTION]", "the variables of the frame, arguments first; or those that a function declares", (*Shell).infoScope},
		{[]string{"proc", "inferiors", "program"}, "[mappings]", "the process; mappings: its memory", (*Shell).infoProcess},
		{[]string{"auxv"}, "", "what the kernel told the process when it started", (*Shell).infoAuxv},
		{[]string{"display"}, "", "the expressions that are displayed", (*Shell).infoDisplay},
	}
}

// notInfos are kinds of info of gdb's that have no answer here, and why.
var notInfos = []struct{ names, why string }{
	{"breakpoints watchpoints b checkpoints record", "nothing runs, so nothing stops"},
	{"signals handle", "how a debugger handles signals means nothing for a core; report tells which one it died of"},
	{"module", "info functions NAME:: and info variables NAME:: list what a module of Fortran has"},
	{"common", "p NAME shows a variable of a COMMON block in a function that declares it"},
	{"sources", "list FUNCTION and info line FUNCTION find the file of a function"},
	{"signal mem dcache terminal set xmethod float vector w classic-memory", "this is a state of gdb's own, or of a program that runs; p $xmm0 and p $st0 show registers"},
	{"os", "corewalk info lists what is in the dump"},
	{"macro macros", "macros are not known here"},
	{"exceptions", "the exception that a thread raised is in report"},
	{"selectors static-tracepoint-markers tracepoints tvariables tasks-ada win extensions auto-load copying warranty skip type-printers unwinder pretty-printer frame-filter", "this is a state of gdb's own, and there is none of it here"},
}

func (sh *Shell) info(ctx context.Context, args string) error {
	name, rest, _ := strings.Cut(args, " ")
	if name == "" {
		var rows [][]string
		for _, c := range infos() {
			rows = append(rows, []string{strings.TrimSpace("info " + c.names[0] + " " + c.args), c.help})
		}
		return report.WriteColumns(sh.out, []string{"command", "what it shows"}, rows)
	}
	c, err := find(infos(), name, "kind of info")
	if err != nil {
		for _, n := range notInfos {
			if slices.Contains(strings.Fields(n.names), name) {
				return fmt.Errorf("info %s: %s", name, n.why)
			}
		}
		return err
	}
	if rest = strings.TrimSpace(rest); c.args == "" && rest != "" {
		return fmt.Errorf("info %s has no arguments: %q is not understood", c.names[0], rest)
	}
	return c.run(sh, ctx, rest)
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
		rows = append(rows, []string{mark, strconv.Itoa(i + 1), heading(st), report.Clean(where)})
	}
	return report.WriteColumns(sh.out, []string{"", "no", "stack", "frame"}, rows)
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
			value := text(&list[i])
			if sh.settings.radix != 0 && name != "Registers" {
				if s, err := sh.valueText(ctx, &list[i], ""); err == nil {
					value = s
				}
			}
			if name != "Registers" {
				value = sh.inLine(sh.plain(value))
			}
			if err := sh.printf("%s = %s\n", report.Clean(list[i].Name), value); err != nil {
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

func (sh *Shell) infoRegisters(ctx context.Context, args string) error {
	if args == "" {
		return sh.scope(ctx, "Registers", "no registers: the call was inlined")
	}
	for name := range strings.FieldsSeq(args) {
		name = strings.TrimPrefix(name, "$")
		v, err := sh.value(ctx, "$"+name)
		if errors.Is(err, dwarfvars.ErrRegister) {
			if err := sh.printf("%s = <not known in this frame>\n", report.Clean(name)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		s := text(&v)
		if hex, err := sh.valueText(ctx, &v, "x"); err == nil && hex != s {
			s = hex + "   " + s
		}
		if err := sh.printf("%s = %s\n", report.Clean(name), s); err != nil {
			return err
		}
	}
	return nil
}

// infoScope lists the arguments and the local variables.
func (sh *Shell) infoScope(ctx context.Context, args string) error {
	if args != "" {
		return sh.declared(ctx, args)
	}
	return errors.Join(sh.infoArgs(ctx, ""), sh.infoLocals(ctx, ""))
}

// declared lists what a function declares, whether or not the stack has it.
func (sh *Shell) declared(ctx context.Context, function string) error {
	scopes, err := sh.s.Declared(ctx, function)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, s := range scopes {
		for i, list := range [...][]*dwarfvars.LocalVar{s.Params, s.Locals} {
			for _, v := range list {
				what, line := [...]string{"argument", "local"}[i], ""
				if s.Inlined {
					what += " of " + s.Function + ", inlined"
				}
				if v.Line > 0 {
					line = strconv.Itoa(v.Line)
				}
				rows = append(rows, []string{report.Clean(v.Name), report.Clean(v.Type()), report.Clean(what), line})
			}
		}
		if len(rows) > maxFunctions {
			rows = rows[:maxFunctions]
			break
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s declares no variables", function)
	}
	return report.WriteColumns(sh.out, []string{"name", "type", "what it is", "line"}, rows)
}

func (sh *Shell) infoTypes(ctx context.Context, pattern string) error {
	return sh.names(ctx, false, pattern)
}

func (sh *Shell) infoVariables(ctx context.Context, pattern string) error {
	return sh.names(ctx, true, pattern)
}

// names lists the types whose names match, or the variables outside of functions.
func (sh *Shell) names(ctx context.Context, variables bool, pattern string) error {
	pattern, err := withoutFlags(pattern)
	if err != nil {
		return err
	}
	list, more, err := sh.s.Names(ctx, variables, pattern, 0, maxFunctions)
	if err != nil {
		return err
	}
	if what := map[bool]string{false: "type", true: "variable outside of functions"}[variables]; len(list) == 0 {
		return fmt.Errorf("no %s with debugging information has a name that matches %s", what, cmp.Or(pattern, "anything"))
	}
	var rows [][]string
	module := ""
	for i := range list {
		n := &list[i]
		if n.Module != module {
			if err := sh.nameRows(module, &rows); err != nil {
				return err
			}
			module = n.Module
		}
		at := report.Base(n.File)
		if n.Line > 0 {
			at += ":" + strconv.Itoa(n.Line)
		}
		row := []string{"  " + report.Clean(at), n.Kind, report.Clean(n.Name)}
		if variables {
			row = slices.Delete(row, 1, 2)
		}
		rows = append(rows, row)
	}
	if err := sh.nameRows(module, &rows); err != nil {
		return err
	}
	if more {
		return sh.printf("and others: the first %d are shown\n", maxFunctions)
	}
	return nil
}

// nameRows writes the names of a module.
func (sh *Shell) nameRows(module string, rows *[][]string) error {
	if len(*rows) == 0 {
		return nil
	}
	if err := sh.printf("%s:\n", report.Clean(module)); err != nil {
		return err
	}
	heads := []string{"  declared at", "kind", "name"} // names are longest
	if len((*rows)[0]) == 2 {
		heads = slices.Delete(heads, 1, 2)
	}
	err := report.WriteColumns(sh.out, heads, *rows)
	*rows = nil
	return err
}

// infoProcess says what is known of the process, and with mappings what its memory is.
func (sh *Shell) infoProcess(ctx context.Context, args string) error {
	in, err := sh.s.Info(ctx)
	if err != nil {
		return err
	}
	d := &in.Dump
	switch args {
	case "", "all":
		rows := [][]string{{"process", strconv.Itoa(d.PID)}, {"command line", report.Clean(d.CommandLine)}, {"program", report.Clean(sh.main)}}
		if err := report.WriteColumns(sh.out, []string{"", "value"}, rows); err != nil || args == "" {
			return err
		}
	case "mappings":
	default:
		return fmt.Errorf("info proc %s is not known; info proc and info proc mappings are", args)
	}
	var rows [][]string
	for i := range in.Mappings {
		m := &in.Mappings[i]
		rows = append(rows, []string{m.Start.String(), m.End.String(), m.Perm, m.Offset.String(), report.Clean(m.File)})
	}
	return report.WriteColumns(sh.out, []string{"from", "to", "access", "offset", "file"}, rows)
}

func (sh *Shell) memory(ctx context.Context, args string) error {
	if args != "" {
		return errors.New("memory has no arguments; corewalk memory writes it in other formats")
	}
	m, err := sh.s.Memory(ctx)
	if err != nil {
		return err
	}
	return report.WriteMemoryText(sh.out, m, sh.opts)
}

func (sh *Shell) infoDisplay(context.Context, string) error {
	if len(sh.displayed) == 0 {
		return sh.printf("no expressions are displayed\n")
	}
	for _, d := range sh.displayed {
		if err := sh.printf("%d: %s\n", d.n, report.Clean(d.expr)); err != nil {
			return err
		}
	}
	return nil
}

// infoFrame says where the frame is, or another one of its stack.
func (sh *Shell) infoFrame(ctx context.Context, args string) error {
	if args != "" {
		back := *sh
		defer func() { sh.frame, sh.stack, sh.has = back.frame, back.stack, back.has }()
		out := sh.out
		sh.out = &outlet{to: io.Discard}
		err := sh.goFrame(ctx, args)
		if sh.out = out; err != nil {
			return err
		}
	}
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

func (sh *Shell) infoModules(ctx context.Context, pattern string) error {
	in, err := sh.s.Info(ctx)
	if err != nil {
		return err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("the pattern: %w", err)
	}
	var rows [][]string
	for i := range in.Modules {
		m := &in.Modules[i]
		if !re.MatchString(m.Path) {
			continue
		}
		rows = append(rows, []string{m.Base.String(), m.End.String(), m.Status, report.Clean(m.Path)})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no file that the process ran has a path that matches %s", pattern)
	}
	return report.WriteColumns(sh.out, []string{"from", "to", "file", "path"}, rows)
}

// infoSymbol says what is at an address.
func (sh *Shell) infoSymbol(ctx context.Context, args string) error {
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

// withoutFlags takes gdb's options from the front of a pattern: -q says less, -n leaves out what has no debugging information.
func withoutFlags(args string) (pattern string, err error) {
	for strings.HasPrefix(args, "-") {
		flag, rest, _ := strings.Cut(args, " ")
		switch flag {
		case "-q", "-n", "--":
		default:
			return "", fmt.Errorf("the option %s is not known: a pattern of names is", flag)
		}
		args = strings.TrimSpace(rest)
	}
	return args, nil
}

// maxFunctions is how many functions are listed.
const maxFunctions = 500

func (sh *Shell) infoFunctions(ctx context.Context, pattern string) error {
	pattern, err := withoutFlags(pattern)
	if err != nil {
		return err
	}
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
