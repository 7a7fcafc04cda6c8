package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/faces/dap"
	"github.com/corewalk/corewalk/session"
)

const dapUsage = `corewalk dap serves a core to an editor by the Debug Adapter Protocol: threads and goroutines, stacks, variables,
watches, memory, disassembly. The process is only read.

Usage:
  corewalk dap [flags]

The editor starts it, and says in its launch request which dump to open: "core", and as the flags of a report "binary", "search",
"sysroot", "debugDir", "sourceMap", "symbolPath", "forceMismatched". Flags given here hold for all requests.

Examples:
  corewalk dap                               # the protocol on standard input and output
  corewalk dap --listen 127.0.0.1:4711       # for one editor after the other, on this machine alone
  corewalk dap --search /builds              # binaries and debug files are there for each dump

Exit status: 0 the editor has disconnected; 1 the protocol was broken; 2 wrong usage.
`

// dapFlags are the flags of corewalk dap.
type dapFlags struct {
	fileFlags
	listen string
}

func (f *dapFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk dap", pflag.ContinueOnError)
	f.register(fs, formatText)
	fs.StringVar(&f.listen, "listen", "", "wait for editors at `ADDRESS` of this machine, such as 127.0.0.1:4711, instead of standard input")
	return fs
}

func runDAP(args []string, e env) int {
	var f dapFlags
	fs := f.set()
	if status, ok := parse(fs, args, dapUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if fs.NArg() > 0 {
		return e.usageError("corewalk dap takes no files: the editor's launch request names the core")
	}
	defer e.guard()()
	if f.listen != "" {
		return f.serve(e)
	}
	if e.stdin == nil {
		return exitComplete
	}
	err := dap.Serve(e.ctx, e.stdin, e.stdout, f.opener(e))
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, syscall.EPIPE) { // an editor that has left wants no more
		return e.fail(err)
	}
	return exitComplete
}

// serve waits for editors, one after the other.
func (f *dapFlags) serve(e env) int {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return e.usageError("--listen %s: %v", f.listen, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return e.usageError("--listen %s: only addresses of this machine alone, such as 127.0.0.1:4711: who connects may read its files", f.listen)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return e.fail(err)
	}
	context.AfterFunc(e.ctx, func() { l.Close() })
	fmt.Fprintf(e.stdout, "listening at %s\n", l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			if e.ctx.Err() != nil {
				return exitComplete
			}
			return e.fail(err)
		}
		stop := context.AfterFunc(e.ctx, func() { c.Close() })
		if err := dap.Serve(e.ctx, c, c, f.opener(e)); err != nil && e.ctx.Err() == nil {
			e.say("%v", err)
		}
		stop()
		c.Close()
	}
}

// plain opens dumps without a session.
func (f *dapFlags) plain(e env) targetOpener {
	return func(ctx context.Context, r faces.Request, more ...corewalk.Option) (*corewalk.Target, error) {
		both := func(flags, request []string) []string { return slices.Concat(flags, request) }
		own := fileFlags{
			sysroots: both(f.sysroots, r.Sysroot), debugDirs: both(f.debugDirs, r.DebugDir), search: both(f.search, r.Search),
			sourceMaps: both(f.sourceMaps, r.SourceMap), sandbox: f.sandbox, keep: f.keep, force: f.force || r.ForceMismatched,
			format: f.format, formats: f.formats, color: f.color,
		}
		own.fetch.urls, own.fetch.symbols.paths = f.fetch.urls, f.fetch.symbols.paths
		if r.SymbolPath != "" {
			own.fetch.symbols.paths = both(f.fetch.symbols.paths, []string{r.SymbolPath})
		}
		e := e
		e.ctx = context.WithoutCancel(ctx) // the dump stays open after the request
		if err := own.check(e); err != nil {
			return nil, err
		}
		t, err := e.open(operands{core: r.Core, binary: r.Binary}, append(own.options(e, r.Binary), more...))
		if err != nil && t != nil {
			t.Close()
			t = nil
		}
		return t, err
	}
}

// opener opens the dumps that an editor asks for.
func (f *dapFlags) opener(e env) faces.Opener {
	open := f.plain(e)
	return func(ctx context.Context, r faces.Request) (*session.Session, func(), error) {
		t, err := open(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		s := session.New(t, session.Options{})
		return s, func() {
			s.Close()
			t.Close()
		}, nil
	}
}
