// Package shell is a prompt for one opened dump, with commands named as those of gdb: bt, frame, p, x, info threads. It
// asks a session.Session, and writes what it answers.
package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// A Shell has a frame in which expressions are evaluated. It is for one goroutine.
type Shell struct {
	s    *session.Session
	out  *outlet
	opts report.TextOptions
	wide report.TextOptions // of lines of frames: where no terminal shows them, they are whole
	main string             // path of the program

	frame session.Frame
	stack session.Stack
	has   bool // there is a frame
	list  listing

	examined    examination
	settings    settings
	displayed   []displayed
	nextDisplay int
	history     []session.Variable          // that were printed, the last ones
	printed     int                         // how many
	made        map[string]session.Variable // by set $name = x
	scripts     int                         // files of commands that are being run
	inBlock     int                         // how deep the lines are in a block of a command that was refused
}

// New returns a Shell at the frame to look at first, which writes to out.
func New(ctx context.Context, s *session.Session, out io.Writer, opts report.TextOptions) (*Shell, error) {
	sh := &Shell{s: s, out: &outlet{to: out}, opts: opts, settings: settings{listSize: listed}}
	sh.wide = opts
	sh.wide.Wide = opts.Wide || opts.Width == 0
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

// An outlet remembers that what is written was lost.
type outlet struct {
	to  io.Writer
	err error
}

func (o *outlet) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil {
		o.err = err
	}
	return n, err
}

// Lost returns why something that was written was lost; nil if nothing was.
func (sh *Shell) Lost() error { return sh.out.err }

// Go makes a frame the one in which expressions are evaluated.
func (sh *Shell) Go(ctx context.Context, id session.FrameID) error {
	if sh.has && sh.frame.ID == id {
		return nil
	}
	st, index, err := sh.s.Position(id)
	if err != nil {
		return err
	}
	list, _, err := sh.s.Frames(ctx, st.ID, index, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("the stack has no frame %d", index)
	}
	return sh.use(list[0])
}

