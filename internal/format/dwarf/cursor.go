package dwarf

import (
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An Entry is a debugging information entry (DIE) read by Cursor.Next.
type Entry struct {
	Off         uint64 // in the unit's section
	Tag         Tag    // 0 for the null entry at the end of a list of children
	HasChildren bool
	Depth       int // relative to the entry at which the cursor began
}

// A Cursor iterates over the entries of a unit in file order, parents before children. It
// allocates nothing. It is a plain value: copy it to look ahead.
//
//	c := u.Cursor(off)
//	for c.Next(&e) {
//		for c.Attr(&v) { ... }
//		if unwanted { c.SkipChildren() }
//	}
type Cursor struct {
	u     *Unit
	table *abbrevTable
	in    binbuf.Cursor // Data ends with the unit
	level int           // depth of the entry that Next will read

	ab      *abbrev // of the current entry, while it has unread attributes
	spec    int     // index of the next attribute
	sibling uint64  // value of DW_AT_sibling, once read
	parent  bool    // the current entry has children, and they come next
}

// Cursor returns a cursor whose first entry is the one at off, an offset in the unit's
// section. If off is outside the unit, the iteration is empty and ends with an error.
func (u *Unit) Cursor(off uint64) Cursor {
	c := Cursor{u: u, table: u.abbrevs()}
	if off < u.entries || off > u.End {
		c.in.Fail(fmt.Errorf("entry %#x is outside the unit %#x-%#x: %w", off, u.Off, u.End, ErrFormat))
		return c
	}
	c.in = binbuf.New(u.section()[:u.End], int(off), u.Data.big)
	return c
}

// Err returns the error that ended the iteration early, or nil.
func (c *Cursor) Err() error { return c.in.Error }

// Level is the depth of the entry that Next will read. To iterate over the children of the
// entry just read, continue while Level is greater than its depth.
func (c *Cursor) Level() int { return c.level }

// Next advances to the next entry and skips unread attributes of the current one. It
// returns false at the end of the unit or if the data is damaged.
func (c *Cursor) Next(e *Entry) bool {
	if c.ab != nil {
		c.skipAttrs(int(c.ab.count))
	}
	if !c.in.More() {
		return false
	}
	off := c.in.Off
	code := uint64(c.in.Data[off])
	if code < 0x80 {
		c.in.Off++
	} else {
		code = c.in.ULEB()
	}
	if counting {
		c.mark(off, c.in.Off)
	}
	e.Off, e.Depth = uint64(off), c.level
	c.spec, c.sibling, c.parent = 0, 0, false
	if code == 0 {
		e.Tag, e.HasChildren = 0, false
		c.ab = nil
		c.level--
		return c.in.Error == nil
	}
	ab := c.table.find(code)
	if ab == nil {
		c.unknown(off, code)
		return false
	}
	c.ab = ab
	e.Tag, e.HasChildren = ab.tag, ab.children
	if ab.children {
		c.parent = true
		c.level++
	}
	return true
}

func (c *Cursor) unknown(off int, code uint64) {
	c.ab = nil
	err := fmt.Errorf("entry %#x: abbreviation %d is not in the table at %#x: %w", off, code, c.u.abbrevOff, ErrFormat)
	if c.table.err != nil {
		err = fmt.Errorf("%w (the table is truncated: %v)", err, c.table.err)
	}
	c.in.Fail(err)
}

// Attr reads the next attribute of the current entry into v. It returns false after the
// last one.
func (c *Cursor) Attr(v *Value) bool {
	if c.ab == nil || c.spec >= int(c.ab.count) || c.in.Error != nil {
		return false
	}
	s := &c.table.specs[int(c.ab.first)+c.spec]
	c.spec++
	v.Attr = s.attr
	from := c.in.Off
	readForm(&c.in, s.form, s.implicit, c.u.enc, v)
	if counting {
		c.mark(from, c.in.Off)
	}
	if s.attr == AttrSibling && c.in.Error == nil {
		c.sibling = c.siblingOffset(v)
	}
	return c.in.Error == nil
}

// Find reads attributes of the current entry until it meets attr.
func (c *Cursor) Find(attr Attr, v *Value) bool {
	if c.ab == nil {
		return false
	}
	for i := c.spec; i < int(c.ab.count); i++ {
		if c.table.specs[int(c.ab.first)+i].attr == attr {
			c.skipAttrs(i)
			return c.Attr(v)
		}
	}
	return false
}

// has reports whether the current entry has attr, whatever its value.
func (c *Cursor) has(attr Attr) bool {
	if c.ab == nil {
		return false
	}
	specs := c.table.of(c.ab)
	for i := range specs {
		if specs[i].attr == attr {
			return true
		}
	}
	return false
}

// skipAttrs skips the attributes before index end.
func (c *Cursor) skipAttrs(end int) {
	if counting {
		from := c.in.Off
		defer func() { c.mark(from, c.in.Off) }()
	}
	ab := c.ab
	if c.spec == 0 && ab.fixed >= 0 && end == int(ab.count) {
		c.spec = end
		c.in.Skip(int(ab.fixed))
		return
	}
	specs := c.table.of(ab)
	for c.spec < end {
		s := &specs[c.spec]
		switch {
		case s.size < 0:
			skipForm(&c.in, s.form, c.u.enc)
		case c.spec+int(s.runLen) <= end:
			c.in.Skip(int(s.runBytes))
			c.spec += int(s.runLen)
			continue
		default:
			c.in.Skip(int(s.size))
		}
		c.spec++
	}
}

// siblingOffset returns the offset in a DW_AT_sibling, or 0 if it does not lead forward
// within the unit: the iteration must always advance.
func (c *Cursor) siblingOffset(v *Value) uint64 {
	off := v.U
	if v.Form != FormRefAddr {
		off += c.u.Off
	}
	if v.Form.Class() != ClassReference || off < v.U || off <= uint64(c.in.Off) || off > c.u.End {
		return 0
	}
	return off
}

// hasSibling reports whether the current entry says where its children end.
func (c *Cursor) hasSibling() bool { return c.ab != nil && c.ab.sibling >= 0 }

// SkipChildren skips the children of the current entry: directly if the entry says where
// they end, otherwise by iterating over them.
func (c *Cursor) SkipChildren() {
	if !c.parent {
		return
	}
	target := c.level - 1
	if end := c.childrenEnd(); end != 0 {
		c.in.Seek(int(end))
		c.ab, c.parent = nil, false
		c.level = target
		return
	}
	c.parent = false
	c.skipRest()
	var e Entry
	for c.level > target {
		if c.skipLeaves(math.MaxUint64); !c.Next(&e) {
			return
		}
		c.skipRest()
	}
}

// childrenEnd returns the offset at which the current entry says that its children end, or 0
// if it does not say.
func (c *Cursor) childrenEnd() uint64 {
	if !c.parent || !c.hasSibling() {
		return 0
	}
	if c.sibling == 0 && c.spec <= int(c.ab.sibling) {
		var v Value
		c.skipAttrs(int(c.ab.sibling))
		c.Attr(&v)
	}
	if c.in.Error != nil {
		return 0
	}
	return c.sibling
}

// skipRest skips the unread attributes of the current entry.
func (c *Cursor) skipRest() {
	if c.ab != nil {
		c.skipAttrs(int(c.ab.count))
		c.ab = nil
	}
}

// skipLeaves skips entries before limit that have no children and a fixed size, except
// functions with code. The current entry must have no unread attributes.
func (c *Cursor) skipLeaves(limit uint64) {
	if counting || c.in.Error != nil {
		return
	}
	data, list, off := c.in.Data, c.table.list[:c.table.dense], c.in.Off
	for off < len(data) && uint64(off) < limit {
		code := int(data[off]) - 1
		if code < 0 || code >= 0x7f || code >= len(list) {
			break
		}
		next := off + 1 + int(list[code].leaf)
		if next <= off || next > len(data) {
			break
		}
		off = next
	}
	c.in.Off = off
}

// Entry reads the entry at off.
func (u *Unit) Entry(off uint64) (Entry, error) {
	var e Entry
	c := u.Cursor(off)
	if !c.Next(&e) || e.Tag == 0 {
		return e, c.fail("no entry at", off)
	}
	return e, nil
}

// Value returns one attribute of the entry at off. The Value is not Present if the entry
// lacks it.
func (u *Unit) Value(off uint64, attr Attr) Value {
	var e Entry
	var v Value
	c := u.Cursor(off)
	if c.Next(&e) && c.Find(attr, &v) {
		return v
	}
	return Value{}
}

func (c *Cursor) fail(what string, off uint64) error {
	if c.in.Error != nil {
		return c.in.Error
	}
	return fmt.Errorf("%s %#x: %w", what, off, ErrFormat)
}
