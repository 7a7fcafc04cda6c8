// Package codeview reads what PE images, minidumps and PDBs share: the record that names an
// image's debug file, and the build identifier derived from it.
//
// The records are those of IMAGE_DEBUG_TYPE_CODEVIEW ("PE Format",
// https://learn.microsoft.com/windows/win32/debug/pe-format); identifiers are written as
// Breakpad and symbol servers write them.
package codeview

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrUnknown is wrapped by errors about records other than RSDS and NB10, ErrTruncated by
// errors about truncated records.
var (
	ErrUnknown   = errors.New("unknown kind of CodeView record")
	ErrTruncated = errors.New("CodeView record is truncated")
)

// A GUID identifies a build: a 32-bit number, two 16-bit numbers, and eight bytes, in
// little-endian order.
type GUID [16]byte

// MakeGUID reads a GUID with numbers in the given order. If b is shorter than 16 bytes, the
// rest is zero.
func MakeGUID(b []byte, order binary.ByteOrder) GUID {
	var g GUID
	copy(g[:], b)
	if order == binary.BigEndian {
		binary.LittleEndian.PutUint32(g[:], order.Uint32(g[:]))
		binary.LittleEndian.PutUint16(g[4:], order.Uint16(g[4:]))
		binary.LittleEndian.PutUint16(g[6:], order.Uint16(g[6:]))
	}
	return g
}

// IsZero reports whether g is all zeros, which means that there is no GUID.
func (g GUID) IsZero() bool { return g == GUID{} }

func (g GUID) parts() (a uint32, b, c uint16) {
	return binary.LittleEndian.Uint32(g[:]), binary.LittleEndian.Uint16(g[4:]), binary.LittleEndian.Uint16(g[6:])
}

// String returns g as Windows formats it, without braces: 8-4-4-4-12 digits.
func (g GUID) String() string {
	x, y, z := g.parts()
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", x, y, z, g[8:10], g[10:])
}

// Digits returns g as the 32 digits of debug identifiers.
func (g GUID) Digits() string {
	x, y, z := g.parts()
	return fmt.Sprintf("%08X%04X%04X%X", x, y, z, g[8:])
}

// DebugID returns the identifier of a PDB 7.0 file: the GUID's digits and the age, in
// hexadecimal.
func (g GUID) DebugID(age uint32) string { return fmt.Sprintf("%s%x", g.Digits(), age) }

// OfBuildID returns the identifier that Breakpad's tools derive from an ELF file's
// build-id: its first 16 bytes, padded with zeros, read as a GUID, and age 0. It returns ""
// for an empty id.
func OfBuildID(id []byte) string {
	if len(id) == 0 {
		return ""
	}
	return MakeGUID(id, binary.LittleEndian).DebugID(0)
}

// A Record names an image's debug file. Only RSDS (PDB 7.0) has a GUID, only NB10 (PDB 2.0)
// a Stamp.
type Record struct {
	Old   bool // NB10
	GUID  GUID
	Stamp uint32 // seconds since 1970
	Age   uint32
	Path  []byte // of the debug file on the machine that built it; the encoding is unknown
}

// DebugID returns the identifier in Breakpad's form, or "" for a GUID of zeros.
func (r *Record) DebugID() string {
	switch {
	case r.Old:
		return fmt.Sprintf("%08X%x", r.Stamp, r.Age)
	case r.GUID.IsZero():
		return ""
	}
	return r.GUID.DebugID(r.Age)
}

// Parse reads a record with numbers in the given order. Its path points into b.
func Parse(b []byte, order binary.ByteOrder) (Record, error) {
	if len(b) < 4 {
		return Record{}, fmt.Errorf("%w: it has %d bytes", ErrTruncated, len(b))
	}
	var r Record
	head := 24
	switch string(b[:4]) {
	case "RSDS":
	case "NB10":
		r.Old, head = true, 16
	default:
		return Record{}, fmt.Errorf("%w: %q, want RSDS or NB10", ErrUnknown, b[:4])
	}
	if len(b) < head {
		return Record{}, fmt.Errorf("%w: it has %d bytes of %s, want at least %d", ErrTruncated, len(b), b[:4], head)
	}
	if r.Old {
		r.Stamp = order.Uint32(b[8:]) // after the offset, which is 0 for a separate file
	} else {
		r.GUID = MakeGUID(b[4:20], order)
	}
	r.Age = order.Uint32(b[head-4:])
	r.Path, _, _ = bytes.Cut(b[head:], []byte{0})
	return r, nil
}
