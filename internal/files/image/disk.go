package image

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// inPackages is replaced by tests.
var inPackages = find.InPackages

// Sizes in bytes of what is kept on disk.
const (
	// minKept is the size below which a section is decompressed faster than it is looked for.
	minKept = 8 << 10
	// minFresh is how much must have been decompressed to be worth writing an entry.
	minFresh = 64 << 10
	// keptEnds is how much of each end of a compressed section its key has a checksum of. The
	// end of a zlib stream is the checksum of what it holds.
	keptEnds = 64
	// maxAhead is how much more is decompressed, at most, of a section of which more was
	// needed than is kept.
	maxAhead = 8 << 20
)

// An onDisk has what is kept on disk of one file, and what may be kept of it.
type onDisk struct {
	once  sync.Once
	entry *kept.Entry

	mu       sync.Mutex // guards the three below; no other lock is taken inside
	written  bool       // or found not to be worth it
	sections []*keptSection
	units    []keptUnits
}

// keptUnits are debug information whose index of units by address may be kept.
type keptUnits struct {
	key kept.Key
	of  *dwarf.Data
}

// keptEntry opens what is kept of the file.
func (im *Image) keptEntry() *kept.Entry {
	k := &im.disk
	k.once.Do(func() {
		path := im.path
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		k.entry = im.cache.Kept.Entry(kept.Source{File: im.file.ID(), Path: path, BuildID: im.elf.BuildID(), Packaged: inPackages(path)})
	})
	return k.entry
}

// inflate decompresses a section, or finds it decompressed.
func (im *Image) inflate(p elffile.Packed) (elffile.Inflated, error) {
	info := im
	if n := p.Name(); n != ".debug_info" && n != ".zdebug_info" {
		info = nil
	}
	if im.cache == nil || im.cache.Kept == nil || im.file == nil || p.Size < minKept {
		l, err := newLazy(p)
		if err != nil {
			return nil, err
		}
		return lazySection{l, info}, nil
	}
	ends := kept.Checksum(p.Data[:min(len(p.Data), keptEnds)], p.Data[max(0, len(p.Data)-keptEnds):])
	s := &keptSection{packed: p, info: info, key: kept.Key{Kind: kept.KindSection, Section: uint32(p.Index), Offset: p.Off, Length: p.Section.Size, Ends: ends}}
	if s.part = im.keptEntry().Part(s.key, p.Size); s.part == nil {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	im.disk.mu.Lock()
	defer im.disk.mu.Unlock()
	im.disk.sections = append(im.disk.sections, s)
	return s, nil
}

// storedIndex implements elffile.File.Stored.
func (im *Image) storedIndex(kind elffile.Index, table *elffile.Section) []byte {
	return im.keptEntry().Whole(indexKey(kind, table))
}

func indexKey(kind elffile.Index, table *elffile.Section) kept.Key {
	return kept.Key{Kind: kept.KindIndex | uint32(kind), Section: uint32(table.Index), Offset: table.Off, Length: table.Size}
}

// kindUnits is the kind of indexes of .debug_aranges.
const kindUnits = kept.KindIndex | 1<<20 | dwarf.UnitIndexVersion

// unitsKey says as what the index of the file's units by address is kept, which depends on where the code of im is, the file that
// they describe. False if nothing is kept.
func (im *Image) unitsKey(of *Image) (kept.Key, bool) {
	if im.cache == nil || im.cache.Kept == nil || im.file == nil {
		return kept.Key{}, false
	}
	s := im.elf.Section(".debug_aranges")
	if s == nil {
		return kept.Key{}, false
	}
	low, high, _ := of.textRange()
	text := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high)
	return kept.Key{Kind: kindUnits, Section: uint32(s.Index), Offset: s.Off, Length: s.Size, Ends: kept.Checksum(text, nil)}, true
}

// A keptSection is a decompressed section. What is kept of it is taken from there, the rest is
// decompressed.
type keptSection struct {
	packed  elffile.Packed
	key     kept.Key
	info    *Image     // if the section is .debug_info
	part    *kept.Part // nil if nothing is kept
	lazy    atomic.Pointer[decompress.Lazy]
	damaged atomic.Bool // some of what is kept
}

// begin prepares to decompress the section from its start.
func (s *keptSection) begin() error {
	l, err := newLazy(s.packed)
	if err == nil {
		s.lazy.Store(l)
	}
	return err
}

// Data implements elffile.Inflated.
func (s *keptSection) Data() []byte {
	if s.part != nil {
		return s.part.Data()
	}
	return s.lazy.Load().Data()
}

// Need implements elffile.Inflated.
func (s *keptSection) Need(from, end uint64) error {
	if s.part != nil {
		return s.part.Need(from, end, s.fill)
	}
	l := s.lazy.Load()
	if s.info != nil {
		s.info.beside(l, end)
	}
	return l.Need(end)
}

// fill copies what is decompressed from off on to dst. Part.Need makes one call at a time.
func (s *keptSection) fill(dst []byte, off uint64) error {
	if s.lazy.Load() == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	end := off + uint64(len(dst))
	l := s.lazy.Load()
	if err := l.Need(end); err != nil {
		return err
	}
	copy(dst, l.Data()[off:end])
	if end <= s.part.Have() {
		s.damaged.Store(true)
	}
	return nil
}

// fresh is how much was decompressed that is not kept, in bytes.
func (s *keptSection) fresh() uint64 {
	l, have := s.lazy.Load(), uint64(0)
	if l == nil {
		return 0
	}
	if s.part != nil {
		have = s.part.Have()
	}
	return max(l.Filled(), have) - have
}

// keep writes what was decompressed of the file, and indexes of its symbols, to disk, if it is worth it.
// Nothing of the image may be used afterwards.
func (im *Image) keep(ctx context.Context) {
	k := &im.disk
	if k.entry == nil || !k.entry.Keeps() {
		return
	}
	k.mu.Lock()
	written, units := k.written, k.units
	k.written = true
	k.mu.Unlock()
	if written {
		return
	}
	// An index reads tables, which may be in compressed sections: inflate adds those to k.sections.
	var parts []kept.NewPart
	im.elf.Storable(func(kind elffile.Index, table *elffile.Section, data []byte) {
		parts = append(parts, kept.NewPart{Key: indexKey(kind, table), Size: uint64(len(data)), Data: data})
	})
	for _, u := range units {
		if data := u.of.UnitIndex(); data != nil {
			parts = append(parts, kept.NewPart{Key: u.key, Size: uint64(len(data)), Data: data})
		}
	}
	k.mu.Lock()
	sections := k.sections
	k.mu.Unlock()
	fresh, damaged := uint64(len(parts))*minFresh, false // an index is made for being kept
	for _, s := range sections {
		fresh += s.fresh()
		damaged = damaged || s.damaged.Load()
	}
	if fresh < minFresh && !damaged {
		return
	}
	for _, s := range sections {
		if ctx.Err() != nil {
			return
		}
		l := s.lazy.Load()
		if l == nil {
			continue
		}
		end := kept.RoundUp(l.Filled()) // whole blocks are kept
		if s.part != nil && s.fresh() > 0 {
			// Twice as much each time: otherwise each dump that needs a little more would
			// decompress all, and write all.
			end += min(end, maxAhead)
		}
		_ = l.Need(end) // what is damaged is not kept
		parts = append(parts, kept.NewPart{Key: s.key, Size: s.packed.Size, Data: l.Data()[:l.Filled()]})
	}
	_ = k.entry.Keep(ctx, parts) // it is worth no word to the user: the report is printed
}
