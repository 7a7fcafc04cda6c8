package elffile

import (
	"hash/crc32"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// maxNoteScan limits how many bytes of notes BuildID searches: a malicious file can have
// thousands of segments over the same bytes.
const maxNoteScan = 64 << 20

// BuildID returns the descriptor of the GNU build-id note, or nil if there is none. It
// searches the loaded notes first, because the process had them. Section headers come
// second: in separate debug files made by some tools, the program headers are copies of the
// original's and point at other bytes.
func (f *File) BuildID() []byte {
	f.buildIDOnce.Do(func() { f.buildID = f.findBuildID() })
	return f.buildID
}

func (f *File) findBuildID() []byte {
	budget := maxNoteScan
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != PT_NOTE || budget <= 0 {
			continue
		}
		d := f.SegmentData(p)
		if id := f.buildIDIn(d, p.Align); id != nil {
			return id
		}
		budget -= len(d) + 1
	}
	list := f.Sections()
	for i := range list {
		s := &list[i]
		if s.Type != SHT_NOTE || s.Flags&SHF_COMPRESSED != 0 || budget <= 0 {
			continue
		}
		d, _ := f.rawSection(s)
		if id := f.buildIDIn(d, s.Align); id != nil {
			return id
		}
		budget -= len(d) + 1
	}
	return nil
}

// buildIDIn searches for the build-id with the given alignment. A segment that is aligned
// to 8 because of one note may contain others laid out with 4.
func (f *File) buildIDIn(data []byte, align uint64) []byte {
	if id := f.buildIDAligned(data, int(min(align, 16))); id != nil || align != 8 {
		return id
	}
	return f.buildIDAligned(data, 4)
}

func (f *File) buildIDAligned(data []byte, align int) []byte {
	for n := range Notes(data, f.Order, align) {
		if n.Type == NT_GNU_BUILD_ID && string(n.Name) == "GNU" && len(n.Desc) > 0 && !n.Truncated {
			return n.Desc
		}
	}
	return nil
}

// DebugLink returns the file name and the CRC in .gnu_debuglink (gdb manual, "Debugging
// Information in Separate Files").
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	c, ok := f.linkSection(".gnu_debuglink")
	if !ok {
		return "", 0, false
	}
	b := c.CString()
	c.Align(4)
	crc = c.U32()
	if c.Error != nil || len(b) == 0 || len(b) > maxName {
		return "", 0, false
	}
	return string(b), crc, true
}

// DebugAltLink returns the path and the build-id in .gnu_debugaltlink: they name the file
// with the common debug information that dwz moved out.
func (f *File) DebugAltLink() (name string, buildID []byte, ok bool) {
	c, ok := f.linkSection(".gnu_debugaltlink")
	if !ok {
		return "", nil, false
	}
	b := c.CString()
	if c.Error != nil || len(b) == 0 || len(b) > maxName || c.Len() == 0 {
		return "", nil, false
	}
	return string(b), c.Bytes(c.Len()), true
}

func (f *File) linkSection(name string) (binbuf.Cursor, bool) {
	d, err := f.SectionData(f.Section(name))
	if err != nil {
		return binbuf.Cursor{}, false
	}
	return f.cursor(d, 0), true
}

// DebugLinkCRC is the CRC-32 of the whole file, as .gnu_debuglink stores it of the debug
// file. It reads every byte.
func (f *File) DebugLinkCRC() uint32 {
	const step = 1 << 20
	crc := uint32(0)
	for off := 0; off < len(f.Data); off += step {
		part := f.Data[off:min(off+step, len(f.Data))]
		crc = crc32.Update(crc, crc32.IEEETable, part)
		f.release(uint64(off), uint64(len(part)))
	}
	return crc
}
