// Package dwarf reads DWARF 2 to 5 debugging information for need: from an
// address to the unit, the functions inlined there and the source lines, and no
// further.
//
// The standard library's debug/dwarf wants every section as one decompressed
// slice before it starts, reads all unit headers and all abbreviations on the
// way, allocates for every entry and attribute, and knows neither supplementary
// files (dwz), nor split units, nor the GNU forms. Here sections are asked for
// when first needed, units are parsed when an address or a reference falls in
// them, and entries are read in place.
//
// The layers, lowest first:
//
//   - Cursor, Entry and Value walk the entries of one Unit without allocating;
//   - Unit resolves values: strings, addresses, references, ranges;
//   - Unit.Line and Unit.FuncAt are the per-unit indexes, built once on demand;
//   - Data.Frames answers an address with its chain of calls;
//   - Data.TailChain adds the tail calls that left no frame.
//
// All addresses are of the file's own address space: subtract the load bias
// first, and subtract one from a return address.
//
// The input is not trusted: no function panics, loops for ever or allocates
// beyond a small multiple of the bytes it reads. Data and Unit are safe for
// concurrent use; a Cursor is not.
//
// The format is that of the DWARF 5 standard (dwarfstd.org, 2017), its
// predecessors where they differ, and the GNU extensions of gcc and dwz.
package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Errors that callers may want to tell apart; others describe damaged input.
var (
	// ErrNotFound means that nothing in the file describes the address or
	// reference asked for.
	ErrNotFound = errors.New("no debugging information")
	// ErrFormat is wrapped by errors about input that breaks the format.
	ErrFormat = errors.New("malformed DWARF")
	// ErrNoSup means that a reference leads into a supplementary file (dwz)
	// that was not given.
	ErrNoSup = errors.New("supplementary debug file is missing")
)

// A Section names one of the sections that hold DWARF.
type Section uint8

// The sections read by this package and by those above it.
const (
	SecInfo Section = iota
	SecAbbrev
	SecLine
	SecStr
	SecLineStr
	SecStrOffsets
	SecAddr
	SecRanges
	SecRnglists
	SecAranges
	SecLoc
	SecLoclists
	SecTypes
	SecCUIndex
	numSections
)

var sectionNames = [numSections]string{
	".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str",
	".debug_str_offsets", ".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_aranges",
	".debug_loc", ".debug_loclists", ".debug_types", ".debug_cu_index",
}

// String returns the ELF name of the section: ".debug_info".
func (s Section) String() string {
	if s < numSections {
		return sectionNames[s]
	}
	return fmt.Sprintf("section %d", s)
}

// A Source hands out the sections of one file.
type Source interface {
	// Section returns the decompressed bytes of the section called name, nil
	// when the file has none. The bytes must not change. It is called at most
	// once for each name and Data, when the section is first needed, maybe
	// from several goroutines for different names.
	Section(name string) ([]byte, error)
}

// A LazySource is a Source that can hand out a section before all of it is there,
// as when it is compressed and most of it will not be read.
type LazySource interface {
	Source
	// LazySection is Section, but only the bytes below end may be read, once
	// need(end) has returned nil; an end past the section's stands for all. A nil
	// need means that all bytes may be read. need may be called from several
	// goroutines.
	LazySection(name string) (data []byte, need func(end uint64) error, err error)
}

// SourceFunc makes a Source of a function.
type SourceFunc func(name string) ([]byte, error)

// Section calls f.
func (f SourceFunc) Section(name string) ([]byte, error) { return f(name) }

// Data is the debugging information of one file. Every part is loaded and
// indexed when first needed, once. It is safe for concurrent use.
type Data struct {
	src   Source
	big   bool
	dwo   bool // the file is a .dwo: its sections' names end in .dwo
	sup   *Data
	split func(*Unit) (*Data, error)
	text  textRange

	sections [numSections]section

	units   unitCache
	lists   [2]unitList // of .debug_info and .debug_types
	abbrevs abbrevCache
	lines   lineCache
	index   pcIndex
	sigs    signatures
}

type section struct {
	once sync.Once
	data []byte
	need func(end uint64) error // nil when all of data is there
	err  error
}

