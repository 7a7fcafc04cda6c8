package minidump

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// What follows reads parts of a file as they are, for writers of other minidumps. Each call may decode as much as Parse
// does; the caller limits how many there are.

// fresh returns a copy that does not change f: it has its own warnings and its own limits.
func (f *File) fresh() *File {
	g := *f
	g.Warnings, g.strMax, g.readMax = nil, 2*maxString, len(f.Data)
	return &g
}

// ByteOrder returns the dump's byte order.
func (f *File) ByteOrder() binary.ByteOrder { return f.order() }

// At returns the part of size bytes at off that is in the file.
func (f *File) At(off, size uint32) []byte { return f.clip(uint64(off), uint64(size)) }

// Text decodes the MINIDUMP_STRING at off; "" if it is not in the file.
func (f *File) Text(off uint64) string {
	s, _ := f.fresh().stringAt(off)
	return s
}

// TextIn decodes UTF-16, up to a NUL.
func (f *File) TextIn(b []byte) string { return f.utf16(b) }

// Entries returns the entries of a list of size bytes each, which begins with a count.
func (f *File) Entries(s Stream, size int) (body []byte, n int) {
	return f.fresh().plainList(s.Type, s.Data, size)
}

// SizedEntries returns the entries, stride bytes apart, of a list that begins with the sizes of its header
// and of an entry, which has at least size bytes. Its count has countSize bytes.
func (f *File) SizedEntries(s Stream, countSize, size int) (body []byte, n, stride int) {
	return f.fresh().sizedList(s.Type, s.Data, countSize, size)
}

// LinkMaps returns where the entries of a LinuxDsoDebug stream are: n of size bytes at off. The offset of an entry's name
// is at nameAt, four bytes.
func (f *File) LinkMaps(s []byte) (off uint32, n, size, nameAt int) {
	w := f.PCBits() / 8
	c := f.cursor(s)
	c.Skip(4)
	off = c.U32()
	count := uint64(c.U32())
	size = 2*w + 4
	if w == 8 && len(s)%16 == 40%16 {
		size += 4
	}
	if c.Error != nil {
		return 0, 0, 0, 0
	}
	list := f.clip(uint64(off), count*uint64(size))
	return off, len(list) / size, size, w
}

// A ContextField is a part of a CONTEXT record, in bytes.
type ContextField struct {
	Off, Size int
	// Shape says that it is no value of the program, or one without which no stack is walked: flags, status, the program
	// counter, the stack pointer, the headers of what follows the record.
	Shape bool
}

// ContextFields returns where the registers of a CONTEXT record are, and what else readers need to
// find them; false if the record cannot be decoded.
func (f *File) ContextFields(rec []byte) ([]ContextField, bool) {
	l, flags, ok := f.layoutOf(rec)
	if !ok {
		return nil, false
	}
	size := 4
	if l.wide {
		size = 8
	}
	list := []ContextField{{l.flags, size, true}}
	a := l.arch(f.Big)
	for _, p := range l.parts {
		for _, fd := range p.fields {
			shape := fd.size == 2 || fd.reg == a.PC || fd.reg == a.SP || a.Mode != arch.NoReg && fd.reg == a.ModeFrom || fd.reg == arch.EFLAGS && a == arch.AMD64 || fd.reg == arch.X86EFLAGS && a == arch.X86 || fd.reg == arch.ARM64CPSR && a == arch.ARM64
			if fd.off+fd.size <= len(rec) {
				list = append(list, ContextField{fd.off, fd.size, shape})
			}
		}
	}
	if l.xstate != 0 && flags&l.xstate&0xff != 0 && len(rec) >= l.size+contextEx {
		list = append(list, ContextField{l.size, contextEx, true})
		if at := int64(l.size) + int64(int32(f.order().Uint32(rec[l.size+16:]))); at >= int64(l.size)+contextEx && at+xsaveHeader <= int64(len(rec)) {
			list = append(list, ContextField{int(at), xsaveHeader, true})
		}
	}
	return list, true
}

// contextEx is the size of CONTEXT_EX: three pairs of offset and length.
const contextEx = 24
