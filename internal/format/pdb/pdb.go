// Package pdb reads Microsoft program databases (.pdb): functions, lines, inlined calls,
// frame data, variables and types of a PE module. The container is MSF 7.00 with CodeView
// records. There is no complete specification; what is known is in
// https://llvm.org/docs/PDB/index.html and in the headers of
// https://github.com/microsoft/microsoft-pdb.
//
// The PDB of a browser has some gigabytes. Open reads the directory and the two headers;
// everything else is read on demand, block by block and in place: the section contribution
// that contains an address leads to one module (a compiler's output), and only the records
// of one function in it are read.
//
// Addresses are RVAs: offsets from the module's load address. A File is safe for concurrent
// use. If its bytes are a mapped file, callers must guard against its truncation
// (mmapfile.Guard).
package pdb

import (
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/format/codeview"
)

var (
	// ErrFormat is wrapped by errors about malformed data.
	ErrFormat = errors.New("malformed PDB")
	// ErrUnsupported is wrapped by errors about other kinds of PDB.
	ErrUnsupported = errors.New("unsupported kind of PDB")
)

// A File is an opened PDB.
type File struct {
	GUID    codeview.GUID
	Age     uint32 // in the DBI stream: the same as in a PE image's CodeView record
	Machine uint16 // machine type as in a PE header: 0x8664, 0x14c, 0xaa64

	c     *container
	named map[string]int
	dbi   dbi

	modules  func() ([]*module, error)
	names    func() (*stream, error)
	sections func() (*sections, error)
	publics  func() (*publics, error)
	globals  func() (*globals, error)
	types    func() (*types, error)
	ids      func() (*types, error)
	frames   func() (*frames, error)
}

// Work returns how much look-ups have read so far, in records: the author of a file decides how many one has to go through. It only grows.
func (f *File) Work() int64 { return f.c.work.Load() }

// dbi is the header of the DBI stream, with the positions of its parts.
type dbi struct {
	s                     *stream
	globals               int // stream number, like the following
	publics, records      int
	modules, contribs     view
	contribSize, contribN int
	contribOff            int
	debug                 [11]int // streams by kind of debug information; -1 for none
}

// Fixed stream numbers, and indexes in dbi.debug.
const (
	streamInfo, streamTPI, streamDBI, streamIPI = 1, 2, 3, 4

	debugFPO, debugOmapTo, debugOmapFrom  = 0, 3, 4
	debugSections, debugXdata, debugPdata = 5, 7, 8
	debugFrames, debugOldSections         = 9, 10
)

// Open reads a PDB's directory and headers. data must not change while the File is in use.
func Open(data []byte) (*File, error) {
	c, err := open(data)
	if err != nil {
		return nil, err
	}
	f := &File{c: c}
	if err := f.info(); err != nil {
		return nil, fmt.Errorf("PDB information stream: %w", err)
	}
	if err := f.dbiHeader(); err != nil {
		return nil, fmt.Errorf("DBI stream: %w", err)
	}
	f.modules = sync.OnceValues(f.readModules)
	f.names = sync.OnceValues(f.readNames)
	f.sections = sync.OnceValues(f.readSections)
	f.publics = sync.OnceValues(f.readPublics)
	f.globals = sync.OnceValues(f.readGlobals)
	f.types = sync.OnceValues(func() (*types, error) { return f.readTypes(streamTPI) })
	f.ids = sync.OnceValues(func() (*types, error) { return f.readTypes(streamIPI) })
	f.frames = sync.OnceValues(f.readFrames)
	return f, nil
}

// DebugID identifies a build of a module. It is the same as in the module's CodeView
// record.
func (f *File) DebugID() string { return f.GUID.DebugID(f.Age) }

