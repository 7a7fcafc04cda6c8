package perl

import (
	_ "embed"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

//go:embed layouts.txt
var layoutsText string

// A layout has the offsets of fields, "record.field", of one version.
type layout layouts.Layout

func (l layout) at(field string) uint64 { return layouts.Layout(l).At(field) }
func (l layout) has(field string) bool  { return layouts.Layout(l).Has(field) }

// tableLayout reads the column of a version, "5.36" or with threads "5.36t"; nil if there is none.
func tableLayout(text, version string) layout {
	l, _ := layouts.Read(text, func(column string) bool { return column == version })
	return layout(l)
}
