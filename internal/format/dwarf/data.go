// Package dwarf reads DWARF 2 to 5 debugging information on demand: from an address to its
// unit, functions, inlined calls and source line, and no more than that needs.
//
// The standard library's debug/dwarf does not fit: it needs every section decompressed
// before it starts; it reads all unit headers and abbreviations; it allocates memory for
// every entry and attribute; and it does not support supplementary files (dwz), split units
// or the GNU forms. Here sections are requested when first used, units are parsed when an
// address or reference falls into them, and entries are read in place.
//
// The layers, lowest first:
//
//   - Cursor, Entry and Value iterate over the entries of a Unit without allocating;
//   - Unit resolves values: strings, addresses, references, ranges;
//   - Unit.Line and Unit.FuncAt read the unit as far as an address needs, once;
//   - Data.Frames returns the chain of calls at an address;
//   - Data.TailChain adds the tail calls that left no frame.
//
// All addresses are link-time addresses of the file: subtract the load bias first, and
// subtract one from a return address.
//
// The input is untrusted: no function panics, loops forever or allocates more than a small
// multiple of the bytes it reads. Data and Unit are safe for concurrent use; a Cursor is
// not.
//
// The format is that of the DWARF 5 standard (dwarfstd.org, 2017), of its predecessors
// where they differ, and of the GNU extensions by gcc and dwz.
package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Errors that callers may need to distinguish; all others describe damaged input.
var (
	// ErrNotFound: nothing in the file describes the requested address or reference.
	ErrNotFound = errors.New("no debugging information")
	// ErrFormat is wrapped by errors about malformed input.
	ErrFormat = errors.New("malformed DWARF")
	// ErrNoSup: a reference leads to a supplementary file (dwz) that is not available.
	ErrNoSup = errors.New("supplementary debug file is missing")
)

// A Section is one of the sections that contain DWARF.
type Section uint8

// The sections read by this package and its callers.
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
	SecGDBIndex
	SecNames
	numSections
)

var sectionNames = [numSections]string{
	".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str",
	".debug_str_offsets", ".debug_addr", ".debug_ranges", ".debug_rnglists", ".debug_aranges",
	".debug_loc", ".debug_loclists", ".debug_types", ".debug_cu_index", ".gdb_index", ".debug_names",
}

// String returns the ELF name of the section: ".debug_info".
func (s Section) String() string {
	if s < numSections {
		return sectionNames[s]
	}
	return fmt.Sprintf("section %d", s)
}

// A Source provides the sections of one file.
type Source interface {
	// Section returns the decompressed bytes of the section with a name, or nil if the file
	// has none. The bytes must not change. It is called at most once per name and Data,
	// when the section is first needed, possibly by several goroutines for different names.
	Section(name string) ([]byte, error)
}

// A LazySource is a Source that can return a section before all of it is available, for
// example because it is compressed and most of it will not be read.
type LazySource interface {
	Source
	// LazySection is like Section, but the bytes from from to end may be read only after
	// need(from, end) has returned nil; an end past the section's end means the rest of it. A
	// nil need means that all bytes may be read. need may be called by several goroutines.
	LazySection(name string) (data []byte, need func(from, end uint64) error, err error)
}

// SourceFunc turns a function into a Source.
type SourceFunc func(name string) ([]byte, error)

// Section calls f.
func (f SourceFunc) Section(name string) ([]byte, error) { return f(name) }

// Data is the debugging information of one file. Each part is loaded and indexed once, on
// first use. It is safe for concurrent use.
type Data struct {
	src   Source
	big   bool
	dwo   bool // the file is a .dwo: its section names end in .dwo
	sup   *Data
	split func(*Unit) (*Data, error)
	text  textRange
	// keptUnits returns what UnitIndex returned in an earlier run; nil if nothing may be kept.
	keptUnits func() []byte
	// answers returns what find returned, maybe in an earlier run; nil if nothing may be kept.
	answers func(q Question, find func() []byte) []byte

	sections [numSections]section
	work     atomic.Int64

	units   unitCache
	lists   [2]unitList // for .debug_info and .debug_types
	abbrevs abbrevCache
	lines   lineCache
	index   pcIndex
	gdb     gdbIndex
	names   nameTable
	sigs    signatures

	coverage coverage
}

type section struct {
	once sync.Once
	data []byte
	need func(from, end uint64) error // nil if all of data is available
	err  error
}

// Work returns how much of the file the look-ups of calls have read so far, in entries of some kind, not counting
// what is read once. It only grows.
func (d *Data) Work() int64 { return d.work.Load() }

// An Option configures New.
type Option func(*Data)

// WithSup sets the supplementary file named by .gnu_debugaltlink or .debug_sup (made by dwz
// -m).
func WithSup(sup *Data) Option { return func(d *Data) { d.sup = sup } }

// WithText says that the file's code is in [low, high). Ranges and line sequences that
// start elsewhere are left over from sections that the linker discarded, and are ignored.
// Without this option, those that start at address 0 are ignored. Those at the very top of
// the address space are always ignored.
func WithText(low, high uint64) Option {
	return func(d *Data) { d.text = textRange{low, high, true} }
}

// WithSplit sets the function that finds the .dwo file of a skeleton unit (see
// Unit.Skeleton). It is called at most once per unit, possibly by several goroutines. The
// Data it returns must have been made with the option DWO; nil means that there is none.
func WithSplit(find func(*Unit) (*Data, error)) Option {
	return func(d *Data) { d.split = find }
}

// DWO says that the source is a .dwo file (split DWARF): its sections are requested as
// ".debug_info.dwo" and so on.
func DWO() Option { return func(d *Data) { d.dwo = true } }

// New returns the debugging information in src. It reads nothing yet.
func New(src Source, order binary.ByteOrder, opts ...Option) *Data {
	d := &Data{src: src, big: binbuf.IsBig(order)}
	for _, o := range opts {
		o(d)
	}
	return d
}

// Bytes returns the bytes of a section, or nil without an error if the file has none. The
// error is the source's.
func (d *Data) Bytes(s Section) ([]byte, error) {
	if s >= numSections {
		return nil, fmt.Errorf("%v: %w", s, ErrNotFound)
	}
	return d.part(s, 0, math.MaxUint64)
}

// part returns a section with its full length, of which the bytes from from to end may be
// read: a stack needs a small part of most sections.
func (d *Data) part(s Section, from, end uint64) ([]byte, error) {
	sec := d.load(s)
	if sec.err != nil {
		return nil, sec.err
	}
	if sec.need != nil {
		if err := sec.need(from, end); err != nil {
			return nil, fmt.Errorf("section %v: %w", s, err)
		}
	}
	return sec.data, nil
}

// size returns the length of a section in bytes, 0 if there is none.
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

// Big reports whether the file is big-endian.
func (d *Data) Big() bool { return d.big }

// A textRange is the address range of the file's code, if known.
type textRange struct {
	low, high uint64
	known     bool
}

// dead reports whether an address range that starts at low is left over from a discarded
// section. For the addresses of such sections, linkers write 0 (GNU ld), 1 (GNU ld, in
// range lists, where 0 would end the list), -1 or -2 (lld).
func (d *Data) dead(low uint64, addrSize uint8) bool {
	if low >= maxAddr(addrSize)-1 {
		return true
	}
	if d.text.known {
		return low < d.text.low || low >= d.text.high
	}
	return low <= 1
}

// maxAddr returns the highest address of a size in bytes.
func maxAddr(size uint8) uint64 {
	if size == 0 || size >= 8 {
		return ^uint64(0)
	}
	return 1<<(8*uint(size)) - 1
}
