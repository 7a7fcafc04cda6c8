package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// ErrQuit: the command ends the shell.
var ErrQuit = errors.New("quit")

// A command is one of the shell's.
type command struct {
	names []string // the first one is shown
	args  string
	help  string
	run   func(sh *Shell, ctx context.Context, args string) error
}

// commands lists the commands.
func commands() []command {
	return []command{
		{[]string{"bt", "backtrace", "where"}, "[full] [N]", "the frames of the stack, or the first N, or with -N the last; full: with local variables", (*Shell).backtrace},
		{[]string{"frame", "f"}, "[N]", "go to frame N, or show this one; frame function NAME, frame level N", (*Shell).goFrame},
		{[]string{"up"}, "[N]", "go to the caller", (*Shell).up},
		{[]string{"down"}, "[N]", "go to the frame that this one called", (*Shell).down},
		{[]string{"select-frame", "up-silently", "down-silently"}, "[N]", "as frame, up and down, showing nothing", nil},
		{[]string{"faas", "taas", "tfaas"}, "COMMAND", "a command for all frames, all threads, or all frames of all threads, without its failures", nil},
		{[]string{"with"}, "SETTING [VALUE] -- COMMAND", "a command with another setting", (*Shell).with},
		{[]string{"thread", "t"}, "[TID]", "go to a thread, or show which one this is; thread apply all bt", (*Shell).thread},
		{[]string{"task", "goroutine"}, "ID", "go to a goroutine or another task", (*Shell).task},
		{[]string{"info"}, "threads|tasks|args|locals|registers|frame|modules|...", "what there is; info alone lists all kinds", (*Shell).info},
		{[]string{"p", "print", "inspect"}, "[/F] EXPR", "what an expression names: q->head->next[3].name, *p, arr[2:5]; F of x d u o t z c a f s", (*Shell).print},
		{[]string{"output"}, "[/F] EXPR", "print without the end of the line", (*Shell).output},
		{[]string{"printf"}, `"FORMAT", EXPR, ...`, "values as C's printf writes them", (*Shell).printFormatted},
		{[]string{"echo"}, "TEXT", `a text, in which \n ends a line`, (*Shell).echo},
		{[]string{"display"}, "[/F] EXPR", "print now, and after each change of the frame; undisplay N ends that", (*Shell).display},
		{[]string{"undisplay"}, "[N]", "display expression N no more, or none", (*Shell).undisplay},
		{[]string{"ptype"}, "[/o] TYPE|EXPR", "what a type is made of; /o: with offsets, sizes and holes", (*Shell).ptype},
		{[]string{"whatis"}, "TYPE|EXPR", "the name of a type", (*Shell).whatis},
		{[]string{"x"}, "[/NFU] ADDRESS", "memory: N units, F of x d u o t z c a f s i, U of b h w g", (*Shell).examine},
		{[]string{"memory"}, "", "what fills the memory: mappings, blocks by type, who keeps them alive, what nothing leads to", (*Shell).memory},
		{[]string{"find"}, "[/UN] START, END|+LENGTH, VALUE, ...", "where memory holds values", (*Shell).find},
		{[]string{"dump"}, "memory FILE START END|value FILE EXPR", "write memory to a new file", (*Shell).dump},
		{[]string{"disassemble", "disas"}, "[/rs] [FUNCTION|ADDRESS|START,END]", "the instructions of the frame's function, or another; /r: bytes, /s: source", (*Shell).disassemble},
		{[]string{"list", "l"}, "[LINE|FIRST,LAST|FUNCTION|FILE:LINE|-]", "source around the frame's line, then what follows", (*Shell).source},
		{[]string{"search", "forward-search", "fo"}, "REGEX", "the next source line that matches", (*Shell).search},
		{[]string{"report"}, "", "why the process died, and all stacks", (*Shell).report},
		{[]string{"set"}, "SETTING VALUE", "settings: print pretty on, print elements N, print address off, output-radix 16, listsize N; those of gdb's that change nothing say so", (*Shell).set},
		{[]string{"show"}, "SETTING", "what a setting is", (*Shell).showSetting},
		{[]string{"source"}, "FILE", "run the commands of a file", (*Shell).script},
		{[]string{"help", "h"}, "[COMMAND]", "this list", (*Shell).help},
		{[]string{"apropos"}, "WORD", "the commands whose explanation has a word", (*Shell).apropos},
		{[]string{"complete"}, "LINE", "how a line may go on", (*Shell).complete},
		{[]string{"quit", "q", "exit"}, "", "end", func(*Shell, context.Context, string) error { return ErrQuit }},
	}
}

