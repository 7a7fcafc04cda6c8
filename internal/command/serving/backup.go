package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/backup"
	"github.com/corewalk/corewalk/internal/service/objects"
	serviceDB "github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
)

// Backup copies what the service in a directory has into another, while it runs, and writes how much that was.
func Backup(ctx context.Context, c *Server, to string, out io.Writer) error {
	files, err := objects.OpenRead(c.Dir)
	if err != nil {
		return err
	}
	n, err := backup.Make(ctx, to, c.Version, embedded{c.Dir, c.Signatures}, files)
	return PrintBackup(out, "saved", n, err)
}

// Restore makes of a backup what a directory has, in which there is no service.
func Restore(ctx context.Context, c *Server, from string, out io.Writer) error {
	files, err := objects.OpenDir(c.Dir)
	if err != nil {
		return err
	}
	n, err := backup.Restore(ctx, from, embedded{c.Dir, c.Signatures}, files)
	return PrintBackup(out, "restored", n, err)
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

// Save implements backup.Databases. A dump is in the ledger of its project before its row says so: ledgers are copied last, and what they have more is
// analysed again.
func (e embedded) Save(ctx context.Context, dir string) (*backup.Saved, error) {
	s := &backup.Saved{Kind: embeddedKind, Versions: map[string]int{}}
	var err error
	if s.Versions[""], err = serviceDB.Save(ctx, filepath.Join(e.dir, databaseFile), filepath.Join(dir, databaseFile), s.Add); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s has no service: give its directory with --dir", e.dir)
		}
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, ledgersDir), 0o700); err != nil {
		return nil, err
	}
	projects, err := os.ReadDir(filepath.Join(e.dir, "projects"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, p := range projects {
		from := filepath.Join(projectDir(e.dir, p.Name()), ledgerFile)
		if _, err := os.Stat(from); err != nil {
			continue // nothing was analysed
		}
		if s.Versions[p.Name()], err = sqlite.Save(ctx, from, filepath.Join(dir, ledgersDir, p.Name()+".db")); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Empty implements backup.Databases.
func (e embedded) Empty(_ context.Context, s *backup.Saved) error {
	if s.Kind != embeddedKind {
		return fmt.Errorf("the backup is of %s, and is restored by corewalkd restore", s.Kind)
	}
	path := filepath.Join(e.dir, databaseFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there: restore into an empty directory (%w)", path, errors.Join(fs.ErrExist, err))
	}
	return nil
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
