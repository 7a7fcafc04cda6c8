package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/faces/mcp"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/session"
)

const mcpUsage = `corewalk mcp serves dumps to an agent by the Model Context Protocol, on standard input and output: why a process died, stacks,
variables, expressions, memory, who waits for whom, groups of the ledger of corewalk triage. Nothing is changed.

Usage:
  corewalk mcp [flags] DIR...

The agent may read dumps, binaries and sources below DIR, and the binaries and debug files that a dump itself names by
their build-ids. Each answer has at most 8 KB.

Examples:
  corewalk mcp /crashes
  corewalk mcp /crashes /builds /src --search /builds
  corewalk mcp --redact /crashes      # strings, buffers and numbers of the dumps are blanked first

Exit status: 0 the agent has disconnected; 1 the protocol was broken; 2 wrong usage.
`

// mcpFlags are the flags of corewalk mcp.
type mcpFlags struct {
	dapFlags
	redact bool
	db     string
}

func (f *mcpFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk mcp", pflag.ContinueOnError)
	f.register(fs, formatText)
	fs.BoolVar(&f.redact, "redact", false, "blank strings, buffers and numbers, the arguments and the environment, as corewalk slim does")
	fs.StringVar(&f.db, "db", "", "the ledger of corewalk triage is in `FILE` (default: corewalk/triage.db in the user's state directory)")
	return fs
}

func runMCP(args []string, e env) int {
	var f mcpFlags
	fs := f.set()
	if status, ok := parse(fs, args, mcpUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if fs.NArg() == 0 {
		return e.usageError("which directories may the agent read? corewalk mcp DIR...")
	}
	var roots []string
	for _, dir := range fs.Args() {
		abs, err := filepath.Abs(dir)
		if st, err2 := os.Stat(dir); err == nil && (err2 != nil || !st.IsDir()) {
			err = errors.New("not a directory")
		}
		if err != nil {
			return e.usageError("%s: %v", dir, err)
		}
		roots = append(roots, abs)
	}
	defer e.guard()()
	in, out := e.stdin, e.stdout
	if in == nil {
		return exitComplete
	}
	open := f.opener(e)
	if f.redact {
		open = redacted(f.plain(e))
	}
	l := ledgerFlags{db: f.db}
	err := mcp.Serve(e.ctx, in, out, mcp.Config{Open: open, Roots: roots, Version: version(),
		Ledger: func(ctx context.Context) (ledger.Store, error) {
			own := e
			own.ctx = ctx
			return l.open(own)
		}})
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, syscall.EPIPE) { // an agent that has left wants no more
		return e.fail(err)
	}
	return exitComplete
}

// A targetOpener opens the dump of a request.
type targetOpener func(context.Context, faces.Request, ...corewalk.Option) (*corewalk.Target, error)

// redacted opens dumps of which the secrets are blanked: it makes a slim dump of each without them, and opens that.
func redacted(open targetOpener) faces.Opener {
	return func(ctx context.Context, r faces.Request) (_ *session.Session, end func(), err error) {
		dir, err := scratch.Make("", "corewalk-mcp-*")
		if err != nil {
			return nil, nil, err
		}
		undo := []func(){func() { _ = dir.Remove() }}
		end = func() {
			for _, f := range slices.Backward(undo) {
				f()
			}
		}
		defer func() {
			if err != nil {
				end()
			}
		}()
		t, err := open(ctx, r, corewalk.ForSlim())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: its secrets cannot be blanked: %w", r.Core, err)
		}
		undo = append(undo, func() { t.Close() })
		whole := r.Core
		r.Core = filepath.Join(dir.Path, filepath.Base(whole))
		if err := redact(ctx, t, r.Core); err != nil {
			return nil, nil, fmt.Errorf("%s: its secrets cannot be blanked: %w", whole, err)
		}
		blank, err := open(ctx, r, corewalk.WithFilesOf(t))
		if err != nil {
			return nil, nil, err
		}
		undo = append(undo, func() { blank.Close() })
		s := session.New(blank, session.Options{})
		undo = append(undo, func() { s.Close() })
		return s, end, nil
	}
}

// redact writes a slim dump without secrets.
func redact(ctx context.Context, t *corewalk.Target, to string) error {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = t.WriteSlim(ctx, file, corewalk.SlimOptions{Redact: true})
	return errors.Join(err, file.Close())
}
