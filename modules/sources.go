package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/libstate"
)

// A SourceFile is the text of a source file.
type SourceFile struct {
	Path string // on this machine
	// Newer says that the file was changed after the module was built, as far as the times
	// of files tell.
	Newer bool

	lines []string
}

// Lines returns the lines numbered first to last, of which there may be fewer, and the
// number of the first that is returned.
func (f *SourceFile) Lines(first, last int) (int, []string) {
	first, last = max(first, 1), min(last, len(f.lines))
	if first > last {
		return first, nil
	}
	return first, f.lines[first-1 : last]
}

// Bounds on source files. Generated code reaches some megabytes.
const (
	maxSource  = 16 << 20 // bytes of a file
	maxSources = 64 << 20 // bytes that a Set keeps
)

type sourceKey struct{ id, path string }

// A sourceEntry is read by who asks for it first: others that want it wait for that, and those that want other files do not.
type sourceEntry struct {
	once sync.Once
	file *SourceFile
	err  error
}

// SourceFile returns the source file at a path that the debug information of lib records.
// It is looked for where WithSourceMap, WithSysroot and WithSearch say and at the path
// itself, and then fetched if the Fetcher is a SourceFetcher. Only files whose names are
// those of source files are opened, and the path itself only for modules of this machine:
// a stranger's debug information must not choose which files are shown. The error wraps
// fs.ErrNotExist if there is none.
func (s *Set) SourceFile(lib *libstate.Library, path string) (*SourceFile, error) {
	e := s.sourceEntry(sourceKey{string(lib.BuildID) + "\x00" + lib.Path, path})
	e.once.Do(func() {
		e.err = mmapfile.ErrChanged // remains if reading faults
		if e.file, e.err = s.readSource(lib, path); e.file != nil {
			s.countSource(e.file)
		}
	})
	return e.file, e.err
}

func (s *Set) sourceEntry(key sourceKey) *sourceEntry {
	s.sourceMu.Lock()
	defer s.sourceMu.Unlock()
	e := s.sources[key]
	if e == nil {
		if s.sourceBytes > maxSources || s.sources == nil {
			s.sources, s.sourceBytes = map[sourceKey]*sourceEntry{}, 0
		}
		e = new(sourceEntry)
		s.sources[key] = e
	}
	return e
}

// countSource counts what a file holds.
func (s *Set) countSource(f *SourceFile) {
	size := 0
	for _, l := range f.lines {
		size += len(l) + 16
	}
	s.sourceMu.Lock()
	defer s.sourceMu.Unlock()
	s.sourceBytes += size
}

func (s *Set) readSource(lib *libstate.Library, recorded string) (*SourceFile, error) {
	var refused error
	for path, given := range s.finder.Sources(recorded) {
		f, err := s.openSource(lib, path, given)
		switch {
		case err == nil:
			f.Newer = s.newer(lib, f)
			return &f.SourceFile, nil
		case !errors.Is(err, fs.ErrNotExist) && refused == nil:
			refused = err
		}
	}
	if s.fetches(lib) && strings.HasPrefix(recorded, "/") {
		path, err := s.finder.FetchSource(lib.BuildID, recorded)
		if err == nil {
			var f *openedSource
			if f, err = s.openSource(lib, path, true); err == nil {
				return &f.SourceFile, nil
			}
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) {
			refused = err
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("no source file for %s: %w", recorded, fs.ErrNotExist)
}

type openedSource struct {
	SourceFile
	changed time.Time
}

// openSource reads a source file. What is not text is refused, and a file at the recorded
// path itself unless the module may name it.
func (s *Set) openSource(lib *libstate.Library, path string, given bool) (*openedSource, error) {
	data, st, err := s.finder.Read(path, maxSource+1)
	if err != nil {
		return nil, err
	}
	if !given && !s.mayName(lib, path, st) {
		return nil, fmt.Errorf("%s: only the debug information of %.200q asks for it, and that may be a stranger's; --source-map %[3]s=%[3]s shows it", path, lib.Path, filepath.Dir(path))
	}
	switch {
	case len(data) > maxSource:
		return nil, fmt.Errorf("%s: longer than %d MB", path, maxSource>>20)
	case bytes.IndexByte(data, 0) >= 0:
		return nil, fmt.Errorf("%s: not a text file", path)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return &openedSource{SourceFile{Path: path, lines: lines}, st.ModTime()}, nil
}

// newer reports whether a source file was changed after the file of lib.
func (s *Set) newer(lib *libstate.Library, f *openedSource) bool {
	st, err := os.Stat(s.Resolve(lib).Path)
	return err == nil && f.changed.After(st.ModTime())
}
