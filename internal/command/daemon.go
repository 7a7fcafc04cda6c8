package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/command/serving"
)

const daemonUsage = `corewalkd is a crash service on many machines: servers take dumps, as corewalk serve does, and workers analyse them. All of them have one
PostgreSQL database, and a directory or S3-compatible storage for dumps and symbols. Start as many as needed; each needs a --dir of its own. Each can be
ended and killed at any time: others go on with what it had.

Usage:
  corewalkd serve --db URL --objects PLACE [flags]    take dumps until Ctrl-C or SIGTERM
  corewalkd worker --db URL --objects PLACE [flags]   analyse dumps until Ctrl-C or SIGTERM
  corewalkd serve token add --db URL --project NAME --scope SCOPE,...
  corewalkd serve token list --db URL                 all tokens, without their secrets
  corewalkd serve token revoke --db URL ID
  corewalkd serve account add --db URL --project NAME --scope SCOPE,... PERSON
  corewalkd serve account list --db URL               all accounts; passwd and remove as those of corewalk serve
  corewalkd backup --db URL --objects PLACE DIR       back up everything into DIR while it runs; the next time only what is new
  corewalkd restore --db URL --objects PLACE DIR      fill an empty database and PLACE from a backup
  corewalkd import --db URL --objects PLACE --project NAME DIR    take the dumps below DIR
  corewalkd man                                       print the manual page
  corewalkd version                                   print the version

The first start makes a token for everything in the project "default", and prints it and the page's address. "corewalk serve --help" lists the scopes.
The password of the database may be in PGPASSWORD or in ~/.pgpass; the key of the object storage is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Examples:
  corewalkd serve --db postgres://corewalk@db/corewalk --objects /srv/crashes --listen :8780
  corewalkd worker --db postgres://corewalk@db/corewalk --objects 's3://dumps?endpoint=http://storage:9000' --dir /var/lib/corewalk --listen :8781

Exit status: 0 it was ended; 1 it could not go on; 2 wrong usage.
`

// daemonCommands lists the commands of corewalkd: what its operators give, and with which it starts itself to analyse dumps.
func daemonCommands() []command {
	return []command{
		{name: "serve", run: runFleetServe, flags: of[fleetServeFlags], usage: daemonUsage},
		{name: "serve token", run: runFleetToken, flags: of[fleetTokenFlags]},
		{name: "serve account", run: runFleetAccount, flags: of[fleetAccountFlags]},
		{name: "worker", run: runWorker, flags: of[workerFlags]},
		{name: "backup", run: runFleetBackup, flags: of[fleetBackupFlags]},
		{name: "restore", run: runFleetRestore, flags: of[fleetBackupFlags]},
		{name: "import", run: runFleetImport, flags: of[fleetImportFlags]},
		{name: "man", run: runMan},
		{name: "version", run: func(_ []string, e env) int { return runReport([]string{"--version"}, e) }},
		{name: "report", run: runReport, flags: of[reportFlags]},
		{name: "triage", run: runTriage, flags: of[triageFlags]},
	}
}

// operatorCommands are those without the ones with which it starts itself.
func operatorCommands() []command {
	return slices.DeleteFunc(daemonCommands(), func(c command) bool { return c.name == "report" || c.name == "triage" })
}

// runDaemon executes one command line of corewalkd.
func runDaemon(args []string, e env) int {
	if len(args) == 0 {
		return e.usageError("need a command: serve or worker")
	}
	switch args[0] {
	case "-h", "--help", "help":
		_, err := fmt.Fprint(e.stdout, daemonUsage)
		return e.written(err, exitComplete)
	case "--version":
		args = []string{"version"}
	}
	list := daemonCommands()
	i := slices.IndexFunc(list, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		return e.usageError("%s: no such command; there are serve and worker, and corewalk reads dumps", args[0])
	}
	e.catchInterrupts()
	return list[i].run(args[1:], e)
}

// A fleetPlace says where a service on many machines keeps everything.
type fleetPlace struct{ db, objects string }

func (p *fleetPlace) registerDB(fs *pflag.FlagSet) {
	fs.StringVar(&p.db, "db", "", "what is known is in the PostgreSQL database at `URL`, such as postgres://USER@HOST/NAME")
}

