package modules

import (
	"fmt"
	"io"
	"slices"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// Files lists the files on this machine that were used for the libraries looked up so far: binaries, separate debug
// files, symbol files. Files from a different build are not among them. Nothing may be looked up meanwhile.
func (s *Set) Files() []string {
	s.mu.Lock()
	entries := make([]*setEntry, 0, len(s.entries))
	for _, e := range s.entries {
		entries = append(entries, e)
	}
	s.mu.Unlock()
	var list []string
	for _, e := range entries {
		res := e.res
		if r := e.fetched.Load(); r != nil {
			res = *r
		}
		if res.Match != Mismatched {
			list = append(list, res.Image.file().Files()...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// CopyFile writes the contents of a file that Files lists to w. Files of images are taken out of them.
func (s *Set) CopyFile(w io.Writer, path string) error {
	f, err := s.finder.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fault := mmapfile.Guard(func() { _, err = w.Write(f.Data()) })
	if fault != nil {
		err = fault
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
