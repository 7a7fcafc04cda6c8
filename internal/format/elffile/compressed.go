package elffile

import (
	"fmt"
	"strings"
	"sync"
)

// A Method is how a section is compressed: ch_type of the gABI's Chdr.
type Method uint32

// The methods of the gABI. Old .zdebug_* sections are Zlib.
const (
	Zlib Method = 1
	Zstd Method = 2
)

// String returns the method's name.
func (m Method) String() string {
	switch m {
	case Zlib:
		return "zlib"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compression method %d", uint32(m))
}

// Inflated is a compressed section that is decompressed from its start on as far
// as is needed.
type Inflated interface {
	// Data is the section at its full decompressed length; only what lies below an
	// end that Need has accepted may be read.
	Data() []byte
	// Need makes the bytes below end readable; an end past the section's means all
	// of it.
	Need(end uint64) error
}

// plainData is one compressed section, opened once and kept as long as the File.
type plainData struct {
	once sync.Once
	data Inflated
	err  error
}

// SectionData returns a section's bytes: a slice of Data, or what it
// decompresses to when it has SHF_COMPRESSED or is a .zdebug_* section of the
// GNU style. Decompressed bytes are made at the first call and kept with the
// File. A nil section is ErrNotFound; SHT_NOBITS is ErrNoBits.
func (f *File) SectionData(s *Section) ([]byte, error) {
	data, need, err := f.LazySection(s)
	if err == nil && need != nil {
		err = need(uint64(len(data)))
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// LazySection is SectionData that decompresses as far as is needed only: of the
// bytes returned, those below end may be read once need(end) has returned nil.
// need is nil when all bytes may be read.
func (f *File) LazySection(s *Section) (data []byte, need func(end uint64) error, err error) {
	if s == nil {
		return nil, nil, fmt.Errorf("section: %w", ErrNotFound)
	}
	raw, err := f.rawSection(s)
	if err != nil {
		return nil, nil, err
	}
	if s.Flags&SHF_COMPRESSED == 0 && !isGNUZlib(raw, s) {
		return raw, nil, nil
	}
	p := f.plainFor(s.Index)
	p.once.Do(func() { p.data, p.err = f.decompress(s, raw) })
	if p.err != nil {
		return nil, nil, p.err
	}
	index, name := s.Index, s.Name()
	return p.data.Data(), func(end uint64) error {
		if err := p.data.Need(end); err != nil {
			return fmt.Errorf("section %d (%s): %w: %w", index, name, ErrCompressed, err)
		}
		return nil
	}, nil
}

func (f *File) plainFor(index int) *plainData {
	f.plainMu.Lock()
	defer f.plainMu.Unlock()
	p := f.plain[index]
	if p == nil {
		if f.plain == nil {
			f.plain = make(map[int]*plainData)
		}
		p = new(plainData)
		f.plain[index] = p
	}
	return p
}

// isGNUZlib recognises the compression that preceded SHF_COMPRESSED: "ZLIB" and
// a big-endian size, told apart by the section's name only.
func isGNUZlib(raw []byte, s *Section) bool {
	return len(raw) >= 12 && string(raw[:4]) == "ZLIB" && strings.HasPrefix(s.Name(), ".zdebug_")
}

func (f *File) decompress(s *Section, raw []byte) (Inflated, error) {
	method, size, body := Zlib, uint64(0), []byte(nil)
	if s.Flags&SHF_COMPRESSED != 0 {
		c := f.cursor(raw, 0)
		method = Method(c.U32())
		if f.Class == 64 {
			c.Skip(4)
		}
		size = f.word(&c)
		f.word(&c) // ch_addralign
		if c.Error != nil {
			return nil, fmt.Errorf("section %d (%s): compression header: %v: %w", s.Index, s.Name(), c.Error, ErrMalformed)
		}
		body = raw[c.Off:]
	} else {
		c := f.cursor(raw, 4)
		c.Big = true
		size = c.U64()
		body = raw[c.Off:]
	}
	limit := f.MaxSection
	if limit == 0 {
		limit = DefaultMaxSection
	}
	if size > limit {
		return nil, fmt.Errorf("section %d (%s): %d bytes decompressed, at most %d allowed: %w", s.Index, s.Name(), size, limit, ErrCompressed)
	}
	if f.Decompress == nil {
		return nil, fmt.Errorf("section %d (%s): %v: no decompressor: %w", s.Index, s.Name(), method, ErrCompressed)
	}
	data, err := f.Decompress(method, body, size)
	if err == nil && uint64(len(data.Data())) != size {
		err = fmt.Errorf("%d bytes, the header says %d", len(data.Data()), size)
	}
	if err != nil {
		return nil, fmt.Errorf("section %d (%s): %v: %w (%w)", s.Index, s.Name(), method, err, ErrCompressed)
	}
	return data, nil
}

// DebugSection returns the bytes of the DWARF section .debug_<name>, or of its
// old compressed form .zdebug_<name>; ErrNotFound when there is neither.
func (f *File) DebugSection(name string) ([]byte, error) {
	s, err := f.debugSection(name)
	if err != nil {
		return nil, err
	}
	return f.SectionData(s)
}

// LazyDebugSection is DebugSection in the way of LazySection.
func (f *File) LazyDebugSection(name string) (data []byte, need func(end uint64) error, err error) {
	s, err := f.debugSection(name)
	if err != nil {
		return nil, nil, err
	}
	return f.LazySection(s)
}

func (f *File) debugSection(name string) (*Section, error) {
	s := f.Section(".debug_" + name)
	if s == nil {
		s = f.Section(".zdebug_" + name)
	}
	if s == nil {
		return nil, fmt.Errorf(".debug_%s: %w", name, ErrNotFound)
	}
	return s, nil
}
