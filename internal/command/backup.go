package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/triage/signature"
)

// backupFlags are the flags of corewalk serve backup and restore.
type backupFlags struct{ serveDir }

func (f *backupFlags) named(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.register(fs)
	return fs
}

func (f *backupFlags) set() *pflag.FlagSet { return f.named("corewalk serve backup") }

// copied has do work with a service and another directory, which is the only operand.
func copied(fs *pflag.FlagSet, e env, s serving.Server, do func(ctx context.Context, s serving.Server, dir string, out io.Writer) error) int {
	if fs.NArg() != 1 || fs.Arg(0) == "" {
		return e.usageError("%s DIR: which directory?", fs.Name())
	}
	s.Version, s.Signatures, s.Log = version(), signature.Version, e.stderr
	var said bytes.Buffer // that nobody reads it does not end the work
	err := do(e.ctx, s, fs.Arg(0), &said)
	_, written := e.stdout.Write(said.Bytes())
	if err != nil {
		return e.fail(err)
	}
	return e.written(written, exitComplete)
}

func runServeBackup(args []string, e env) int {
	var f backupFlags
	fs := f.named("corewalk serve backup")
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	dir, err := f.serviceDir()
	if err != nil {
		return e.fail(err)
	}
	return copied(fs, e, serving.Server{Dir: dir}, func(ctx context.Context, s serving.Server, to string, out io.Writer) error {
		return serving.Backup(ctx, &s, to, out)
	})
}

func runServeRestore(args []string, e env) int {
	var f backupFlags
	fs := f.named("corewalk serve restore")
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	dir, err := f.path()
	if err == nil {
		err = ownDir(dir)
	}
	if err != nil {
		return e.fail(err)
	}
	return copied(fs, e, serving.Server{Dir: dir}, func(ctx context.Context, s serving.Server, from string, out io.Writer) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		unlock, err := lockDir(dir)
		if err != nil {
			return err
		}
		defer unlock()
		return serving.Restore(ctx, &s, from, out)
	})
}

// importFlags are the flags of corewalk serve import.
type importFlags struct {
	serveDir
	project string
}

func (f *importFlags) own(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.StringVar(&f.project, "project", "default", "the project `NAME` takes them")
	return fs
}

func (f *importFlags) set() *pflag.FlagSet {
	fs := f.own("corewalk serve import")
	f.register(fs)
	return fs
}

func runServeImport(args []string, e env) int {
	var f importFlags
	fs := f.set()
	if status, ok := parse(fs, args, serveUsage, e); !ok {
		return status
	}
	dir, err := f.serviceDir()
	if err == nil && !serving.Exists(dir) {
		err = fmt.Errorf("%s: %w", dir, errNoService)
	}
	if err == nil {
		err = ownDir(dir)
	}
	if err != nil {
		return e.fail(err)
	}
	return copied(fs, e, serving.Server{Dir: dir}, func(ctx context.Context, s serving.Server, from string, out io.Writer) error {
		return serving.Import{Project: f.project, From: from}.Take(ctx, &s, out)
	})
}

// fleetImportFlags are the flags of corewalkd import.
type fleetImportFlags struct {
	importFlags
	fleetPlace
}

func (f *fleetImportFlags) set() *pflag.FlagSet {
	fs := f.own("corewalkd import")
	f.registerDB(fs)
	f.registerObjects(fs)
	return fs
}

func runFleetImport(args []string, e env) int {
	var f fleetImportFlags
	fs := f.set()
	if status, ok := parse(fs, args, daemonUsage, e); !ok {
		return status
	}
	if f.db == "" || f.objects == "" {
		return e.wrong(errNoPlace)
	}
	return copied(fs, e, serving.Server{DB: f.db, Objects: f.objects}, func(ctx context.Context, s serving.Server, from string, out io.Writer) error {
		return e.fleet.Import(ctx, s, serving.Import{Project: f.project, From: from}, out)
	})
}

var errNoPlace = errors.New("--db and --objects are needed: those of the service")

// fleetBackupFlags are the flags of corewalkd backup and restore.
type fleetBackupFlags struct{ fleetPlace }

func (f *fleetBackupFlags) named(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.registerDB(fs)
	f.registerObjects(fs)
	return fs
}

func (f *fleetBackupFlags) set() *pflag.FlagSet { return f.named("corewalkd backup") }

func (f *fleetBackupFlags) run(name string, args []string, e env, do func(ctx context.Context, s serving.Server, dir string, out io.Writer) error) int {
	fs := f.named(name)
	if status, ok := parse(fs, args, daemonUsage, e); !ok {
		return status
	}
	if f.db == "" || f.objects == "" {
		return e.wrong(errNoPlace)
	}
	return copied(fs, e, serving.Server{DB: f.db, Objects: f.objects}, do)
}

func runFleetBackup(args []string, e env) int {
	return new(fleetBackupFlags).run("corewalkd backup", args, e, e.fleet.Backup)
}

func runFleetRestore(args []string, e env) int {
	return new(fleetBackupFlags).run("corewalkd restore", args, e, e.fleet.Restore)
}
