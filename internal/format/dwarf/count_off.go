//go:build !countdwarf

package dwarf

// counting says that the bytes which cursors go over are counted, for the tests
// that are built with the tag countdwarf. Otherwise nothing of it is compiled.
const counting = false

func (c *Cursor) mark(from, to int) {}
func (d DIE) referred()             {}
