package modules

import "slices"

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