// refused are commands of debuggers that do nothing here, and what to do instead.
func refused() []struct{ names, why string } {
	return []struct{ names, why string }{
		{"run r start starti continue c fg step s next n stepi si nexti ni finish fin until u advance jump j reverse-step reverse-next reverse-continue reverse-finish rc rs rn rsi rni checkpoint restart record generate-core-file gcore",
			"the process is only read: it is not run and not changed. bt, up and down look at what ran; print at what it had"},
		{"call compile", "functions of the process are not called: print reads size(), at(), get() and the like of containers"},
		{"break b br brea tbreak tb hbreak thbreak rbreak watch rwatch awatch catch tcatch commands condition ignore delete d del disable enable clear trace tstart tstop dprintf save skip handle stop",
			"nothing runs, so nothing stops: bt shows where each thread was, info threads all of them"},
		{"return kill k signal queue-signal restore load detach attach target interrupt", "the process is only read: it is not run and not changed"},
		{"file exec-file symbol-file add-symbol-file add-symbol-file-from-memory remove-symbol-file core-file core sharedlibrary nosharedlibrary directory dir path section generate-core",
			"files are named when the core is opened: corewalk shell --search DIR --sysroot DIR --source-map FROM=TO CORE"},
		{"python py python-interactive pi guile gu guile-repl gr", "no scripts of Python or Guile run here: corewalk --format json CORE has everything for programs"},
		{"shell ! make edit cd pwd", "no other programs are started here"},
		{"pipe |", "no other programs are started here: corewalk shell CORE -e COMMAND | PROGRAM"},
		{"tui layout focus fs refresh winheight", "the screen is not divided here: corewalk dap serves editors"},
		{"define document define-prefix hook alias if while loop_break loop_continue", "commands are not defined here, and have no conditions: a file of commands is one after the other"},
		{"macro tfind tvariable tvalidate ttrace", "macros and tracepoints are not known here"},
		{"add-auto-load-safe-path add-auto-load-scripts-directory", "nothing is loaded without being asked for"},
		{"monitor remote flash-erase flushregs", "this is a core: nothing answers"},
		{"maintenance maint mt", "these are commands for who works on gdb: corewalk info tells what the dump and its modules have"},
		{"explore", "p and ptype show what an expression has, and DAP clients open it part by part"},
		{"demangle", "names are shown as the source has them; corewalk print shows one value"},
		{"tty tstatus compare-sections dont-repeat", "this is of a program that runs"},
		{"reverse-search", "search REGEX looks forward; list 1 goes back to the first line"},
		{"init-if-undefined", "set $NAME = EXPR makes a variable"},
	}
}

// begins reports whether a command goes on to a line "end".
func begins(name, args string) bool {
	switch name {
	case "define", "document", "if", "while", "commands":
		return true
	case "python", "py", "guile", "gu":
		return args == ""
	}
	return false
}

// Words lists what may come first on a line, for completion, and after "info".
func Words() (first, info []string) {
	for _, c := range commands() {
		first = append(first, c.names...)
	}
	for _, i := range infos() {
		info = append(info, i.names[0])
	}
	slices.Sort(first)
	slices.Sort(info)
	return first, info
}

// Run runs the command on a line. It returns ErrQuit if that ends the shell, and nil for an empty line; other errors are
// to be shown.
func (sh *Shell) Run(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if sh.inBlock > 0 { // of a command that was refused
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "end":
			sh.inBlock--
		case begins(word, strings.TrimSpace(rest)):
			sh.inBlock++
		}
		return nil
	}
	if line == "" || line[0] == '#' {
		return nil
	}
	name, args, _ := strings.Cut(line, " ")
	if i := strings.IndexByte(name, '/'); i > 0 { // x/4gx, p/x
		name, args = name[:i], strings.TrimSpace(name[i:]+" "+args)
	}
	if name[0] == '!' {
		name, args = "shell", name[1:]+" "+args
	}
	args = strings.TrimSpace(args)
	if what, rest, _ := strings.Cut(args, " "); name == "delete" && what == "display" {
		name, args = "undisplay", strings.TrimSpace(rest)
	}
	c, err := find(commands(), name, "command")
	if err != nil {
		if why, whole := refuses(name); why != "" {
			if begins(whole, args) {
				sh.inBlock = 1
				why += `; the lines up to "end" are left out`
			}
			return fmt.Errorf("%q: %s", name, why)
		}
		return err
	}
	before := sh.frame.ID
	if c.run == nil {
		err = sh.silently(ctx, name, args)
	} else {
		err = c.run(sh, ctx, args)
	}
	if err != nil {
		return err
	}
	if sh.has && sh.frame.ID != before {
		return sh.displays(ctx)
	}
	return nil
}

