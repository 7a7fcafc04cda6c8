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

// debugFile returns the separate debug file, or nil when there is none or none
// is needed. Where no directory has it, it is fetched.
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

// knownDebug is debugFile without fetching: what a directory has, or what has been
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

// Unfetched reports whether the debug file is one that a server may have, and that
// nobody has asked for yet: the first use of debug information will.
func (im *Image) Unfetched() bool {
	return im.finder.Fetches(im.elf.BuildID()) && !im.fetchDone.Load() && !im.hasDebugInfo() && im.knownDebug() == nil
}

func (im *Image) hasDebugInfo() bool {
	return im.elf.Section(".debug_info") != nil || im.elf.Section(".zdebug_info") != nil
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
				im.warn(fmt.Sprintf("%s: debug file is of another build (build-id %x, wanted %x)", path, did, id))
			} else if d.useful() {
				return d
			}
		case hasLink && elffile.DebugLinkCRC(d.elf.Data) == crc:
			return d
		default:
			im.warn(fmt.Sprintf("%s: debug file does not match the checksum that %s asks for", path, im.path))
		}
	}
	return nil
}

// fetchDebug asks the servers for the debug file.
func (im *Image) fetchDebug() *Image {
	id := im.elf.BuildID()
	path, err := im.finder.Fetch(id, find.KindDebugInfo)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, context.Canceled) {
			im.warn(fmt.Sprintf("%s: debug information could not be fetched: %v", im.path, err))
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

// useful reports whether a file proposed as debug file adds anything: a stripped
// copy of the binary itself may carry the same build-id.
func (im *Image) useful() bool {
	if im.hasDebugInfo() {
		return true
	}
	_, err := im.elf.SymTab()
	return err == nil
}

// AddDebugFile makes d the separate debug file, if none has been looked for yet.
func (im *Image) AddDebugFile(d *Image) {
	im.debugOnce.Do(func() { im.debug = d })
}

// DebugPath is the path of the file that debug information comes from: the
// separate debug file's, the binary's own, or "" when there is none. It fetches
// nothing.
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

// HasDWARF reports whether the module has debug information, its own or that of a
// debug file. It opens and fetches nothing.
func (im *Image) HasDWARF() bool {
	if im == nil || im.hasDebugInfo() {
		return im != nil
	}
	d := im.knownDebug()
	return d != nil && d.hasDebugInfo()
}

// debugSection reads a whole section of debug information from the binary, or
// from its debug file; nil when neither has it.
func (im *Image) debugSection(name string) ([]byte, error) {
	return withDebugFile{im}.Section(name)
}

// fileOnly hands the debug sections of one file out; it is a dwarf.LazySource.
type fileOnly struct{ im *Image }

// LazySection implements dwarf.LazySource: name is such as ".debug_info".
func (s fileOnly) LazySection(name string) (data []byte, need func(uint64) error, err error) {
	data, need, err = s.im.elf.LazyDebugSection(strings.TrimPrefix(name, ".debug_"))
	if errors.Is(err, elffile.ErrNotFound) || errors.Is(err, elffile.ErrNoBits) {
		return nil, nil, nil
	}
	if err != nil {
		s.im.warn(fmt.Sprintf("%s: %v", s.im.path, err))
	}
	return data, need, err
}

// Section implements dwarf.Source.
func (s fileOnly) Section(name string) ([]byte, error) { return wholeSection(s, name) }

// withDebugFile hands out the debug sections of a binary, or where it has none
// those of its separate debug file; it is a dwarf.LazySource.
type withDebugFile struct{ im *Image }

// LazySection implements dwarf.LazySource.
func (s withDebugFile) LazySection(name string) (data []byte, need func(uint64) error, err error) {
	data, need, err = fileOnly{s.im}.LazySection(name)
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
		err = need(uint64(len(data)))
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
