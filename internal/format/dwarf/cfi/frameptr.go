package cfi

import "github.com/corewalk/corewalk/internal/format/binbuf"

// EHFramePtr returns the address of .eh_frame in .eh_frame_hdr, for files without section
// headers, or false if the header does not have it. hdrAddr is the address of hdr.
func EHFramePtr(hdr []byte, hdrAddr uint64, cfg Config) (uint64, bool) {
	c := binbuf.Cursor{Data: hdr, Big: cfg.Big}
	version, enc := c.U8(), encoding(c.U8())
	c.Skip(2)
	if c.Error != nil || version != 1 || enc == encOmit || enc&encIndirect != 0 {
		return 0, false
	}
	addr := enc.read(&c, &bases{section: hdrAddr, data: hdrAddr, text: cfg.TextBase, addrSize: cfg.AddrSize})
	return addr, c.Error == nil
}