// silently runs the commands that are others without what these show.
func (sh *Shell) silently(ctx context.Context, name, args string) error {
	switch {
	case strings.HasPrefix(name, "f"):
		return sh.applyFrames(ctx, "all -s "+args)
	case strings.HasPrefix(name, "tf"):
		return sh.applyThreads(ctx, "all -s frame apply all -s "+args)
	case strings.HasPrefix(name, "t"):
		return sh.applyThreads(ctx, "all -s "+args)
	}
	out := sh.out
	sh.out = &outlet{to: io.Discard}
	defer func() { sh.out = out }()
	switch {
	case strings.HasPrefix(name, "u"):
		return sh.up(ctx, args)
	case strings.HasPrefix(name, "d"):
		return sh.down(ctx, args)
	}
	return sh.goFrame(ctx, args)
}

// apropos lists the commands whose name or explanation has a word.
func (sh *Shell) apropos(_ context.Context, word string) error {
	if word = strings.ToLower(word); word == "" {
		return errors.New("apropos WORD: the word is missing")
	}
	var rows [][]string
	for prefix, list := range map[string][]command{"": commands(), "info ": infos()} {
		for _, c := range list {
			if text := prefix + strings.Join(c.names, ", ") + " " + c.args; strings.Contains(strings.ToLower(text+c.help), word) {
				rows = append(rows, []string{text, c.help})
			}
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("no command's explanation has %q", word)
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return report.WriteColumns(sh.out, []string{"command", "what it does"}, rows)
}

// complete lists how a line may go on.
func (sh *Shell) complete(ctx context.Context, line string) error {
	head, list, _ := sh.Complete(ctx, line, len([]rune(line)))
	for _, c := range list {
		if err := sh.printf("%s\n", report.Clean(head+c)); err != nil {
			return err
		}
	}
	return nil
}

// Is reports whether a line begins with the name of a command, one that is refused among them, or an abbreviation of one.
func Is(line string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if i := strings.IndexByte(name, '/'); i > 0 {
		name = name[:i]
	}
	why, _ := refuses(name)
	_, err := find(commands(), name, "command")
	return why != "" || err == nil
}

// refuses says why a command of other debuggers does nothing here; "" for a name that is none.
func refuses(name string) (why, whole string) {
	for _, r := range refused() {
		if slices.Contains(strings.Fields(r.names), name) {
			return r.why, name
		}
	}
	return "", ""
}

// find returns the command with a name, or the only one that begins with it. Those that are used most come before others with the same beginning.
func find(list []command, name, what string) (*command, error) {
	var found *command
	var same []string
	for i := range list {
		c := &list[i]
		if slices.Contains(c.names, name) {
			return c, nil
		}
		if slices.ContainsFunc(c.names, func(n string) bool { return strings.HasPrefix(n, name) }) && name != "" {
			found, same = c, append(same, c.names[0])
		}
	}
	refusal, _ := refuses(name)
	switch {
	case refusal != "":
	case len(same) == 1:
		return found, nil
	case len(same) > 1:
		return nil, fmt.Errorf("%q is the beginning of %s", name, strings.Join(same, ", "))
	}
	return nil, fmt.Errorf("no %s is called %q; help lists them", what, name)
}

func (sh *Shell) help(_ context.Context, args string) error {
	if args != "" {
		name, rest, _ := strings.Cut(args, " ")
		if name == "info" && rest != "" {
			c, err := find(infos(), rest, "kind of info")
			if err != nil {
				return err
			}
			return sh.printf("info %s %s\n    %s\n", strings.Join(c.names, ", "), c.args, c.help)
		}
		c, err := find(commands(), name, "command")
		if err != nil {
			if why, _ := refuses(name); why != "" {
				return fmt.Errorf("%q: %s", name, why)
			}
			return err
		}
		return sh.printf("%s %s\n    %s\n", strings.Join(c.names, ", "), c.args, c.help)
	}
	var rows [][]string
	for _, c := range commands() {
		rows = append(rows, []string{strings.TrimSpace(c.names[0] + " " + c.args), c.help})
	}
	return report.WriteColumns(sh.out, []string{"command", "what it does"}, rows)
}

// Help is the list of commands, for people who have not opened anything yet.
func Help() string {
	var b strings.Builder
	_ = (&Shell{out: &outlet{to: &b}}).help(context.Background(), "") // nothing fails in memory
	return b.String()
}

// echo writes a text.
func (sh *Shell) echo(_ context.Context, args string) error {
	text := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\"`, `"`, `\ `, " ", "\\\n", "").Replace(args)
	return sh.printf("%s", clean(text))
}
