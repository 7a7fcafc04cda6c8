//go:build !((linux && (ppc64 || mips || mipsle || mips64 || mips64le)) || dragonfly || (openbsd && !amd64 && !arm64) || (netbsd && !amd64))

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"modernc.org/sqlite" // the driver "sqlite"
)

// open opens a database by a URI.
func open(name string) (*sql.DB, error) { return sql.Open("sqlite", name) }

// code is the code of an error of SQLite; 0 for another error.
func code(err error) int {
	var known *sqlite.Error
	if errors.As(err, &known) {
		return known.Code() & 0xff
	}
	return 0
}

// copyTo copies what a connection reads to another file, some pages at a time.
func copyTo(ctx context.Context, conn any, to string) error {
	const pages = 1024
	from, ok := conn.(interface {
		NewBackup(to string) (*sqlite.Backup, error)
	})
	if !ok {
		return errors.New("the connection cannot be copied")
	}
	b, err := from.NewBackup((&url.URL{Scheme: "file", Opaque: (&url.URL{Path: to}).EscapedPath()}).String())
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if more, err = b.Step(pages); err == nil {
			err = ctx.Err()
		}
	}
	return errors.Join(err, b.Finish())
}
