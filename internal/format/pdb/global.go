package pdb

// Global returns the RVA of one of the module's variables by its qualified name, or false
// if there is no such variable or more than one.
func (f *File) Global(name string) (uint32, bool) {
	g, err := f.globals()
	if err != nil {
		return 0, false
	}
	x, err := f.sections()
	if err != nil {
		return 0, false
	}
	var rva uint32
	n := 0
	g.each(name, func(kind uint16, rec []byte) {
		switch kind {
		case symGlobalData, symLocalData:
		default:
			return
		}
		if len(rec) < 15 || cstring(rec[14:]) != name {
			return
		}
		if at, ok := x.rva(place{le.Uint16(rec[12:]), le.Uint32(rec[8:])}); ok && (n == 0 || at != rva) {
			rva = at
			n++
		}
	})
	return rva, n == 1
}

// globals is the hash table of the module's symbols (microsoft-pdb, PDB/dbi/gsi.cpp).
type globals struct {
	records view
	entries view // offsets of records plus one, and reference counts
	bits    view // bitmap of the used buckets
	starts  view // index in entries of each used bucket's first entry
}

const (
	globalBuckets = 4096
	globalBitmap  = (globalBuckets/32 + 1) * 4
	// Starts count entries with the size that they have in the linker's memory.
	globalEntry = 12
)

func (f *File) readGlobals() (*globals, error) {
	s, err := f.c.stream(f.dbi.globals)
	if err != nil || s.size == 0 {
		return &globals{}, err
	}
	recs, err := f.c.stream(f.dbi.records)
	if err != nil {
		return nil, err
	}
	g := &globals{records: view{recs, 0, recs.size}}
	h, ok := s.bytes(0, 16)
	if !ok || le.Uint32(h) != 0xffffffff || le.Uint32(h[4:]) != 0xeffe0000+19990810 {
		return g, nil // unknown layout: no name is found
	}
	entries, buckets := int(le.Uint32(h[8:])), int(le.Uint32(h[12:]))
	if buckets < globalBitmap {
		return g, nil
	}
	var ok2, ok3 bool
	g.entries, ok = s.view(16, entries)
	g.bits, ok2 = s.view(16+entries, globalBitmap)
	g.starts, ok3 = s.view(16+entries+globalBitmap, buckets-globalBitmap)
	if !ok || !ok2 || !ok3 {
		return &globals{}, nil
	}
	return g, nil
}

// maxBucket limits how many symbols are examined for one name.
const maxBucket = 1 << 16

// each calls found for the symbols in the name's bucket.
func (g *globals) each(name string, found func(kind uint16, rec []byte)) {
	bucket := int(hashName(name) % globalBuckets)
	bits, ok := g.bits.bytes(0, globalBitmap)
	if !ok || bits[bucket/8]>>(bucket%8)&1 == 0 {
		return
	}
	used := 0 // used buckets before this one
	for i := range bucket {
		used += int(bits[i/8] >> (i % 8) & 1)
	}
	b, ok := g.starts.bytes(4*used, 4)
	if !ok {
		return
	}
	from := int(le.Uint32(b)) / globalEntry
	to := g.entries.size / 8
	if b, ok := g.starts.bytes(4*used+4, 4); ok {
		to = min(to, int(le.Uint32(b))/globalEntry)
	}
	for i := from; i < to && i-from < maxBucket; i++ {
		b, ok := g.entries.bytes(8*i, 4)
		if !ok {
			return
		}
		if kind, rec, _, ok := g.records.record(int(le.Uint32(b)) - 1); ok {
			found(kind, rec)
		}
	}
}
