package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/faces/shell"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

const shellUsage = `corewalk shell opens a core at a prompt. Commands are named as those of gdb: bt, frame N, up, down, info threads,
thread TID, p EXPR, x/8gx ADDRESS, disassemble, list, info locals. Nothing of the process runs.

Usage:
  corewalk shell [flags] CORE [BINARY]

Examples:
  corewalk shell core.4242
  corewalk shell --execute bt --execute 'p *q' core.4242    # these commands, and end
  corewalk shell --command commands.txt core.4242           # those of a file
  corewalk shell core.4242 < commands.txt

At a terminal, Tab completes commands and names of variables, and the arrow keys bring back lines of earlier runs, which
are kept in corewalk/history below the user's state directory. Ctrl-C ends a command, Ctrl-D the shell.

Exit status: 0 all commands were done; 1 the core was not opened, or a command failed that was given with --execute or from
a file; 2 wrong usage.
`

// shellFlags are the flags of corewalk shell.
type shellFlags struct {
	fileFlags
	execute, scripts []string
}

func (f *shellFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk shell", pflag.ContinueOnError)
	f.register(fs, formatText)
	fs.StringArrayVarP(&f.execute, "execute", "e", nil, "run `COMMAND`, and end after the last (repeatable)")
	fs.StringArrayVarP(&f.scripts, "command", "x", nil, "run the commands of `FILE` first, and end after the last (repeatable)")
	return fs
}

func runShell(args []string, e env) int {
	var f shellFlags
	fs := f.set()
	if status, ok := parse(fs, args, shellUsage+"\nCommands:\n"+shell.Help(), e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	defer e.guard()()
	_, t, status, err := f.target(e, fs.Args())
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	s := session.New(t, session.Options{})
	defer s.Close()
	opts := report.TextOptions{Color: f.colored(e.stdout)}
	if out, ok := e.stdout.(*os.File); ok {
		opts.Width = terminalColumns(out)
	}
	sh, err := shell.New(e.ctx, s, e.stdout, opts)
	if err != nil {
		e.say("%v", err)
	}
	in, isFile := e.stdin.(*os.File)
	switch {
	case len(f.execute)+len(f.scripts) > 0:
		var all []string
		for _, path := range f.scripts {
			all = append(all, "source "+path)
		}
		return runLines(e, sh, strings.NewReader(strings.Join(append(all, f.execute...), "\n")))
	case isFile && terminal(in) && liner.TerminalSupported():
		return prompt(e, sh, s)
	}
	return runLines(e, sh, interruptible(e.ctx, e.stdin))
}

// runLines runs commands that nobody types, until what they say is lost.
func runLines(e env, sh *shell.Shell, in io.Reader) int {
	status := exitComplete
	_, err := sh.RunAll(e.ctx, in, func(err error) {
		e.say("%s", shell.Explain(err))
		status = exitNothing
	})
	switch {
	case sh.Lost() != nil:
		return e.written(sh.Lost(), status)
	case errors.Is(err, shell.ErrQuit):
	case e.ctx.Err() != nil:
		return e.fail(errors.New("interrupted before all commands were done"))
	case err != nil:
		return e.fail(fmt.Errorf("read commands: %w", err))
	}
	return status
}

// terminal reports whether a file is one.
func terminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// prompt asks for commands until the user ends it.
func prompt(e env, sh *shell.Shell, s *session.Session) int {
	line := liner.NewLiner()
	defer line.Close()
	line.SetCtrlCAborts(true)
	line.SetTabCompletionStyle(liner.TabPrints)
	line.SetWordCompleter(func(text string, pos int) (string, []string, string) {
		return sh.Complete(e.ctx, text, pos)
	})
	path := history()
	if f, _, err := mmapfile.OpenRegular(path); err == nil {
		_, _ = line.ReadHistory(f) // lines that are lost do no harm
		f.Close()
	}
	defer afterAnswer(func() { keepHistory(line, path) })
	if err := sh.Run(e.ctx, "frame"); err != nil {
		e.say("%s", shell.Explain(err))
	}
	last := ""
	for {
		text, err := line.Prompt("(corewalk) ")
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			continue
		case err != nil: // Ctrl-D
			fmt.Fprintln(e.stdout)
			return exitComplete
		}
		if text = strings.TrimSpace(text); text == "" {
			text = last // as in gdb, an empty line is the one before
		} else {
			line.AppendHistory(text)
		}
		last = text
		ctx, stop := signal.NotifyContext(context.WithoutCancel(e.ctx), os.Interrupt)
		err = sh.Run(ctx, text)
		stop()
		if errors.Is(err, shell.ErrQuit) {
			return exitComplete
		}
		if err != nil {
			e.say("%s", shell.Explain(err))
		}
	}
}

// history is where the lines of earlier runs are; "" if there is no such place.
func history() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "corewalk", "history")
}

// keepHistory writes the lines for later runs. They may have secrets: only the user may read them.
func keepHistory(line interface{ WriteHistory(io.Writer) (int, error) }, path string) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return // a pipe would wait for its reader
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = line.WriteHistory(f) // lines that are lost do no harm
}
