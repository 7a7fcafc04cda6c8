// Package layouts reads tables that say where runtimes keep things. A table has a line for each field, "record.field", and a column for each version:
//
//	# what it is
//	field 3.1 3.3
//	thread.ec 40 48
//	thread.tid - 16
package layouts

import (
	"strconv"
	"strings"
)

// A Layout has the offsets of fields, and other numbers, of one version.
type Layout map[string]uint64

// nowhere is beyond all that can be read, also with what is added to it.
const nowhere = 1 << 62

// At returns an offset; a field that the version does not have is at no address that can be read.
func (l Layout) At(field string) uint64 {
	if v, ok := l[field]; ok {
		return v
	}
	return nowhere
}

// Has reports whether the version has a field.
func (l Layout) Has(field string) bool { _, ok := l[field]; return ok }

// Read reads the last column that is one of those that are asked for, and returns its name; nil if there is none.
func Read(text string, is func(column string) bool) (l Layout, name string) {
	column := 0
	l = Layout{}
	for line := range strings.Lines(text) {
		i, field := -1, ""
		for f := range strings.FieldsSeq(line) {
			if i++; i == 0 {
				if field = f; f == "#" {
					break
				}
				continue
			}
			if field == "field" {
				if is(f) {
					column, name = i, f
				}
				continue
			}
			if i == column {
				if v, err := strconv.ParseUint(f, 10, 64); err == nil { // not "-"
					l[field] = v
				}
				break
			}
		}
		if field == "field" && column == 0 {
			return nil, ""
		}
	}
	return l, name
}