// info reads the GUID and the names of streams.
func (f *File) info() error {
	s, err := f.c.stream(streamInfo)
	if err != nil {
		return err
	}
	head, ok := s.bytes(0, 32)
	if !ok {
		return fmt.Errorf("stream has only %d bytes: %w", s.size, ErrFormat)
	}
	f.Age = le.Uint32(head[8:])
	copy(f.GUID[:], head[12:28])
	f.named = make(map[string]int)
	texts, ok := s.bytes(32, int(le.Uint32(head[28:])))
	if !ok {
		return fmt.Errorf("names of streams: %w", ErrFormat)
	}
	at := 32 + len(texts)
	n, ok := s.u32(at)
	at += 8       // also skips the hash table's capacity
	for range 2 { // bitmaps of used and deleted entries
		words, ok2 := s.u32(at)
		if !ok || !ok2 || int64(words) > int64(s.size)/4 {
			return fmt.Errorf("table of named streams: %w", ErrFormat)
		}
		at += 4 + 4*int(words)
	}
	for i := 0; i < int(min(n, 1<<16)); i++ {
		b, ok := s.bytes(at+8*i, 8)
		if !ok {
			return fmt.Errorf("table of named streams: %w", ErrFormat)
		}
		if key := le.Uint32(b); int64(key) < int64(len(texts)) {
			f.named[cstring(texts[key:])] = int(le.Uint32(b[4:]) & 0x7fffffff)
		}
	}
	return nil
}

func (f *File) dbiHeader() error {
	s, err := f.c.stream(streamDBI)
	if err != nil {
		return err
	}
	h, ok := s.bytes(0, 64)
	if !ok || le.Uint32(h) != 0xffffffff {
		return fmt.Errorf("stream of %d bytes has no header: %w", s.size, ErrFormat)
	}
	f.Age = le.Uint32(h[8:])
	f.Machine = le.Uint16(h[58:])
	d := &f.dbi
	d.s, d.globals, d.publics, d.records = s, number(h[12:]), number(h[16:]), number(h[20:])
	at := uint64(64)
	part := func(off int) (v view) {
		n := uint64(le.Uint32(h[off:]))
		if v2, ok2 := s.view(int(at), int(n)); ok2 {
			v = v2
		} else {
			ok = false
		}
		at += n
		return v
	}
	d.modules, d.contribs = part(24), part(28)
	for _, off := range []int{32, 36, 40, 52} { // section map, files, type servers, edit and continue
		part(off)
	}
	debug := part(48)
	if !ok {
		return fmt.Errorf("parts exceed the stream's %#x bytes: %w", s.size, ErrFormat)
	}
	for i := range d.debug {
		d.debug[i] = -1
		if b, ok := debug.bytes(2*i, 2); ok {
			d.debug[i] = number(b)
		}
	}
	return d.contributions()
}

// number decodes a stream number; -1 means none.
func number(b []byte) int {
	if n := le.Uint16(b); n != 0xffff {
		return int(n)
	}
	return -1
}

// contributions determines the layout of the section contributions.
func (d *dbi) contributions() error {
	if d.contribs.size == 0 {
		return nil
	}
	b, ok := d.contribs.bytes(0, 4)
	if !ok {
		return fmt.Errorf("section contributions: %w", ErrFormat)
	}
	switch le.Uint32(b) {
	case 0xeffe0000 + 19970605:
		d.contribSize = 28
	case 0xeffe0000 + 20140516:
		d.contribSize = 32
	default:
		return fmt.Errorf("section contributions have version %#x: %w", le.Uint32(b), ErrUnsupported)
	}
	d.contribOff, d.contribN = 4, (d.contribs.size-4)/d.contribSize
	return nil
}

// readNames opens the string table with the names of files and programs.
func (f *File) readNames() (*stream, error) {
	n, ok := f.named["/names"]
	if !ok {
		return nil, fmt.Errorf("stream /names is missing: %w", ErrFormat)
	}
	s, err := f.c.stream(n)
	if err != nil {
		return nil, err
	}
	b, ok := s.bytes(0, 12)
	if !ok || le.Uint32(b) != 0xeffeeffe {
		return nil, fmt.Errorf("stream /names: %w", ErrFormat)
	}
	return s, nil
}

func (f *File) name(off uint32) string {
	s, err := f.names()
	if err != nil {
		return ""
	}
	return s.text(12 + int(off))
}
