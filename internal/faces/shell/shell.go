// Package shell is a prompt for one opened dump, with commands named as those of gdb: bt, frame, p, x, info threads. It
// asks a session.Session, and writes what it answers.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A Shell has a frame in which expressions are evaluated. It is for one goroutine.
type Shell struct {
	s    *session.Session
	out  io.Writer
	opts report.TextOptions
	main string // path of the program

	frame session.Frame
	stack session.Stack
	has   bool // there is a frame
	list  struct {
		frame session.FrameID
		lines int
	}
}

// New returns a Shell at the frame to look at first, which writes to out.
func New(ctx context.Context, s *session.Session, out io.Writer, opts report.TextOptions) (*Shell, error) {
	sh := &Shell{s: s, out: out, opts: opts}
	if in, err := s.Info(ctx); err == nil {
		for i := range in.Modules {
			if in.Modules[i].Main {
				sh.main = in.Modules[i].Path
			}
		}
	}
	f, err := s.Focus(ctx)
	if err != nil {
		return sh, err
	}
	return sh, sh.use(f)
}

func (sh *Shell) use(f session.Frame) error {
	st, _, err := sh.s.Position(f.ID)
	if err != nil {
		return err
	}
	sh.frame, sh.stack, sh.has = f, st, true
	return nil
}

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
		{[]string{"bt", "backtrace", "where"}, "[full] [N]", "the frames of the stack, or the first N; full: with local variables", (*Shell).backtrace},
		{[]string{"frame", "f"}, "[N]", "go to frame N, or show this one", (*Shell).goFrame},
		{[]string{"up"}, "[N]", "go to the caller", (*Shell).up},
		{[]string{"down"}, "[N]", "go to the frame that this one called", (*Shell).down},
		{[]string{"thread", "t"}, "[TID]", "go to a thread, or show which one this is", (*Shell).thread},
		{[]string{"task", "goroutine"}, "ID", "go to a goroutine or another task", (*Shell).task},
		{[]string{"info"}, "threads|tasks|args|locals|registers|frame|modules|functions|line|symbol", "what there is", (*Shell).info},
		{[]string{"p", "print", "inspect"}, "[/x] EXPR", "what an expression names: q->head->next[3].name, *p, arr[2:5]", (*Shell).print},
		{[]string{"x"}, "[/NFU] ADDRESS", "memory: N units, F of x d u c s i a, U of b h w g", (*Shell).examine},
		{[]string{"disassemble", "disas"}, "[ADDRESS]", "instructions around the frame's, or an address", (*Shell).disassemble},
		{[]string{"list", "l"}, "", "source around the frame's line", (*Shell).source},
		{[]string{"report"}, "", "why the process died, and all stacks", (*Shell).report},
		{[]string{"help", "h"}, "[COMMAND]", "this list", (*Shell).help},
		{[]string{"quit", "q", "exit"}, "", "end", func(*Shell, context.Context, string) error { return ErrQuit }},
	}
}

// running are commands of debuggers that would run the process or change it.
const running = " run r start continue c step s next n stepi si nexti ni finish fin until advance jump call set break b tbreak watch delete signal kill attach detach return "

// Words lists what may come first on a line, for completion, and after "info".
func Words() (first, info []string) {
	for _, c := range commands() {
		first = append(first, c.names...)
	}
	for _, i := range infos() {
		info = append(info, i.names[0])
	}
	slices.Sort(first)
	return first, info
}

// Run runs the command on a line. It returns ErrQuit if that ends the shell, and nil for an empty line; other errors are
// to be shown.
func (sh *Shell) Run(ctx context.Context, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	name, args, _ := strings.Cut(line, " ")
	if i := strings.IndexByte(name, '/'); i > 0 { // x/4gx, p/x
		name, args = name[:i], strings.TrimSpace(name[i:]+" "+args)
	}
	args = strings.TrimSpace(args)
	c, err := find(commands(), name, "command")
	if err != nil {
		if strings.Contains(running, " "+name+" ") {
			return fmt.Errorf("%q: the process is only read: it is not run and not changed", name)
		}
		return err
	}
	return c.run(sh, ctx, args)
}

// find returns the command with a name, or the only one that begins with it.
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
	switch {
	case strings.Contains(running, " "+name+" "):
	case len(same) == 1:
		return found, nil
	case len(same) > 1:
		return nil, fmt.Errorf("%q is the beginning of %s", name, strings.Join(same, ", "))
	}
	return nil, fmt.Errorf("no %s is called %q; help lists them", what, name)
}

func (sh *Shell) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(sh.out, format, args...)
	return err
}

// current returns the frame.
func (sh *Shell) current() (session.Frame, error) {
	if !sh.has {
		return session.Frame{}, errors.New("there is no frame; info threads lists the threads")
	}
	return sh.frame, nil
}

// number reads a number that may be left out.
func number(args string, otherwise int) (int, error) {
	if args == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(args)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", args)
	}
	return n, nil
}

// allFrames is how many frames bt shows if it is not told.
const allFrames = 1000

