package dwarf

import "fmt"

// Split returns the unit in the .dwo file of a skeleton unit; it uses the skeleton's
// addresses and lines. It returns nil if the unit is not a skeleton or the file was not
// found.
func (u *Unit) Split() (*Unit, error) {
	if u.Type != UnitSkeleton || u.Data.split == nil {
		return nil, nil
	}
	u.splitOnce.Do(func() {
		d, err := u.Data.split(u)
		if err != nil || d == nil {
			u.splitErr = err
			return
		}
		u.splitUnit, u.splitErr = u.attach(d)
	})
	return u.splitUnit, u.splitErr
}

// attach finds the unit with the skeleton's id in d.
func (u *Unit) attach(d *Data) (*Unit, error) {
	starts, err := d.unitStarts(SecInfo)
	for _, off := range starts {
		h, herr := d.readHeader(SecInfo, off)
		if herr != nil || h.kind != UnitCompile && h.kind != UnitSplitCompile {
			continue
		}
		r, herr := d.readRoot(&h)
		if herr != nil || h.kind != UnitSplitCompile || h.id != u.ID {
			continue
		}
		s := newUnit(d, &h, &r)
		s.skeleton = u
		return s, nil
	}
	if err == nil {
		err = ErrNotFound
	}
	return nil, fmt.Errorf("split unit %#x: %w", u.ID, err)
}
