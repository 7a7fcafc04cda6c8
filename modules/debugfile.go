package modules

import (
	"context"
	"errors"
	"io/fs"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/libstate"
)

// debugFile searches for the debug file of a library by its build-id: among those
// already seen, and in the directories. The file may turn out to be the complete
// binary.
func (s *Set) debugFile(lib *libstate.Library, seen []*image.Image) *image.Image {
	for _, im := range seen {
		if tells(im) {
			return im
		}
	}
	if len(lib.BuildID) == 0 {
		return nil
	}
	for path := range s.finder.DebugFiles(find.DebugQuery{BuildID: lib.BuildID, PartialID: lib.PartialBuildID()}) {
		if im := s.openDebugFile(lib, path); im != nil {
			return im
		}
	}
	return nil
}

// fetchDebugFile asks the servers for the debug file. The error is of a fetch that failed;
// that servers have no such file is none, for the missing binary is already reported.
func (s *Set) fetchDebugFile(lib *libstate.Library) (*image.Image, error) {
	path, err := s.finder.Fetch(lib.BuildID, find.KindDebugInfo)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, context.Canceled):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.openDebugFile(lib, path), nil
}

func (s *Set) openDebugFile(lib *libstate.Library, path string) *image.Image {
	im, err := s.cache.Open(path)
	if err != nil || !lib.SameBuildID(im.ELF().BuildID()) || !tells(im) {
		return nil
	}
	return im
}

// tells reports whether a file has more symbols than the module's exports.
func tells(im *image.Image) bool {
	if _, err := im.ELF().SymTab(); err == nil {
		return true
	}
	return im.ELF().Section(".debug_info") != nil || im.ELF().Section(".zdebug_info") != nil || im.ELF().Section(".debug_frame") != nil
}