func (sh *Shell) backtrace(ctx context.Context, args string) error {
	if _, err := sh.current(); err != nil {
		return err
	}
	rest, full := strings.CutPrefix(args, "full")
	n, err := number(strings.TrimSpace(rest), allFrames)
	if err != nil || n < 0 {
		return errors.Join(errors.New("bt [full] [N]"), err)
	}
	frames, more, err := sh.s.Described(ctx, sh.stack.ID, 0, max(n, 1), full)
	if err != nil {
		return err
	}
	if err := report.WriteFrames(sh.out, frames, sh.main, sh.opts); err != nil {
		return err
	}
	if more {
		return sh.printf("  (more frames follow: bt %d)\n", 2*n)
	}
	if end := sh.s.End(sh.stack.ID); end != "" {
		return sh.printf("  stack ends here: %s\n", report.Clean(end))
	}
	return nil
}

// show writes the frame.
func (sh *Shell) show(ctx context.Context) error {
	frames, _, err := sh.s.Described(ctx, sh.stack.ID, sh.frame.Index, 1, false)
	if err != nil {
		return err
	}
	if l, err := sh.s.Listing(ctx, sh.frame.ID, 1); err == nil && l != nil && len(frames) == 1 {
		if at := frames[0].Source.Line - l.First; at >= 0 && at < len(l.Lines) {
			l.Lines, l.First = l.Lines[at:at+1], frames[0].Source.Line
			frames[0].Listing = l
		}
	}
	return report.WriteFrames(sh.out, frames, sh.main, sh.opts)
}

// to goes to a frame of the stack.
func (sh *Shell) to(ctx context.Context, n int) error {
	if n < 0 {
		return errors.New("this is the youngest frame")
	}
	list, _, err := sh.s.Frames(ctx, sh.stack.ID, n, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("the stack has no frame %d", n)
	}
	if err := sh.use(list[0]); err != nil {
		return err
	}
	return sh.show(ctx)
}

func (sh *Shell) goFrame(ctx context.Context, args string) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	n, err := number(args, f.Index)
	if err != nil {
		return err
	}
	return sh.to(ctx, n)
}

func (sh *Shell) move(ctx context.Context, args string, by int) error {
	f, err := sh.current()
	if err != nil {
		return err
	}
	n, err := number(args, 1)
	if err != nil {
		return err
	}
	return sh.to(ctx, f.Index+by*max(min(n, math.MaxInt32), -math.MaxInt32))
}

func (sh *Shell) up(ctx context.Context, args string) error   { return sh.move(ctx, args, 1) }
func (sh *Shell) down(ctx context.Context, args string) error { return sh.move(ctx, args, -1) }

// enter goes to a stack, to its frame to look at first.
func (sh *Shell) enter(ctx context.Context, st session.Stack) error {
	f, err := sh.s.FocusOf(ctx, st.ID)
	if err != nil {
		return err
	}
	if err := sh.use(f); err != nil {
		return err
	}
	if err := sh.printf("%s\n", heading(&st)); err != nil {
		return err
	}
	return sh.show(ctx)
}

// heading says which stack it is, in words of the dump.
func heading(st *session.Stack) string {
	s := fmt.Sprintf("%s %d", st.Kind, st.Number)
	if st.Name != "" {
		s += fmt.Sprintf(" (%s)", st.Name)
	}
	if st.Status != "" {
		s += ", " + st.Status
	} else if st.State != "" {
		s += ", " + st.State
	}
	if st.Crashed {
		s += ", crashed"
	}
	return report.Clean(s)
}

func (sh *Shell) thread(ctx context.Context, args string) error {
	if args == "" {
		if _, err := sh.current(); err != nil {
			return err
		}
		return sh.printf("%s\n", heading(&sh.stack))
	}
	id, err := strconv.ParseUint(args, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not the number of a thread", args)
	}
	st, err := sh.s.Find(ctx, "thread", id)
	if err != nil {
		return fmt.Errorf("there is no thread %d; info threads lists them", id)
	}
	return sh.enter(ctx, st)
}

func (sh *Shell) task(ctx context.Context, args string) error {
	id, err := strconv.ParseUint(args, 0, 64)
	if err != nil {
		return fmt.Errorf("%q is not the number of a task", args)
	}
	st, err := sh.s.FindTask(ctx, id)
	if err != nil {
		return fmt.Errorf("there is no task %d; info tasks lists them", id)
	}
	return sh.enter(ctx, st)
}

func (sh *Shell) report(ctx context.Context, _ string) error {
	r, err := sh.s.Summary(ctx)
	if err != nil {
		return err
	}
	return report.WriteText(sh.out, r, sh.opts)
}

func (sh *Shell) help(_ context.Context, args string) error {
	if args != "" {
		c, err := find(commands(), args, "command")
		if err != nil {
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

// Explain says what is wrong with an expression, and where.
func Explain(err error) string {
	var at *dwarfvars.ExpressionError
	if errors.As(err, &at) && at.At > 0 {
		return fmt.Sprintf("%v (at character %d of the expression)", err, at.At+1)
	}
	return err.Error()
}
