// Command corewalk says why a process died, from its core: see the usage text.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
)

// Exit statuses.
const (
	exitComplete   = 0 // the report is complete
	exitNothing    = 1 // nothing could be analysed
	exitUsage      = 2 // the command line makes no sense
	exitIncomplete = 3 // there is a report, with gaps
)

// env is what a run of the command sees of the world.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

func main() { os.Exit(run(os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr})) }

// run executes one command line and returns its exit status.
func run(args []string, e env) int {
	if len(args) > 0 && args[0] == "info" {
		return runInfo(args[1:], e)
	}
	return runReport(args, e)
}

// parse parses a command line. When it answers false the run is over, with the
// status it gives.
func parse(fs *pflag.FlagSet, args []string, usage string, e env) (int, bool) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	err := fs.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(e.stdout, "%s\nFlags:\n%s", usage, fs.FlagUsagesWrapped(100))
		return exitComplete, false
	case err != nil:
		return e.usageError("%v", err), false
	}
	return 0, true
}

// usageError reports a command line that makes no sense.
func (e env) usageError(format string, args ...any) int {
	fmt.Fprintf(e.stderr, "corewalk: "+format+" (corewalk --help shows how)\n", args...)
	return exitUsage
}

// fail reports that nothing could be analysed.
func (e env) fail(err error) int {
	fmt.Fprintf(e.stderr, "corewalk: %v\n", err)
	return exitNothing
}
