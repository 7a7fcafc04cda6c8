package pdb

// UnwindData are the bytes of an image's .xdata, from the RVA at which they begin.
type UnwindData struct {
	Start uint32
	Bytes []byte
}

// At returns the bytes from an RVA on, or nil if there are none.
func (d UnwindData) At(rva uint32) []byte {
	if rva < d.Start || uint64(rva-d.Start) >= uint64(len(d.Bytes)) {
		return nil
	}
	return d.Bytes[rva-d.Start:]
}

// UnwindTables returns the copies of the image's .pdata and .xdata, which linkers write if
// told to (/DEBUGTYPE:PDATA). They are empty if there are none, if they are damaged, or if
// code was moved after linking: then they are about its old place.
func (f *File) UnwindTables() (pdata []byte, xdata UnwindData) {
	if f.dbi.debug[debugOmapFrom] >= 0 {
		return nil, UnwindData{}
	}
	p, ok := f.blob(debugPdata)
	x, ok2 := f.blob(debugXdata)
	if !ok || !ok2 {
		return nil, UnwindData{}
	}
	return p.Bytes, x
}

// Limits on the sizes of tables and their headers, in bytes.
const (
	maxUnwindTable = 256 << 20
	blobHeader     = 32
)

// blob reads a stream with a copy of a section. The header is DbgRvaVaBlob of pdb.h: version,
// size of the header, size of the data, RVA of the section.
func (f *File) blob(kind int) (UnwindData, bool) {
	n := f.dbi.debug[kind]
	if n < 0 {
		return UnwindData{}, false
	}
	s, err := f.c.stream(n)
	if err != nil {
		return UnwindData{}, false
	}
	h, ok := s.bytes(0, blobHeader)
	if !ok || le.Uint32(h) != 1 || le.Uint32(h[4:]) != blobHeader || le.Uint32(h[8:]) > maxUnwindTable {
		return UnwindData{}, false
	}
	b, ok := s.bytes(blobHeader, int(le.Uint32(h[8:])))
	return UnwindData{le.Uint32(h[12:]), b}, ok
}