func (p *fleetPlace) registerObjects(fs *pflag.FlagSet) {
	fs.StringVar(&p.objects, "objects", "", "dumps and symbols are in `PLACE`, for all machines: a directory, or s3://BUCKET/PREFIX?endpoint=URL")
}

func (p *fleetPlace) register(fs *pflag.FlagSet) {
	p.registerDB(fs)
	p.registerObjects(fs)
	fs.Lookup("dir").Usage = "keep what is on its way in `DIR` (default: corewalk/serve in the user's state directory)"
}

// valid reports what is missing.
func (p *fleetPlace) valid() error {
	if p.db == "" || p.objects == "" {
		return errors.New("--db and --objects are needed: the database, and where dumps are, for all machines; corewalk serve needs neither")
	}
	return nil
}

// with has do work there.
func (p *fleetPlace) with(do func(context.Context, serving.Server) error) func(context.Context, serving.Server) error {
	return func(ctx context.Context, s serving.Server) error {
		s.DB, s.Objects = p.db, p.objects
		return do(ctx, s)
	}
}

// fleetServeFlags are the flags of corewalkd serve.
type fleetServeFlags struct {
	serveFlags
	fleetPlace
}

func (f *fleetServeFlags) set() *pflag.FlagSet {
	fs := f.serveFlags.set()
	f.fleetPlace.register(fs)
	return fs
}

func runFleetServe(args []string, e env) int {
	if len(args) > 0 && args[0] == "token" {
		return runFleetToken(args[1:], e)
	}
	if len(args) > 0 && args[0] == "account" {
		return runFleetAccount(args[1:], e)
	}
	var f fleetServeFlags
	fs := f.set()
	if status, ok := parse(fs, args, daemonUsage, e); !ok {
		return status
	}
	err := f.serveFlags.valid(e, fs)
	if err == nil && f.answer != "" {
		return f.answers(e, args)
	}
	if err == nil {
		err = f.fleetPlace.valid()
	}
	if err != nil {
		return e.wrong(err)
	}
	return f.run(e, fs, f.with(e.fleet.Serve))
}

// workerFlags are the flags of corewalkd worker.
type workerFlags struct {
	serveFlags
	fleetPlace
}

func (f *workerFlags) set() *pflag.FlagSet {
	fs := f.common("corewalkd worker")
	f.fleetPlace.register(fs)
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0", "answer questions about health and metrics at `ADDRESS:PORT`; with port 0 at any")
	return fs
}

func runWorker(args []string, e env) int {
	var f workerFlags
	fs := f.set()
	if status, ok := parse(fs, args, daemonUsage, e); !ok {
		return status
	}
	err := f.serveFlags.valid(e, fs)
	if err == nil {
		err = f.fleetPlace.valid()
	}
	if err != nil {
		return e.wrong(err)
	}
	return f.run(e, fs, f.with(e.fleet.Work))
}

// fleetTokenFlags are the flags of corewalkd serve token.
type fleetTokenFlags struct {
	tokenFlags
	fleetPlace
}

func (f *fleetTokenFlags) set() *pflag.FlagSet {
	fs := f.own("corewalkd serve token")
	f.registerDB(fs)
	return fs
}

func runFleetToken(args []string, e env) int {
	var f fleetTokenFlags
	return f.access(args, e, f.set(), f.run)
}

// fleetAccountFlags are the flags of corewalkd serve account.
type fleetAccountFlags struct {
	accountFlags
	fleetPlace
}

func (f *fleetAccountFlags) set() *pflag.FlagSet {
	fs := f.own("corewalkd serve account")
	f.registerDB(fs)
	return fs
}

func runFleetAccount(args []string, e env) int {
	var f fleetAccountFlags
	return f.access(args, e, f.set(), f.run)
}

// access parses the flags of a command that needs the database alone, and runs it with the tokens and accounts there.
func (p *fleetPlace) access(args []string, e env, fs *pflag.FlagSet, run func(env, *pflag.FlagSet, func() (serving.Tokens, error)) int) int {
	if status, ok := parse(fs, args, daemonUsage, e); !ok {
		return status
	}
	if p.db == "" {
		return e.usageError("--db is needed: the database of the service")
	}
	return run(e, fs, func() (serving.Tokens, error) { return e.fleet.Tokens(e.ctx, p.db, e.stderr) })
}
