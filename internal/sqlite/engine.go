//go:build !((linux && (ppc64 || mips || mipsle || mips64 || mips64le)) || dragonfly || (openbsd && !amd64 && !arm64) || (netbsd && !amd64))

package sqlite

import (
	"database/sql"
	"errors"

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
