package fleet

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/service/backup"
	queue "github.com/corewalk/corewalk/internal/service/fleet"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/objects/s3"
)

// save copies what a service has into a directory.
func save(ctx context.Context, c serving.Server, to string, out io.Writer) error {
	return withPlaces(ctx, &c, to, func(db queue.Databases, files objects.Store) error {
		n, err := backup.Make(ctx, to, c.Version, db, files)
		return serving.PrintBackup(out, "saved", n, err)
	})
}

// restore makes of a backup what a database and a storage have.
func restore(ctx context.Context, c serving.Server, from string, out io.Writer) error {
	return withPlaces(ctx, &c, from, func(db queue.Databases, files objects.Store) error {
		n, err := backup.Restore(ctx, from, db, files)
		return serving.PrintBackup(out, "restored", n, err)
	})
}

// take takes dumps into a service, whose workers analyse them.
func take(ctx context.Context, c serving.Server, i serving.Import, out io.Writer) error {
	dir, err := os.MkdirTemp("", "corewalk-import-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.Dir = dir
	o, err := open(ctx, &c)
	if err != nil {
		return err
	}
	defer o.pool.Close()
	return i.Into(ctx, &c, o.store, o.objects, out)
}

// withPlaces opens the database and the storage of a service, without the programs that use them, for a backup in a directory.
func withPlaces(ctx context.Context, c *serving.Server, backup string, do func(db queue.Databases, files objects.Store) error) error {
	pool, err := queue.Connect(ctx, c.DB, 3)
	if err != nil {
		return err
	}
	defer pool.Close()
	if !strings.HasPrefix(c.Objects, "s3:") {
		if err := serving.Apart(c.Objects, backup); err != nil {
			return err
		}
		dir, err := objects.OpenShared(c.Objects)
		if err != nil {
			return err
		}
		return errors.Join(do(queue.BackupOf(pool), dir), dir.Close())
	}
	options, err := bucket(c.Objects)
	if err != nil {
		return err
	}
	if options.Dir, err = os.MkdirTemp("", "corewalk-backup-*"); err != nil {
		return err
	}
	defer os.RemoveAll(options.Dir)
	files, err := s3.Open(ctx, options)
	if err != nil {
		return err
	}
	return do(queue.BackupOf(pool), files)
}
