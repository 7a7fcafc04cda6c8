package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// debugFile returns the separate debug file, or nil if there is none or none is needed. If
// no directory has it, it is fetched.
func (im *Image) debugFile() *Image {
	if d := im.knownDebug(); d != nil {
		return d
	}
	if !im.Unfetched() {
		return im.fetched.Load()
	}
	im.fetchOnce.Do(func() {
		defer im.fetchDone.Store(true)
		im.fetched.Store(im.fetchDebug())
	})
	return im.fetched.Load()
}

// knownDebug is debugFile without fetching: it returns a file found in a directory or
// fetched before.
func (im *Image) knownDebug() *Image {
	im.debugOnce.Do(func() {
		if im.finder != nil && !im.hasDebugInfo() {
			im.debug = im.findDebug()
		}
	})
	if im.debug != nil {
		return im.debug
	}
	return im.fetched.Load()
}

// Unfetched reports whether a server may have the debug file and nobody has asked for it
// yet. The first use of debug information will.
func (im *Image) Unfetched() bool {
	return im.finder.Fetches(im.elf.BuildID()) && !im.fetchDone.Load() && !im.hasDebugInfo() && im.knownDebug() == nil
}

func (im *Image) hasDebugInfo() bool {
	im.hasInfoOnce.Do(func() {
		im.hasInfo = im.elf.Section(".debug_info") != nil || im.elf.Section(".zdebug_info") != nil
	})
	return im.hasInfo
}

func (im *Image) findDebug() *Image {
	id := im.elf.BuildID()
	link, crc, hasLink := im.elf.DebugLink()
	if id == nil && !hasLink {
		return nil
	}
	for path := range im.finder.DebugFiles(find.DebugQuery{File: im.path, BuildID: id, Link: link}) {
		if path == im.path {
			continue
		}
		d, err := im.cache.Open(path)
		if err != nil || d == im {
			continue
		}
		switch did := d.elf.BuildID(); {
		case id != nil && did != nil:
			if !bytes.Equal(id, did) {
				im.warn(fmt.Sprintf("%s: debug file is from a different build (build-id %x, want %x)", path, did, id))
			} else if d.useful() {
				return d
			}
		case hasLink && d.elf.DebugLinkCRC() == crc:
			return d
		default:
			im.warn(fmt.Sprintf("%s: debug file does not match the checksum in .gnu_debuglink of %s", path, im.path))
		}
	}
	return nil
}

// fetchDebug fetches the debug file from the servers.
func (im *Image) fetchDebug() *Image {
	id := im.elf.BuildID()
	path, err := im.finder.Fetch(id, find.KindDebugInfo)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled) {
			im.warn(fmt.Sprintf("%s: cannot fetch debug information: %v", im.path, err))
		}
		return nil
	}
	d, err := im.cache.Open(path)
	switch {
	case err != nil:
		im.warn(fmt.Sprintf("%s: fetched debug information: %v", im.path, err))
	case d != im && bytes.Equal(d.elf.BuildID(), id) && d.useful():
		return d
	}
	return nil
}

// useful reports whether a candidate for the debug file adds anything. A stripped copy of
// the binary can have the same build-id.
func (im *Image) useful() bool {
	if im.hasDebugInfo() {
		return true
	}
	_, err := im.elf.SymTab()
	return err == nil
}

// AddDebugFile makes d the separate debug file unless one has been searched for already.
func (im *Image) AddDebugFile(d *Image) {
	im.debugOnce.Do(func() { im.debug = d })
}

// DebugPath is the path of the file that provides debug information: the separate debug
// file, the binary itself, or "" if there is none. It fetches nothing.
func (im *Image) DebugPath() string {
	switch {
	case im == nil:
		return ""
	case im.hasDebugInfo():
		return im.path
	}
	if d := im.knownDebug(); d != nil {
		return d.path
	}
	return im.SymbolPath()
}

// HasDWARF reports whether the module has debug information, in the binary or in a debug
// file. It opens and fetches nothing.
func (im *Image) HasDWARF() bool {
	if im == nil || im.hasDebugInfo() {
		return im != nil
	}
	d := im.knownDebug()
	return d != nil && d.hasDebugInfo()
}

// debugSection reads a whole section of debug information from the binary or from its debug
// file. It returns nil if neither has it.
func (im *Image) debugSection(name string) ([]byte, error) {
	return withDebugFile{im}.Section(name)
}

// fileOnly is a dwarf.LazySource of the debug sections of one file.
type fileOnly struct{ im *Image }

// LazySection implements dwarf.LazySource; name is for example ".debug_info" or ".gdb_index".
func (s fileOnly) LazySection(name string) (data []byte, need func(from, end uint64) error, err error) {
	if short, ok := strings.CutPrefix(name, ".debug_"); ok {
		data, need, err = s.im.elf.LazyDebugSection(short)
		if (short == "str" || short == "info") && need == nil && err == nil {
			need = s.scattered(name, data)
		}
	} else if sec := s.im.elf.Section(name); sec != nil {
		data, need, err = s.im.elf.LazySection(sec)
	}
	if errors.Is(err, elffile.ErrNotFound) || errors.Is(err, elffile.ErrNoBits) {
		return nil, nil, nil
	}
	if err != nil {
		s.im.warn(fmt.Sprintf("%s: %v", s.im.path, err))
	}
	return data, need, err
}

// minScattered is the size in bytes from which on a section is read page by page where little of it is read.
const minScattered = 1 << 20

// scattered returns what is to be called before a string or the header of a unit is read, of which a report needs a few;
// nil if it does not matter how they are read.
func (s fileOnly) scattered(name string, data []byte) func(from, end uint64) error {
	sec := s.im.elf.Section(name)
	if len(data) < minScattered || s.im.file == nil || sec == nil || sec.Size != uint64(len(data)) {
		return nil
	}
	prepare := s.im.file.Scattered(sec.Off, sec.Size)
	if prepare == nil {
		return nil
	}
	return func(from, end uint64) error {
		prepare(from, end)
		return nil
	}
}

// Section implements dwarf.Source.
func (s fileOnly) Section(name string) ([]byte, error) { return wholeSection(s, name) }

// withDebugFile is a dwarf.LazySource of the debug sections of a binary or, for sections
// that the binary lacks, of its separate debug file.
type withDebugFile struct{ im *Image }

// LazySection implements dwarf.LazySource.
func (s withDebugFile) LazySection(name string) (data []byte, need func(from, end uint64) error, err error) {
	data, need, err = fileOnly(s).LazySection(name)
	if err == nil && data != nil {
		return data, need, nil
	}
	if d := s.im.debugFile(); d != nil {
		return fileOnly{d}.LazySection(name)
	}
	return nil, nil, err
}

// Section implements dwarf.Source.
func (s withDebugFile) Section(name string) ([]byte, error) { return wholeSection(s, name) }

func wholeSection(s dwarf.LazySource, name string) ([]byte, error) {
	data, need, err := s.LazySection(name)
	if err == nil && need != nil {
		err = need(0, uint64(len(data)))
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
