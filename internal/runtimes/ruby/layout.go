package ruby

import (
	_ "embed"
	"strconv"
	"strings"
)

//go:embed layouts.txt
var layoutsText string

// A layout has the offsets of fields, "record.field", of one version.
type layout map[string]uint64

// at returns an offset; a field that the version does not have is at no address that can be read.
func (l layout) at(field string) uint64 {
	if v, ok := l[field]; ok {
		return v
	}
	return 1 << 62
}

func (l layout) has(field string) bool { _, ok := l[field]; return ok }

// tableLayout reads the column of a version, "3.1"; nil if there is none.
func tableLayout(text, version string) layout {
	column := 0
	l := layout{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "field":
			for i, v := range f {
				if i > 0 && v == version {
					column = i
				}
			}
			if column == 0 {
				return nil
			}
		case column < len(f) && f[column] != "-":
			l[f[0]], _ = strconv.ParseUint(f[column], 10, 64)
		}
	}
	return l
}
