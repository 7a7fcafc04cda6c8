package minidump

import (
	"encoding/hex"
	"fmt"

	"github.com/corewalk/corewalk/internal/binbuf"
)

// A GUID is one of Microsoft's: three numbers, and bytes.
type GUID struct {
	Data1        uint32
	Data2, Data3 uint16
	Data4        [8]byte
}

func readGUID(c *binbuf.Cursor) GUID {
	g := GUID{Data1: c.U32(), Data2: c.U16(), Data3: c.U16()}
	copy(g.Data4[:], c.Bytes(8))
	return g
}

// IsZero reports whether g is all zeros, which stands for none.
func (g GUID) IsZero() bool { return g == GUID{} }

func (g GUID) String() string {
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", g.Data1, g.Data2, g.Data3, g.Data4[:2], g.Data4[2:])
}

// plain is g in the 32 digits of Breakpad's debug identifiers.
func (g GUID) plain() string {
	return fmt.Sprintf("%08X%04X%04X%X", g.Data1, g.Data2, g.Data3, g.Data4)
}

// ELFDebugID is the debug identifier that Breakpad's tools give to a build-id: its
// first 16 bytes, with zeros after, taken for a little-endian GUID, and age 0.
func ELFDebugID(buildID []byte) string {
	if len(buildID) == 0 {
		return ""
	}
	var b [16]byte
	copy(b[:], buildID)
	c := binbuf.New(b[:], 0, false)
	return readGUID(&c).plain() + "0"
}

// DebugID is the module's debug identifier in Breakpad's form: 32 digits of the
// GUID and the age in hexadecimal. "" when the dump has none.
func (m *Module) DebugID() string {
	switch m.Format {
	case ELFBuildID:
		return ELFDebugID(m.BuildID)
	case PDB20:
		return fmt.Sprintf("%08X%x", m.PDB20, m.Age)
	case PDB70:
		if !m.GUID.IsZero() {
			return fmt.Sprintf("%s%x", m.GUID.plain(), m.Age)
		}
	}
	return ""
}

// CodeID identifies the module's own file: of Windows its time stamp and its size
// in memory, as symbol servers have them, of ELF the build-id, of macOS the UUID.
// "" when the dump does not tell.
func (m *Module) CodeID() string {
	switch {
	case len(m.BuildID) > 0:
		return hex.EncodeToString(m.BuildID)
	case m.apple && m.Format == PDB70 && !m.GUID.IsZero():
		return m.GUID.plain()
	case m.windows && (m.Timestamp != 0 || m.Size != 0):
		return fmt.Sprintf("%08X%x", m.Timestamp, m.Size)
	}
	return ""
}
