package image

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// DWARF returns the debug information of the binary or of its debug file, or nil if there
// is none.
func (im *Image) DWARF() *dwarf.Data {
	if im == nil {
		return nil
	}
	im.dwarfOnce.Do(func() { im.dwarf = im.openDWARF() })
	return im.dwarf
}

func (im *Image) openDWARF() *dwarf.Data {
	holder := im
	if !im.hasDebugInfo() {
		holder = im.debugFile()
		if holder == nil || !holder.hasDebugInfo() {
			return nil
		}
	}
	opts := []dwarf.Option{dwarf.WithSplit(holder.findSplit), dwarf.WithAnswers(im.unitAnswer)}
	if low, high, ok := im.textRange(); ok {
		opts = append(opts, dwarf.WithText(low, high))
	}
	if sup := holder.supplement(); sup != nil {
		opts = append(opts, dwarf.WithSup(sup))
	}
	key, ok := holder.unitsKey(im)
	if ok {
		opts = append(opts, dwarf.WithUnitIndex(func() []byte { return holder.keptEntry().Whole(key) }))
	}
	d := dwarf.New(withDebugFile{im}, im.elf.Order, opts...)
	if ok {
		holder.disk.mu.Lock()
		defer holder.disk.mu.Unlock()
		holder.disk.units = append(holder.disk.units, keptUnits{key, d})
	}
	return d
}

// unitAnswer keeps what is found in units of the debug information.
func (im *Image) unitAnswer(q dwarf.Question, find func() []byte) []byte {
	return im.DebugAnswer(Question{Kind: askedUnit | q.Kind, A: q.Unit, B: q.Addr, C: q.Of}, find)
}

// textRange returns the address range of the executable segments.
func (im *Image) textRange() (low, high uint64, ok bool) {
	for i := range im.elf.Progs {
		p := &im.elf.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Flags&elffile.PF_X == 0 {
			continue
		}
		if !ok || p.Vaddr < low {
			low = p.Vaddr
		}
		high = max(high, p.Vaddr+p.Memsz)
		ok = true
	}
	return low, high, ok
}

// supplement opens the file named by .gnu_debugaltlink: debug information that several
// files share (dwz -m).
func (im *Image) supplement() *dwarf.Data {
	name, id, ok := im.elf.DebugAltLink()
	if ok {
		im.part()
	}
	if !ok || im.finder == nil {
		return nil
	}
	for path := range im.finder.AltFiles(name, id, im.path) {
		alt, err := im.cache.Open(path)
		if err == nil && bytes.Equal(alt.elf.BuildID(), id) {
			im.usedWith(path)
			return dwarf.New(fileOnly{alt}, alt.elf.Order)
		}
	}
	if path, err := im.finder.Fetch(id, find.KindDebugInfo); err == nil {
		if alt, err := im.cache.Open(path); err == nil && bytes.Equal(alt.elf.BuildID(), id) {
			im.usedWith(path)
			return dwarf.New(fileOnly{alt}, alt.elf.Order)
		}
	}
	im.warn(fmt.Sprintf("%s: shared debug information %s (build-id %x) not found; names stored in it are missing", im.path, name, id))
	return nil
}

// findSplit opens the .dwo file of a skeleton unit. The unit id decides which candidate is
// the right one.
func (im *Image) findSplit(u *dwarf.Unit) (*dwarf.Data, error) {
	name, ok := u.Skeleton()
	if ok {
		im.part()
	}
	if !ok || im.finder == nil || u.ID == 0 { // without an id, any file would do
		return nil, nil
	}
	if d := im.packaged(u.ID); d != nil {
		return d, nil
	}
	for path := range im.finder.SplitFiles(name, u.CompDir(), im.path) {
		dwo, err := im.cache.Open(path)
		if err != nil {
			continue
		}
		d := dwarf.New(fileOnly{dwo}, dwo.elf.Order, dwarf.DWO())
		if holdsUnit(d, u.ID) {
			im.usedWith(path)
			return d, nil
		}
		im.warn(fmt.Sprintf("%s: not the split debug information that %s refers to", path, im.path))
	}
	im.warn(fmt.Sprintf("%s: split debug information %s not found; inlined calls of its functions are missing", im.path, filepath.Base(name)))
	return nil, nil
}

// packaged looks for a unit in the .dwp file, which can package the .dwo files of a
// program.
func (im *Image) packaged(id uint64) *dwarf.Data {
	im.dwpOnce.Do(func() {
		for path := range im.finder.PackageFiles(im.path) {
			dwp, err := im.cache.Open(path)
			if err != nil {
				continue
			}
			if im.dwp, err = dwarf.NewPackage(fileOnly{dwp}, dwp.elf.Order); err == nil {
				im.usedWith(path)
				return
			}
			im.warn(fmt.Sprintf("%s: %v", path, err))
		}
	})
	if im.dwp == nil {
		return nil
	}
	d, err := im.dwp.Unit(id)
	if err != nil {
		return nil // there may still be a .dwo file
	}
	return d
}

// part records that the debug information is partly in other files.
func (im *Image) part() {
	im.warnMu.Lock()
	defer im.warnMu.Unlock()
	im.parted = true
}

func holdsUnit(d *dwarf.Data, id uint64) bool {
	found := false
	d.Units(func(u *dwarf.Unit) bool {
		found = u.ID == id
		return !found
	})
	return found
}
