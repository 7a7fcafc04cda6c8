package minidump

import (
	"encoding/hex"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/codeview"
)

// readGUID reads a GUID in the dump's byte order.
func (f *File) readGUID(c *binbuf.Cursor) codeview.GUID {
	return codeview.MakeGUID(c.Bytes(16), f.order())
}

// DebugID returns the module's debug identifier in Breakpad's form (32 digits of the GUID
// and the age in hexadecimal), or "" if the dump has none.
func (m *Module) DebugID() string {
	switch m.Format {
	case ELFBuildID:
		return codeview.OfBuildID(m.BuildID)
	case PDB20, PDB70:
		r := codeview.Record{Old: m.Format == PDB20, GUID: m.GUID, Stamp: m.PDB20, Age: m.Age}
		return r.DebugID()
	}
	return ""
}

// CodeID identifies the module's own file: on Windows by time stamp and size in memory, as
// symbol servers do; for ELF by build-id; on macOS by UUID. It returns "" if the dump does
// not say.
func (m *Module) CodeID() string {
	switch {
	case len(m.BuildID) > 0:
		return hex.EncodeToString(m.BuildID)
	case m.apple && m.Format == PDB70 && !m.GUID.IsZero():
		return m.GUID.Digits()
	case m.windows && (m.Timestamp != 0 || m.Size != 0):
		return fmt.Sprintf("%08X%x", m.Timestamp, m.Size)
	}
	return ""
}
