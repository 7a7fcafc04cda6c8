package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/backup"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	serviceDB "github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
	"github.com/corewalk/corewalk/report"
)

// Backup copies what the service in a directory has into another, while it runs, and writes how much that was.
func Backup(ctx context.Context, c *Server, to string, out io.Writer) error {
	if err := Apart(c.Dir, to); err != nil {
		return err
	}
	files, err := objects.OpenRead(c.Dir)
	if err != nil {
		return err
	}
	n, err := backup.Make(ctx, to, c.Version, embedded{c.Dir, c.Signatures}, files)
	return PrintBackup(out, "saved", n, err)
}

// Restore makes of a backup what a directory has, in which there is no service.
func Restore(ctx context.Context, c *Server, from string, out io.Writer) error {
	if err := Apart(c.Dir, from); err != nil {
		return err
	}
	files, err := objects.OpenDir(c.Dir)
	if err != nil {
		return err
	}
	n, err := backup.Restore(ctx, from, embedded{c.Dir, c.Signatures}, files)
	return PrintBackup(out, "restored", n, err)
}

// Apart returns an error if a service's directory and a backup are one, or one is below the other: a backup would copy itself.
func Apart(dir, backup string) error {
	a, err := withoutLinks(dir)
	if err != nil {
		return err
	}
	b, err := withoutLinks(backup)
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		if rel, err := filepath.Rel(pair[0], pair[1]); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("the backup %s and the service's directory %s overlap: keep the backup elsewhere", backup, dir)
		}
	}
	return nil
}

// withoutLinks resolves the links of a path, of which the last parts may not be there.
func withoutLinks(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	to, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		to, err = withoutLinks(filepath.Dir(path))
		to = filepath.Join(to, filepath.Base(path))
	}
	return to, err
}

// PrintBackup writes what a backup has, unless it failed.
func PrintBackup(out io.Writer, done string, n *backup.Counts, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d dumps, %d files, %d bytes", done, n.Dumps, n.Files, n.Bytes)
	if err == nil && n.Copied > 0 {
		_, err = fmt.Fprintf(out, "; %d files were copied", n.Copied)
	}
	if err == nil && n.Gone > 0 {
		_, err = fmt.Fprintf(out, "; %d dumps have no file: they were removed meanwhile", n.Gone)
	}
	if err == nil {
		_, err = fmt.Fprintln(out)
	}
	return err
}

// embedded are the databases of a service in a directory.
type embedded struct{ dir, signatures string }

const (
	embeddedKind = "sqlite"
	ledgersDir   = "ledgers"
)

// Save implements backup.Databases: all are of one moment, at which nothing is written to the service's. Else a dump that was received and analysed between two
// moments would be in its ledger alone.
func (e embedded) Save(ctx context.Context, dir string) (*backup.Saved, error) {
	s := &backup.Saved{Kind: embeddedKind, Versions: map[string]int{}}
	ledgers := map[string]sqlite.Pinned{}
	defer func() {
		for _, l := range ledgers {
			_ = l.Close() // nothing was written
		}
	}()
	version, err := serviceDB.Save(ctx, filepath.Join(e.dir, databaseFile), filepath.Join(dir, databaseFile), func() error {
		projects, err := os.ReadDir(filepath.Join(e.dir, "projects"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, p := range projects {
			l, err := sqlite.Pin(ctx, filepath.Join(projectDir(e.dir, p.Name()), ledgerFile))
			if errors.Is(err, fs.ErrNotExist) { // nothing was analysed
				continue
			}
			if err != nil {
				return err
			}
			ledgers[p.Name()] = l
		}
		return nil
	}, s.Add)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no service: give its directory with --dir", e.dir)
	}
	if err == nil {
		s.Versions[""] = version
		err = os.Mkdir(filepath.Join(dir, ledgersDir), 0o700)
	}
	for project, l := range ledgers {
		if err == nil {
			s.Versions[project], err = l.Save(ctx, filepath.Join(dir, ledgersDir, project+".db"))
		}
	}
	return s, err
}

// Empty implements backup.Databases.
func (e embedded) Empty(_ context.Context, s *backup.Saved) error {
	if s.Kind != embeddedKind {
		return fmt.Errorf("the backup is of %s, and is restored by corewalkd restore", s.Kind)
	}
	path := filepath.Join(e.dir, databaseFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s has a service: restore into another directory", e.dir), err)
	}
	return s.Known(serviceDB.Version(), sqlite.Version())
}

// Load implements backup.Databases: the database of the service comes last, as it says that there is one.
func (e embedded) Load(ctx context.Context, dir string, s *backup.Saved) error {
	for project := range s.Versions {
		if project == "" {
			continue
		}
		if err := service.CheckProject(project); err != nil {
			return err
		}
		path := filepath.Join(projectDir(e.dir, project), ledgerFile)
		if err := copyFile(filepath.Join(dir, ledgersDir, project+".db"), path); err != nil {
			return err
		}
		l, err := sqlite.Open(ctx, path, e.signatures)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return err
		}
	}
	path := filepath.Join(e.dir, databaseFile)
	if err := copyFile(filepath.Join(dir, databaseFile), path); err != nil {
		return err
	}
	db, err := serviceDB.Open(ctx, path)
	if err != nil {
		return err
	}
	return errors.Join(db.Settle(ctx), db.Close())
}

// copyFile copies a file to a path that it has when it is whole.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.Rename(to+".new", to)
	}
	return err
}

// An Import says into which project dumps are taken, and from where.
type Import struct{ Project, From string }

// Take takes dumps into the service in a directory, while it runs.
func (i Import) Take(ctx context.Context, c *Server, out io.Writer) error {
	db, err := serviceDB.Open(ctx, filepath.Join(c.Dir, databaseFile))
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := objects.OpenShared(c.Dir)
	if err != nil {
		return err
	}
	defer files.Close()
	return i.Into(ctx, c, db, files, out)
}

// Into takes dumps into a store.
func (i Import) Into(ctx context.Context, c *Server, db store.Store, files objects.Store, out io.Writer) error {
	own := Config(c, db, files)
	own.Log = slog.New(slog.DiscardHandler) // it tells of each dump
	n, err := service.Import(ctx, own, i.Project, i.From, func(path string, err error) {
		fmt.Fprintf(c.Log, "corewalk: %s\n", report.Clean(fmt.Sprintf("%s: %v", path, err)))
	})
	if err == nil && n == (service.Imported{}) {
		return fmt.Errorf("%s has no dumps: nothing was imported", i.From)
	}
	if err != nil && n == (service.Imported{}) {
		return err
	}
	if _, perr := fmt.Fprintf(out, "imported: %d dumps, %d were there, %d could not be taken\n", n.New, n.Known, n.Failed); err == nil {
		err = perr
	}
	if err == nil && n.New+n.Known == 0 {
		err = errors.New("nothing was imported")
	}
	return err
}
