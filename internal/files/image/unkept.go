package image

import (
	"iter"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// Unkept says how much of a section of a package's file was decompressed, and is not kept.
type Unkept struct {
	Path    string `json:"path"`
	Section int    `json:"section"` // its number in the file
	End     uint64 `json:"end"`     // where it ends in the decompressed section, in bytes
}

// maxUnkeptBytes limits what KeepAlso decompresses, whoever asks for it.
const maxUnkeptBytes = 64 << 20

// Unkept lists what was decompressed of packages' files, for a process that may keep it where this one may not. Others may
// use the images meanwhile: it does not wait for what is being decompressed.
func (c *Cache) Unkept() []Unkept {
	c.mu.Lock()
	images := slices.Collect(maps.Values(c.byFile))
	c.mu.Unlock()
	var list []Unkept
	for _, im := range images {
		list = append(list, im.unkept()...)
	}
	return list
}

func (im *Image) unkept() (list []Unkept) {
	k := &im.disk
	k.mu.Lock()
	sections := k.sections // others add some, and change none
	k.mu.Unlock()
	if len(sections) == 0 || k.entry.Keeps() || !inPackages(im.path) { // who added a section had the entry
		return nil
	}
	for _, s := range sections {
		if s.fresh() >= minFresh {
			list = append(list, Unkept{im.path, s.packed.Index, s.lazy.Load().Filled()})
		}
	}
	return list
}

// KeepAlso decompresses what another process could not keep, so that Keep does. The list is not believed: only packages' files are
// opened, and of those only sections that are there are decompressed, up to a limit.
func (c *Cache) KeepAlso(list iter.Seq[Unkept]) {
	left := uint64(maxUnkeptBytes)
	for u := range list {
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
