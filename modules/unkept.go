package modules

import (
	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
)

// An Unkept says how much of a section of a package's file was decompressed without being kept on disk.
type Unkept struct {
	Path    string `json:"path"`
	Section int    `json:"section"` // its number in the file
	End     uint64 `json:"end"`     // how many bytes of the section were decompressed, from its start
}

// maxUnkept is how many a list of them has at most.
const maxUnkept = 256

// Unkept lists what this process decompressed of packages' files so far and may not write to the directory of WithKept,
// because its limit is 0. A process that may write there can pass the list to KeepAlso.
func (c *Cache) Unkept() []Unkept {
	c.mu.Lock()
	g, list := c.current, c.unkept
	c.mu.Unlock()
	if g == nil {
		return list
	}
	return g.unkept(slices.Clone(list))
}

// unkept adds what the files of a generation have.
func (g *generation) unkept(list []Unkept) []Unkept {
	for _, u := range g.images.Unkept() {
		list = AddUnkept(list, Unkept(u))
	}
	return list
}

// AddUnkept adds to a list what is not in it, as long as it is short enough for KeepAlso.
func AddUnkept(list []Unkept, more ...Unkept) []Unkept {
	for _, u := range more {
		at := slices.IndexFunc(list, func(v Unkept) bool { return v.Path == u.Path && v.Section == u.Section })
		switch {
		case at >= 0:
			list[at].End = max(list[at].End, u.End)
		case len(list) < maxUnkept:
			list = append(list, u)
		}
	}
	return list
}

// KeepAlso decompresses the parts of files that another process listed (Unkept) because it could not write; Close
// keeps them (WithKept). The list may come from a process that a dump has taken over: only files of packages are
// read, at most 64 MB of what is in them.
func (c *Cache) KeepAlso(list []Unkept) error {
	if len(list) == 0 {
		return nil
	}
	g := c.acquire()
	g.images.KeepAlso(func(yield func(image.Unkept) bool) {
		for _, u := range list[:min(len(list), maxUnkept)] {
			if !yield(image.Unkept(u)) {
				return
			}
		}
	})
	return c.release(g)
}
