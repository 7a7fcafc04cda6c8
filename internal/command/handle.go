package command

import (
	"errors"

	"github.com/spf13/pflag"
)

const handleUsage = `corewalk handle is what the kernel starts when a process dies (core_pattern). While the process still waits it takes
the registers, the stacks and the memory that the report needs, in less than a tenth of a second whatever the process's
size; then the process may end, and it writes a slim core, the report as text and JSON, and a row of the ledger.

Usage:
  corewalk handle --install      have the kernel start this program; remember what it did before
  corewalk handle --uninstall    put back what was there before
  corewalk handle --status       what is installed, and what is kept
  corewalk handle --listen FILE  serve a socket that the kernel connects to (Linux 6.17; install with --socket FILE)
  corewalk handle PID TID SIGNAL TIME HOST COMMAND    what the kernel calls, with a core on standard input

The policy is /etc/corewalk/handle.conf, lines of key = value; without it, crashes of all programs are kept in
/var/lib/corewalk, 2 GiB and 30 days of them. docs/handle.md lists the keys.

Examples:
  corewalk handle --install
  corewalk handle --status
  corewalk triage list --db /var/lib/corewalk/ledger/triage.db
  corewalk --debug-dir /var/lib/corewalk/files/1000 --debug-dir /usr/lib/debug /var/lib/corewalk/crashes/20261123*/core

Exit status: 0 it was done; 1 it was not; 2 wrong usage.
`

// handleFlags are the flags of corewalk handle. What the kernel calls it with is never taken for flags.
type handleFlags struct {
	install, uninstall, status bool
	policy, socket, listen     string
	// For this program itself.
	enter, analyse, debug string
}

func (f *handleFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk handle", pflag.ContinueOnError)
	fs.BoolVar(&f.install, "install", false, "have the kernel start this program when a process dies")
	fs.BoolVar(&f.uninstall, "uninstall", false, "put back what was there before --install")
	fs.BoolVar(&f.status, "status", false, "print what is installed, the policy and what is kept")
	fs.StringVar(&f.policy, "policy", "", "read the policy from `FILE` (default: /etc/corewalk/handle.conf)")
	fs.StringVar(&f.socket, "socket", "", "with --install: have the kernel connect to the socket `FILE`")
	fs.StringVar(&f.listen, "listen", "", "serve the socket `FILE`")
	fs.StringVar(&f.enter, "enter", "", "enter the rows below `DIR` into the ledger")
	fs.StringVar(&f.analyse, "analyse", "", "make the report of the core `NAME`, which is on standard input")
	fs.StringVar(&f.debug, "debug-dir", "", "with --analyse: `DIR` has files of the process")
	for _, hidden := range []string{"enter", "analyse", "debug-dir"} {
		fs.MarkHidden(hidden)
	}
	return fs
}

func runHandle(args []string, e env) int {
	if status, ok := e.handleCrash(args); ok {
		return status
	}
	var f handleFlags
	fs := f.set()
	if status, ok := parse(fs, args, handleUsage, e); !ok {
		return status
	}
	wanted := 0
	for _, given := range []bool{f.install, f.uninstall, f.status, f.listen != "", f.enter != "", f.analyse != ""} {
		if given {
			wanted++
		}
	}
	switch {
	case wanted != 1 || fs.NArg() > 0:
		return e.usageError("handle: one of --install, --uninstall, --status and --listen; the kernel gives it PID TID SIGNAL TIME HOST COMMAND")
	case f.socket != "" && !f.install:
		return e.wrong(errors.New("--socket goes with --install"))
	}
	return f.run(e)
}
