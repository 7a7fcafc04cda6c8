package elffile

import (
	"encoding/binary"
	"iter"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A Note is one entry of a PT_NOTE segment or SHT_NOTE section (gABI, "Note Section"). Name
// and Desc point into the parsed bytes.
type Note struct {
	Name []byte // without the terminating NUL
	Type uint32
	Desc []byte
	// Off and DescOff are the offsets of the note and of its descriptor in the bytes passed
	// to Notes.
	Off, DescOff int
	// Truncated says that the bytes end inside this note. Desc is the part that exists,
	// DescSize the size given in the note.
	Truncated bool
	DescSize  uint32
}

// Notes iterates over the notes in data. align is the segment's p_align (or the section's
// sh_addralign): 8 aligns names and descriptors to 8 bytes, any other value to 4, as the
// kernel and the GNU tools do. A truncated note is the last, with Truncated set. If fewer
// bytes than a note header are left, the iteration ends silently, because padding looks
// like that.
func Notes(data []byte, order binary.ByteOrder, align int) iter.Seq[Note] {
	if align != 8 {
		align = 4
	}
	big := binbuf.IsBig(order)
	return func(yield func(Note) bool) {
		c := binbuf.New(data, 0, big)
		for c.Len() >= 12 {
			n := readNote(&c, align)
			if !yield(n) || n.Truncated {
				return
			}
		}
	}
}

func readNote(c *binbuf.Cursor, align int) Note {
	n := Note{Off: c.Off}
	nameSize := c.U32()
	n.DescSize = c.U32()
	n.Type = c.U32()
	n.Name, n.Truncated = cut(c, nameSize)
	for len(n.Name) > 0 && n.Name[len(n.Name)-1] == 0 {
		n.Name = n.Name[:len(n.Name)-1]
	}
	c.Align(align)
	n.DescOff = c.Off
	var short bool
	n.Desc, short = cut(c, n.DescSize)
	n.Truncated = n.Truncated || short
	c.Align(align)
	return n
}

// cut takes size bytes, or all that are left and true.
func cut(c *binbuf.Cursor, size uint32) ([]byte, bool) {
	if uint64(size) <= uint64(c.Len()) {
		return c.Bytes(int(size)), false
	}
	return c.Bytes(c.Len()), true
}
