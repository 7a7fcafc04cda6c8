// Package command is the command corewalk: flags, subcommands, exit statuses. corewalkd is made of it, too, with commands of its own.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/report"
)

// Exit statuses.
const (
	exitComplete   = 0 // the report is complete
	exitNothing    = 1 // nothing could be analysed
	exitUsage      = 2 // the command line is wrong
	exitIncomplete = 3 // there is a report, with gaps
)

// env is the environment of one run of the command.
type env struct {
	ctx            context.Context // done at Ctrl-C
	stdin          io.Reader
	stdout, stderr io.Writer
	fleet          *serving.Fleet // nil but in corewalkd
	// catch makes Ctrl-C end ctx from now on. It is nil in tests, where the program goes on after the run.
	catch func()
}

// shortRun is how long a run may take without preparations for a long one. Each of these starts threads or stops all
// goroutines, which is a tenth of a small report. Until then Ctrl-C ends the program as it ends others: nothing of
// what runs so short needs to be undone.
const shortRun = 20 * time.Millisecond

// Main is the whole program: corewalk, or corewalkd if there is a fleet. It does not return.
func Main(fleet *serving.Fleet) {
	growStack(false)
	late := putOffGC()

	// Writing to a pipe whose reader has left is then an error, which written does not
	// count as a failure.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	catch := sync.OnceFunc(func() {
		caught, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		context.AfterFunc(caught, func() {
			cancel(context.Cause(caught))
			stop() // the second Ctrl-C kills
		})
	})
	time.AfterFunc(shortRun, func() {
		catch()
		late()
	})
	os.Exit(run(os.Args[1:], env{ctx, os.Stdin, os.Stdout, os.Stderr, fleet, catch}))
}

// catchInterrupts makes Ctrl-C end the run's context at once, not after shortRun. What is to be undone at the end, in
// files or in other processes, begins after that.
func (e env) catchInterrupts() {
	if e.catch != nil {
		e.catch()
	}
}

// leave closes the target of a run that ends.
func (e env) leave(t *corewalk.Target) {
	if e.catch != nil {
		t.CloseAtExit()
		return
	}
	t.Close()
}

// run executes one command line and returns its exit status.
func run(args []string, e env) int {
	if e.fleet != nil {
		return runDaemon(args, e)
	}
	if len(args) == 0 {
		status := e.usageError("need a core file")
		fmt.Fprintf(e.stderr, "\n%s", usageLines)
		return status
	}
	if sub, ok := findCommand(args[0]); ok && args[0] != "" {
		e.catchInterrupts()
		return sub.run(args[1:], e)
	}
	if near := misspelt(args[0]); near != "" {
		return e.usageError("%s: no such file; did you mean corewalk %s?", args[0], near)
	}
	return runReport(args, e)
}

// parse parses a command line. If it returns false the run is over, with the status
// that it returns.
func parse(fs *pflag.FlagSet, args []string, usage string, e env) (int, bool) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(joinValues(fs, args))
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err = fmt.Fprintf(e.stdout, "%s\nFlags:\n%s", usage, fs.FlagUsagesWrapped(100))
		return e.written(err, exitComplete), false
	case err != nil:
		return e.usageError("%s", suggestFlag(fs, err)), false
	}
	return 0, true
}

// say writes one line to standard error. Operands, flags and what dumps say are part of it: what a
// terminal would obey is escaped.
func (e env) say(format string, args ...any) {
	fmt.Fprintf(e.stderr, "%s: %s\n", e.program(), report.Clean(fmt.Sprintf(format, args...)))
}

// firstSaid is the first line that another process of this program said, without what it is called.
func firstSaid(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	name, rest, ok := strings.Cut(line, ": ")
	if ok && (name == "corewalk" || name == "corewalkd") {
		return rest
	}
	return line
}

// program is what the program is called.
func (e env) program() string {
	if e.fleet != nil {
		return "corewalkd"
	}
	return "corewalk"
}

// usageError reports a wrong command line.
func (e env) usageError(format string, args ...any) int {
	e.say(format+" ("+e.program()+" --help shows how)", args...)
	return exitUsage
}

// wrong reports why a command line cannot be carried out.
func (e env) wrong(err error) int {
	return e.usageError("%v", err)
}

// fail reports that nothing could be analysed.
func (e env) fail(err error) int {
	e.say("%s", joined(err))
	return exitNothing
}

// joined is the text of an error. Several errors that errors.Join put together are on one line.
func joined(err error) string {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err.Error()
	}
	var texts []string
	for _, err := range several.Unwrap() {
		texts = append(texts, joined(err))
	}
	if err.Error() != errors.Join(several.Unwrap()...).Error() {
		return err.Error() // it has words of its own
	}
	return strings.Join(texts, "; ")
}

// writeJSON prints a document of JSON.
func (e env) writeJSON(v any) error {
	b, err := report.JSON(v, "  ")
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(append(b, '\n'))
	return err
}

// written returns the exit status after writing the output ended with err. A reader
// that has left, as with "corewalk core | head", is not a failure.
func (e env) written(err error, status int) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return status
	}
	return e.fail(fmt.Errorf("the report could not be written: %w", err))
}
