// Package ecma335 reads what of an assembly of .NET or Mono (ECMA-335, partition II) is needed to name its methods where the process's memory was left out of a
// dump: which assembly it is, and its heap of names.
package ecma335

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// An Assembly is what is known of a file.
type Assembly struct {
	GUID    [16]byte // of the module version; each build has another
	Strings []byte   // the heap of names: texts in UTF-8, each with a zero behind it
	At      int      // where that heap is in the file, in bytes
}

// ErrNone means that a file is no assembly, or that it is damaged.
var ErrNone = errors.New("no assembly")

// signature is that of the metadata root (II.24.2.1).
var signature = []byte("BSJB")

const (
	// maxVersion is how long the text of the version in the root is at most, in bytes, and maxStreams how many heaps are looked at.
	maxVersion = 255
	maxStreams = 16
)

// Parse reads a file. The assembly refers to data.
func Parse(data []byte) (*Assembly, error) {
	root := bytes.Index(data, signature)
	if root < 0 {
		return nil, ErrNone
	}
	meta := data[root:]
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(meta[at:])) }
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(meta[at:])) }
	const versionAt = 16
	if len(meta) < versionAt {
		return nil, fmt.Errorf("%w: its metadata ends too soon", ErrNone)
	}
	version := u32(versionAt - 4)
	at := versionAt + version
	if version > maxVersion+1 || at+4 > len(meta) {
		return nil, fmt.Errorf("%w: its metadata has a version of %d bytes", ErrNone, version)
	}
	n := u16(at + 2)
	at += 4
	a := &Assembly{}
	known := false
	for range min(n, maxStreams) {
		if at+8 > len(meta) {
			break
		}
		off, size := u32(at), u32(at+4)
		name, _, ended := bytes.Cut(meta[at+8:min(len(meta), at+8+32)], []byte{0})
		if !ended {
			break
		}
		at += 8 + (len(name)+4)&^3
		if off > len(meta) || size > len(meta)-off {
			return nil, fmt.Errorf("%w: a heap of its metadata leads out of the file", ErrNone)
		}
		switch heap := meta[off : off+size]; string(name) {
		case "#GUID":
			known = copy(a.GUID[:], heap) == len(a.GUID)
		case "#Strings":
			a.Strings, a.At = heap, root+off
		}
	}
	if !known || a.Strings == nil {
		return nil, fmt.Errorf("%w: its metadata has no names or no GUID", ErrNone)
	}
	return a, nil
}

// String is the GUID as it is usually written, with capitals.
func (a *Assembly) String() string {
	g := &a.GUID
	return fmt.Sprintf("%08X-%04X-%04X-%04X-%012X", binary.LittleEndian.Uint32(g[:]), binary.LittleEndian.Uint16(g[4:]), binary.LittleEndian.Uint16(g[6:]), g[8:10], g[10:])
}

// Text returns the text that begins at an offset of the file; false if it is not in the heap of names.
func (a *Assembly) Text(off uint64) (string, bool) {
	i := off - uint64(a.At) // before the heap it is large
	if i >= uint64(len(a.Strings)) {
		return "", false
	}
	text, _, ended := bytes.Cut(a.Strings[i:], []byte{0})
	return string(text), ended
}