// An Option configures New.
type Option func(*Data)

// WithSup gives the supplementary file that .gnu_debugaltlink or .debug_sup
// names (made by dwz -m).
func WithSup(sup *Data) Option { return func(d *Data) { d.sup = sup } }

// WithText says that the file's code lies in [low, high). Ranges and line
// sequences that start elsewhere are remains of sections that the linker
// discarded, and are ignored. Without it, those that start at address 0 are
// taken for such; addresses at the very top of the address space always are.
func WithText(low, high uint64) Option {
	return func(d *Data) { d.text = textRange{low, high, true} }
}

// WithSplit gives the function that finds the .dwo file of a skeleton unit
// (see Unit.Skeleton). It is called at most once for each unit, possibly from
// several goroutines; its Data must be made with the option DWO. A nil Data
// means that there is none.
func WithSplit(find func(*Unit) (*Data, error)) Option {
	return func(d *Data) { d.split = find }
}

// DWO says that the source is a .dwo file (split DWARF): its sections are
// asked for as ".debug_info.dwo" and so on.
func DWO() Option { return func(d *Data) { d.dwo = true } }

// New returns the debugging information that src holds. Nothing is read yet.
func New(src Source, order binary.ByteOrder, opts ...Option) *Data {
	d := &Data{src: src, big: binbuf.IsBig(order)}
	for _, o := range opts {
		o(d)
	}
	return d
}

// Bytes returns the bytes of a section: nil without an error when the file has
// none. The error is the source's.
func (d *Data) Bytes(s Section) ([]byte, error) {
	if s >= numSections {
		return nil, fmt.Errorf("%v: %w", s, ErrNotFound)
	}
	return d.upTo(s, math.MaxUint64)
}

// upTo returns a section, at its full length, of which the bytes below end may be
// read. Those sections of which a stack needs a small part (units, line tables,
// abbreviations) are read through it; the others whole.
func (d *Data) upTo(s Section, end uint64) ([]byte, error) {
	sec := d.load(s)
	if sec.err != nil {
		return nil, sec.err
	}
	if sec.need != nil {
		if err := sec.need(end); err != nil {
			return nil, fmt.Errorf("section %v: %w", s, err)
		}
	}
	return sec.data, nil
}

// size is the length of a section in bytes; 0 when there is none.
func (d *Data) size(s Section) int { return len(d.load(s).data) }

func (d *Data) load(s Section) *section {
	sec := &d.sections[s]
	sec.once.Do(func() {
		name := s.String()
		if d.dwo && s != SecCUIndex {
			name += ".dwo"
		}
		if lazy, ok := d.src.(LazySource); ok {
			sec.data, sec.need, sec.err = lazy.LazySection(name)
		} else {
			sec.data, sec.err = d.src.Section(name)
		}
		if sec.err != nil {
			sec.data, sec.need, sec.err = nil, nil, fmt.Errorf("section %s: %w", name, sec.err)
		}
	})
	return sec
}

// bytes is Bytes for sections whose absence and failure mean the same.
func (d *Data) bytes(s Section) []byte {
	b, _ := d.Bytes(s)
	return b
}

// Sup returns the supplementary file, or nil.
func (d *Data) Sup() *Data { return d.sup }

// Big reports whether the file is big-endian.
func (d *Data) Big() bool { return d.big }

// A textRange is where the file's code lies, when known.
type textRange struct {
	low, high uint64
	known     bool
}

// dead reports whether an address range that starts at low is the remains of a
// discarded section. Linkers write 0 (GNU ld), 1 (GNU ld, in range lists, where
// 0 would end the list), -1 or -2 (lld) over the addresses of what they drop.
func (d *Data) dead(low uint64, addrSize uint8) bool {
	if low >= maxAddr(addrSize)-1 {
		return true
	}
	if d.text.known {
		return low < d.text.low || low >= d.text.high
	}
	return low <= 1
}

// maxAddr is the highest address of a given size in bytes.
func maxAddr(size uint8) uint64 {
	if size == 0 || size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*uint(size)) - 1
}
