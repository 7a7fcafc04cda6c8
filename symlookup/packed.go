package symlookup

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/unwind"
)

// Calls are kept on disk, innermost first, as: the flags, u8; the line, the column, the line of the declaration and the entry, and the length of each
// string, ULEB128; the strings.
const (
	callApproximate = 1 << iota
	callInlined
	callNoReturn
	callFlags = callApproximate | callInlined | callNoReturn
)

// packCalls writes calls as they are kept on disk. It is not nil.
func packCalls(calls []unwind.Call) []byte {
	b := []byte{}
	for i := range calls {
		c := &calls[i]
		flags := byte(0)
		if c.Approximate {
			flags |= callApproximate
		}
		if c.Inlined {
			flags |= callInlined
		}
		if c.NoReturn {
			flags |= callNoReturn
		}
		b = append(b, flags)
		for _, n := range []uint64{uint64(c.Line), uint64(c.Column), uint64(c.Declared), c.Entry} {
			b = binary.AppendUvarint(b, n)
		}
		for _, s := range []string{c.Name, c.LinkageName, c.File} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return b
}

// unpackCalls is the reverse of packCalls. It reports whether b is well-formed.
func unpackCalls(b []byte) ([]unwind.Call, bool) {
	var calls []unwind.Call
	c := binbuf.New(b, 0, false)
	for c.More() {
		flags := c.U8()
		call := unwind.Call{Line: int(c.ULEB()), Column: int(c.ULEB()), Declared: int(c.ULEB()), Entry: c.ULEB(),
			Approximate: flags&callApproximate != 0, Inlined: flags&callInlined != 0, NoReturn: flags&callNoReturn != 0}
		for _, s := range []*string{&call.Name, &call.LinkageName, &call.File} {
			*s = string(c.Bytes64(c.ULEB()))
		}
		if c.Error != nil || flags&^byte(callFlags) != 0 || call.Line < 0 || call.Column < 0 || call.Declared < 0 {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, c.Error == nil
}
