//go:build (linux && (ppc64 || mips || mipsle || mips64 || mips64le)) || dragonfly || (openbsd && !amd64 && !arm64) || (netbsd && !amd64)

package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// open fails: nobody has made the engine for this system.
func open(string) (*sql.DB, error) {
	return nil, errors.New("there is no SQLite for this system: pass --no-db to triage, or run it on another machine")
}

// code is 0: no error is of SQLite.
func code(error) int { return 0 }

// copyTo is never called: there is no connection.
func copyTo(context.Context, any, string) error { return errors.ErrUnsupported }
