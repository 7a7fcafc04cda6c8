package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/dwarfvars"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

const printUsage = `corewalk print shows what an expression names in a frame of a core: a variable, a member, an element, what a
pointer points to. It is written as the program's language writes it. Nothing is called and nothing is changed.

Usage:
  corewalk print [flags] CORE [BINARY] 'EXPRESSION'

Examples:
  corewalk print core.4242 'q->head->next[3].name'
  corewalk print core.4242 '*p'                       # what a pointer points to; &x: where x is
  corewalk print core.4242 'arr[2:5]'                 # elements 2, 3 and 4; p@10: ten objects from p on
  corewalk print core.4242 '(struct tile *)0x55d0'    # a type for an address; Go: (*main.node)(0xc000)
  corewalk print core.4242 'limits["cpu"]'            # an element of a map
  corewalk print --frame 3 --thread 4250 core.4242 x  # frames are numbered as in the report
  corewalk print core.4242 '$rip'                     # a register of the frame
  corewalk print --format json core.4242 '$pc' | jq .data

Without --frame it is the frame that the report points to: the one to look at first.

Exit status: 0 there is a value; 1 there is none, and why; 2 wrong usage.
`

// frameFlags say which frame is meant.
type frameFlags struct {
	frame  int
	thread int
	task   uint64
}

func (f *frameFlags) register(fs *pflag.FlagSet) {
	fs.IntVar(&f.frame, "frame", -1, "in frame `N` of the stack, as the report numbers them")
	fs.IntVar(&f.thread, "thread", 0, "on the stack of thread `TID`")
	fs.Uint64Var(&f.task, "task", 0, "on the stack of goroutine or task `ID`")
}

// choose returns the frame that the flags name.
func (f *frameFlags) choose(ctx context.Context, s *session.Session) (session.Frame, error) {
	var st session.Stack
	var err error
	switch {
	case f.thread != 0 && f.task != 0:
		return session.Frame{}, errors.New("--thread and --task are two stacks; give one")
	case f.thread != 0:
		if st, err = s.Find(ctx, "thread", uint64(f.thread)); err != nil {
			return session.Frame{}, fmt.Errorf("there is no thread %d; corewalk info lists the threads", f.thread)
		}
	case f.task != 0:
		if st, err = s.FindTask(ctx, f.task); err != nil {
			return session.Frame{}, fmt.Errorf("there is no goroutine or task %d", f.task)
		}
	case f.frame < 0:
		return s.Focus(ctx)
	default:
		list, err := s.Threads(ctx)
		if err != nil || len(list) == 0 {
			return session.Frame{}, errors.Join(errors.New("there are no threads"), err)
		}
		st = list[0]
	}
	if f.frame < 0 {
		return s.FocusOf(ctx, st.ID)
	}
	list, _, err := s.Frames(ctx, st.ID, f.frame, 1)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("the stack of %s %d has no frame %d", st.Kind, st.Number, f.frame)
	}
	if err != nil {
		return session.Frame{}, err
	}
	return list[0], nil
}

// printFlags are the flags of corewalk print.
type printFlags struct {
	fileFlags
	frame frameFlags
	raw   bool
}

func (f *printFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk print", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	f.sandbox.register(fs, sandboxOff)
	f.frame.register(fs)
	fs.BoolVar(&f.raw, "raw", false, "show the members of library types, not what they mean")
	return fs
}

func runPrint(args []string, e env) int {
	var f printFlags
	fs := f.set()
	if status, ok := parse(fs, args, printUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	files, expr, err := expressionOf(fs.Args())
	if err != nil {
		return e.wrong(err)
	}
	e, status, done := f.sandboxed(e, []string{"print"}, args, files)
	if done {
		return status
	}
	defer e.guard()()
	_, t, status, err := f.target(e, files)
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	s := session.New(t, session.Options{Values: dwarfvars.Options{Raw: f.raw}})
	defer s.Close()
	frame, err := f.frame.choose(e.ctx, s)
	if err != nil {
		return e.fail(err)
	}
	v, err := s.Evaluate(e.ctx, frame.ID, expr)
	if err != nil {
		return e.fail(pointed(expr, err))
	}
	if f.format == formatJSON {
		data, err := s.Report(e.ctx, v)
		if err != nil {
			return e.fail(err)
		}
		return e.written(e.writeJSON(data), printStatus(&v))
	}
	text := v.Value
	if v.Status != report.StatusSuccess {
		text = "<" + v.Reason + ">"
	}
	_, err = fmt.Fprintln(e.stdout, report.Clean(text)+v.Whose())
	return e.written(err, printStatus(&v))
}

func printStatus(v *session.Variable) int {
	if v.Status != report.StatusSuccess {
		return exitNothing
	}
	return exitComplete
}

// pointed adds to an error where in an expression it is.
func pointed(expr string, err error) error {
	var at *dwarfvars.ExpressionError
	if !errors.As(err, &at) || strings.ContainsAny(expr, "\n\t") {
		return err
	}
	return fmt.Errorf("%s: %w", expr, err)
}

// expressionOf splits CORE [BINARY] EXPRESSION.
func expressionOf(args []string) (files []string, expr string, err error) {
	switch n := len(args); {
	case n == 0:
		return nil, "", errors.New("need a core file and an expression")
	case n == 1:
		return nil, "", errors.New("need an expression after the core file: corewalk print CORE 'EXPRESSION'")
	case n == 2:
		return args[:1], args[1], nil
	case n == 3:
		if st, err := os.Stat(args[1]); err == nil && st.Mode().IsRegular() {
			return args[:2], args[2], nil
		}
	}
	return nil, "", fmt.Errorf("%d words after the core file; write the expression in quotes", len(args)-1)
}
