package elffile

import (
	"fmt"
	"strings"
	"sync"
)

// A Method is a compression method: ch_type of the gABI's Chdr.
type Method uint32

// The gABI's methods. Old .zdebug_* sections use Zlib.
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

// Packed is a compressed section.
type Packed struct {
	*Section
	Method Method
	Data   []byte // without the header
	Size   uint64 // when decompressed, in bytes, as the header says
}

// Inflated is a compressed section that is decompressed as far as needed.
type Inflated interface {
	// Data is the section with its full decompressed length. Only the bytes that Need has
	// accepted may be read.
	Data() []byte
	// Need makes the bytes from from to end readable; an end past the section's means the
	// rest of it.
	Need(from, end uint64) error
}

// plainData is one decompressed section, opened once and kept as long as the File.
type plainData struct {
	once sync.Once
	data Inflated
	err  error
}

// SectionData returns a section's bytes: a slice of Data or, for a section with
// SHF_COMPRESSED or a GNU-style .zdebug_* section, the decompressed bytes. These are
// produced by the first call and kept with the File. The error is ErrNotFound for a nil
// section and ErrNoBits for SHT_NOBITS.
func (f *File) SectionData(s *Section) ([]byte, error) {
	data, need, err := f.LazySection(s)
	if err == nil && need != nil {
		err = need(0, uint64(len(data)))
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// LazySection is like SectionData, but decompresses only as far as needed: the bytes from
// from to end may be read after need(from, end) has returned nil. need is nil if all bytes may be
// read.
func (f *File) LazySection(s *Section) (data []byte, need func(from, end uint64) error, err error) {
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
	return p.data.Data(), func(from, end uint64) error {
		if err := p.data.Need(from, end); err != nil {
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

// isGNUZlib recognises the format that preceded SHF_COMPRESSED: "ZLIB" and a big-endian
// size, in a section with a certain name.
func isGNUZlib(raw []byte, s *Section) bool {
	return len(raw) >= 12 && string(raw[:4]) == "ZLIB" && strings.HasPrefix(s.Name(), ".zdebug_")
}

// Sections that are large because all of their bytes are alike are no compiler's: what is read of them, and what is made of them, would be
// in no proportion to the file. Debugging information becomes 2 to 20 times smaller.
const (
	maxExpansion = 64
	maxUnlikely  = 32 << 20 // bytes, whatever they were made of
)

// Plausible is how many bytes so many compressed ones may become, of at most limit.
func Plausible(compressed int, limit uint64) uint64 {
	return min(limit, max(maxUnlikely, maxExpansion*uint64(compressed)))
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
		return nil, fmt.Errorf("section %d (%s): decompressed size is %d bytes, limit is %d: %w", s.Index, s.Name(), size, limit, ErrCompressed)
	}
	if size > Plausible(len(body), limit) {
		return nil, fmt.Errorf("section %d (%s): %d bytes decompress to %d, more than %d times as much: %w", s.Index, s.Name(), len(body), size, maxExpansion, ErrCompressed)
	}
	if f.Decompress == nil {
		return nil, fmt.Errorf("section %d (%s): %v: no decompressor: %w", s.Index, s.Name(), method, ErrCompressed)
	}
	data, err := f.Decompress(Packed{s, method, body, size})
	if err == nil && uint64(len(data.Data())) != size {
		err = fmt.Errorf("decompressed to %d bytes, but the header says %d", len(data.Data()), size)
	}
	if err != nil {
		return nil, fmt.Errorf("section %d (%s): %v: %w (%w)", s.Index, s.Name(), method, err, ErrCompressed)
	}
	return data, nil
}

// DebugSection returns the bytes of the DWARF section .debug_<name>, or of its old
// compressed form .zdebug_<name>. The error is ErrNotFound if there is neither.
func (f *File) DebugSection(name string) ([]byte, error) {
	s, err := f.debugSection(name)
	if err != nil {
		return nil, err
	}
	return f.SectionData(s)
}

// LazyDebugSection is to DebugSection what LazySection is to SectionData.
func (f *File) LazyDebugSection(name string) (data []byte, need func(from, end uint64) error, err error) {
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
