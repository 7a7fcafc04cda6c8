// Package cabtest makes Microsoft cabinets for tests.
package cabtest

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/flate"
)

const block = 32 << 10 // bytes of the file in each block

// Stored makes a cabinet with one uncompressed file.
func Stored(name string, data []byte) []byte {
	return cabinet(name, data, 0, func(b, _ []byte) []byte { return b })
}

// MSZIP makes a cabinet with one file compressed with MSZIP. Each block may refer to the
// one before it.
func MSZIP(name string, data []byte) []byte {
	return cabinet(name, data, 1, func(b, before []byte) []byte {
		out := bytes.NewBufferString("CK")
		w, err := flate.NewWriterDict(out, flate.BestCompression, before)
		if err != nil {
			panic(err)
		}
		w.Write(b)
		w.Close()
		return out.Bytes()
	})
}

// Method changes the compression method in the header of a cabinet made by this package.
func Method(cab []byte, method uint16) []byte {
	cab = bytes.Clone(cab)
	binary.LittleEndian.PutUint16(cab[36+6:], method)
	return cab
}

func cabinet(name string, data []byte, method uint16, pack func(b, before []byte) []byte) []byte {
	le := binary.LittleEndian
	var blocks []byte
	n := 0
	for at := 0; at < len(data); at += block {
		b := data[at:min(len(data), at+block)]
		packed := pack(b, data[max(0, at-block):at])
		sizes := le.AppendUint16(le.AppendUint16(nil, uint16(len(packed))), uint16(len(b)))
		blocks = le.AppendUint32(blocks, sum(sizes, sum(packed, 0)))
		blocks = append(append(blocks, sizes...), packed...)
		n++
	}
	entry := le.AppendUint32(nil, uint32(len(data)))
	entry = append(entry, make([]byte, 12)...)
	entry = append(append(entry, name...), 0)
	const fileAt = 36 + 8
	head := append([]byte("MSCF"), make([]byte, 4)...)
	head = le.AppendUint32(head, uint32(fileAt+len(entry)+len(blocks)))
	head = le.AppendUint32(head, 0)
	head = le.AppendUint32(head, fileAt)
	head = append(head, 0, 0, 0, 0, 3, 1)
	for _, v := range []uint16{1, 1, 0, 0, 0} { // folders, files, flags, set ID, number in the set
		head = le.AppendUint16(head, v)
	}
	head = le.AppendUint32(head, uint32(fileAt+len(entry)))
	head = le.AppendUint16(head, uint16(n))
	head = le.AppendUint16(head, method)
	return append(append(head, entry...), blocks...)
}

func sum(b []byte, seed uint32) uint32 {
	for ; len(b) >= 4; b = b[4:] {
		seed ^= binary.LittleEndian.Uint32(b)
	}
	var last uint32
	for _, v := range b {
		last = last<<8 | uint32(v)
	}
	return seed ^ last
}
