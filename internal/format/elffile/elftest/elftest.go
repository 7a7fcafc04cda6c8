// Package elftest makes small ELF files for tests.
package elftest

import "encoding/binary"

// WithID makes an ELF file of x86-64 of a type (e_type) that has nothing but a build-id; nil leaves that out. It is filled with zeros up to size
// bytes.
func WithID(typ uint16, id []byte, size int) []byte {
	le := binary.LittleEndian
	b := make([]byte, 64, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], typ)
	le.PutUint16(b[18:], 62) // EM_X86_64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	if id != nil {
		le.PutUint16(b[56:], 1)
		p := make([]byte, 56)
		le.PutUint32(p, 4) // PT_NOTE
		le.PutUint32(p[4:], 4)
		n := uint64(16 + len(id))
		le.PutUint64(p[8:], 120)
		le.PutUint64(p[32:], n)
		le.PutUint64(p[40:], n)
		le.PutUint64(p[48:], 4)
		b = append(b, p...)
		b = le.AppendUint32(b, 4)
		b = le.AppendUint32(b, uint32(len(id)))
		b = le.AppendUint32(b, 3) // NT_GNU_BUILD_ID
		b = append(append(b, "GNU\x00"...), id...)
	}
	return append(b, make([]byte, max(0, size-len(b)))...)
}