func (sh *Shell) use(f session.Frame) error {
	st, _, err := sh.s.Position(f.ID)
	if err != nil {
		return err
	}
	sh.frame, sh.stack, sh.has = f, st, true
	return nil
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

// listed is how many lines of source list shows, as gdb does.
const listed = 10

// allFrames is how many frames bt shows if it is not told.
const allFrames = 1000

func (sh *Shell) backtrace(ctx context.Context, args string) error {
	if _, err := sh.current(); err != nil {
		return err
	}
	n, full := cmp.Or(sh.settings.frames, allFrames), false
	for word := range strings.FieldsSeq(args) {
		switch option := strings.TrimLeft(word, "-"); option {
		case "full", "fu", "f":
			full = true
		case "frame-arguments", "frame-info", "entry-values", "past-main", "past-entry", "no-filters", "hide", "scalars", "all", "presence", "off", "on", "none", "raw-frame-arguments":
		default:
			var err error
			if n, err = number(word, allFrames); err != nil {
				return fmt.Errorf("bt [full] [N]: %w", err)
			}
		}
	}
	from := 0
	if n < 0 { // the outermost
		all, more, err := sh.s.Frames(ctx, sh.stack.ID, 0, allWalked)
		if err != nil {
			return err
		}
		if more {
			return fmt.Errorf("the stack has more than %d frames: the last are not looked for", allWalked)
		}
		from = max(len(all)+n, 0)
		n = len(all) - from
	}
	frames, more, err := sh.s.Described(ctx, sh.stack.ID, from, max(n, 1), full)
	if err != nil {
		return err
	}
	if err := sh.writeFrames(frames); err != nil {
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

// allWalked is how many frames are walked to find the last.
const allWalked = 100_000

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
	return sh.writeFrames(frames)
}

// writeFrames writes frames of one stack.
func (sh *Shell) writeFrames(frames []report.Frame) error {
	opts := sh.wide
	if opts.MaxValue == 0 && opts.Wide && !sh.wholeValues() {
		opts.MaxValue = longestValue
	}
	if !sh.settings.bare {
		return report.WriteFrames(sh.out, frames, sh.main, opts)
	}
	var b bytes.Buffer
	if err := report.WriteFrames(&b, frames, sh.main, opts); err != nil {
		return err
	}
	return sh.printf("%s", withoutAddresses(b.String()))
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
	what, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	switch what {
	case "function":
		return sh.toFunction(ctx, rest)
	case "level":
		args = rest
	case "apply":
		return sh.applyFrames(ctx, rest)
	case "address", "view":
		return fmt.Errorf("frame %s is not known; frame N and frame function NAME are", what)
	}
	n, err := number(args, f.Index)
	if err != nil {
		return err
	}
	return sh.to(ctx, n)
}

// toFunction goes to the youngest frame of a function, from the frame on to its callers.
func (sh *Shell) toFunction(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("frame function NAME: the name is missing")
	}
	list, _, err := sh.s.Frames(ctx, sh.stack.ID, 0, allFrames)
	if err != nil {
		return err
	}
	for i := range list {
		plain, _, _ := strings.Cut(list[i].Function, "(")
		if ada := demangle.Ada(plain); strings.EqualFold(ada, name) || strings.HasSuffix(ada, "."+strings.ToLower(name)) {
			return sh.to(ctx, i)
		}
		template, _, _ := strings.Cut(plain, "<") // of all its instances
		if list[i].Function == name || plain == name || template != "" && (template == name || strings.HasSuffix(template, "::"+name)) || strings.HasSuffix(plain, "::"+name) || strings.HasSuffix(plain, "."+name) {
			return sh.to(ctx, i)
		}
	}
	return fmt.Errorf("no frame of this stack is one of %s", name)
}

// applyFrames is frame apply all|N COMMAND.
func (sh *Shell) applyFrames(ctx context.Context, args string) error {
	which, command, _ := strings.Cut(args, " ")
	n := allFrames
	if which != "all" {
		var err error
		if n, err = number(which, 0); err != nil || n < 1 || command == "" {
			return errors.New("frame apply all|N COMMAND")
		}
	}
	list, _, err := sh.s.Frames(ctx, sh.stack.ID, 0, n)
	if err != nil {
		return err
	}
	back := *sh
	defer func() { sh.frame, sh.stack, sh.has = back.frame, back.stack, back.has }()
	for i := range list {
		if err := sh.use(list[i]); err != nil {
			return err
		}
		if err := sh.applied(ctx, command, func() error {
			return errors.Join(sh.use(list[i]), sh.show(ctx)) // the command may have gone elsewhere
		}); err != nil {
			return err
		}
	}
	return nil
}

// applied runs a command for one of several threads or frames, under the heading of that. That it fails does not end the
// others; with -s nothing is shown, either, of those for which it fails or shows nothing.
func (sh *Shell) applied(ctx context.Context, command string, heading func() error) error {
	command = strings.TrimSpace(command)
	quiet := false
	for strings.HasPrefix(command, "-") {
		flag, rest, _ := strings.Cut(command, " ")
		quiet = quiet || strings.Contains(flag, "s")
		command = strings.TrimSpace(rest)
	}
	if command == "" {
		return errors.New("a command is missing: thread apply all COMMAND, frame apply all COMMAND")
	}
	if !quiet {
		if err := heading(); err != nil {
			return err
		}
	}
	out, shown := sh.out, bytes.Buffer{}
	if quiet {
		sh.out = &outlet{to: &shown}
	}
	err := sh.Run(ctx, command)
	sh.out = out
	switch {
	case errors.Is(err, ErrQuit) || context.Cause(ctx) != nil:
		return err
	case !quiet && err != nil:
		return sh.printf("%s\n", report.Clean(Explain(err)))
	case err != nil || shown.Len() == 0:
		return nil
	}
	if err := heading(); err != nil {
		return err
	}
	return sh.printf("%s", shown.String())
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
	s := st.Title()
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
	what, rest, _ := strings.Cut(args, " ")
	switch what {
	case "apply":
		return sh.applyThreads(ctx, strings.TrimSpace(rest))
	case "name":
		return errors.New("names of threads are those that the process gave them")
	case "find":
		return sh.findThreads(ctx, strings.TrimSpace(rest))
	}
	st, err := sh.threadCalled(ctx, args)
	if err != nil {
		return err
	}
	return sh.enter(ctx, st)
}

// threadCalled is the thread with an identifier or, if none has it, with a number of info threads.
func (sh *Shell) threadCalled(ctx context.Context, name string) (session.Stack, error) {
	id, err := strconv.ParseUint(strings.TrimPrefix(name, "1."), 10, 64)
	if err != nil {
		return session.Stack{}, fmt.Errorf("%q is not the number of a thread", name)
	}
	if st, err := sh.s.Find(ctx, "thread", id); err == nil {
		return st, nil
	}
	list, err := sh.s.Threads(ctx)
	if err != nil {
		return session.Stack{}, err
	}
	if id >= 1 && id <= uint64(len(list)) {
		return list[id-1], nil
	}
	return session.Stack{}, fmt.Errorf("there is no thread %d; info threads lists them", id)
}

// applyThreads is thread apply all|N ...|N-M COMMAND.
func (sh *Shell) applyThreads(ctx context.Context, args string) error {
	const usage = "thread apply all|N ... COMMAND"
	all, err := sh.s.Threads(ctx)
	if err != nil {
		return err
	}
	var list []session.Stack
	for {
		word, rest, _ := strings.Cut(args, " ")
		from, to, isRange := strings.Cut(word, "-")
		switch {
		case word == "all":
			list = all
		case word != "" && strings.Trim(word, "0123456789.") == "":
			st, err := sh.threadCalled(ctx, word)
			if err != nil {
				return err
			}
			list = append(list, st)
		case isRange && from != "" && strings.Trim(from+to, "0123456789") == "":
			a, _ := strconv.Atoi(from)
			b, _ := strconv.Atoi(to)
			if a < 1 || b < a || b > len(all) {
				return fmt.Errorf("threads %s: info threads lists %d", word, len(all))
			}
			list = append(list, all[a-1:b]...)
		default:
			return sh.eachThread(ctx, list, args, usage)
		}
		args = strings.TrimSpace(rest)
	}
}

func (sh *Shell) eachThread(ctx context.Context, list []session.Stack, command, usage string) error {
	command = strings.TrimSpace(strings.TrimPrefix(command, "-ascending"))
	if command == "" || len(list) == 0 {
		return errors.New(usage)
	}
	back := *sh
	defer func() { sh.frame, sh.stack, sh.has = back.frame, back.stack, back.has }()
	for i := range list {
		head := func() error { return sh.printf("\n%s:\n", heading(&list[i])) }
		frames, _, err := sh.s.Frames(ctx, list[i].ID, 0, 1)
		if err != nil || len(frames) == 0 {
			if context.Cause(ctx) != nil {
				return err
			}
			if err := errors.Join(head(), sh.printf("no frames\n")); err != nil {
				return err
			}
			continue
		}
		if err := sh.use(frames[0]); err != nil {
			return err
		}
		if err := sh.applied(ctx, command, head); err != nil {
			return err
		}
	}
	return nil
}

// findThreads is thread find REGEX.
func (sh *Shell) findThreads(ctx context.Context, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("the pattern: %w", err)
	}
	list, err := sh.s.Threads(ctx)
	if err != nil {
		return err
	}
	found := false
	for i := range list {
		if h := heading(&list[i]); re.MatchString(h) {
			found = true
			if err := sh.printf("%s\n", h); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("no thread matches %s", pattern)
	}
	return nil
}

// taskNumber reads the number of a task: 17, 0x7f00, and <0.129.0> as Erlang writes it.
func taskNumber(text string) (id uint64, ok bool) {
	number, serial, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(text, "<0."), ">"), ".")
	if !ok || text != "<0."+number+"."+serial+">" {
		id, err := strconv.ParseUint(text, 0, 64)
		return id, err == nil
	}
	n, err := strconv.ParseUint(number, 10, 28)
	more, err2 := strconv.ParseUint(serial, 10, 36)
	return n | more<<28, err == nil && err2 == nil
}

func (sh *Shell) task(ctx context.Context, args string) error {
	id, ok := taskNumber(args)
	if !ok {
		return fmt.Errorf("%q is not the number of a task", args)
	}
	st, err := sh.s.FindTask(ctx, id)
	if err != nil {
		return fmt.Errorf("there is no task %s; info tasks lists them", args)
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

// Explain says what is wrong with an expression, and where.
func Explain(err error) string {
	var at *dwarfvars.ExpressionError
	if errors.As(err, &at) && at.At > 0 {
		return fmt.Sprintf("%v (at character %d of the expression)", err, at.At+1)
	}
	return err.Error()
}
