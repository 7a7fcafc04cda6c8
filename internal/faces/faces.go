// Package faces has what the faces of a session have in common.
package faces

import (
	"context"

	"github.com/corewalk/corewalk/session"
)

// A Request says which dump to open, in the words of the command's flags.
type Request struct {
	Core, Binary        string
	Search, Sysroot     []string
	DebugDir, SourceMap []string // FROM=TO
	SymbolPath          string
	ForceMismatched     bool
}

// An Opener opens a dump. end ends the session and releases the dump.
type Opener func(context.Context, Request) (s *session.Session, end func(), err error)
