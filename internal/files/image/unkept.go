package image

import (
	"slices"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// Unkept says how much of a section of a package's file was decompressed, and is not kept.
type Unkept struct {
	Path    string `json:"path"`
	Section int    `json:"section"` // its number in the file
	End     uint64 `json:"end"`     // where it ends in the decompressed section, in bytes
}

// Limits of what KeepAlso decompresses, whoever asks for it.
const (
	maxUnkept      = 256
	maxUnkeptBytes = 64 << 20
)

// Unkept lists what was decompressed of packages' files, for a process that may keep it where this one may not.
func (c *Cache) Unkept() []Unkept {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []Unkept
	for _, im := range c.byFile {
		im.side.Wait()
		list = append(list, im.unkept()...)
	}
	return list
}

func (im *Image) unkept() (list []Unkept) {
	k := &im.disk
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entry == nil || k.entry.Keeps() || !inPackages(im.path) {
		return nil
	}
	for _, s := range k.sections {
		if s.fresh() >= minFresh && len(list) < maxUnkept {
			list = append(list, Unkept{im.path, s.packed.Index, s.lazy.Load().Filled()})
		}
	}
	return list
}

// KeepAlso decompresses what another process could not keep, so that Keep does. The list is not believed: only packages' files are
// opened, and of those only sections that are there are decompressed, up to a limit.
func (c *Cache) KeepAlso(list []Unkept) {
	left := uint64(maxUnkeptBytes)
	for _, u := range list[:min(len(list), maxUnkept)] {
		if u.End > left || !inPackages(u.Path) {
			continue
		}
		im, err := c.Open(u.Path)
		if err != nil || u.Section <= 0 || u.Section >= len(im.elf.Sections()) {
			continue
		}
		left -= u.End
		_ = mmapfile.Guard(func() { // the next report says what is wrong with the file
			if _, need, err := im.elf.LazySection(&im.elf.Sections()[u.Section]); err == nil && need != nil {
				_ = need(0, u.End)
			}
		})
	}
}

// Add adds to a list what is not in it, as long as there is room.
func Add(list, more []Unkept) []Unkept {
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
