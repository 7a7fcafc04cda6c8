package beam

import (
	_ "embed"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

//go:embed layouts.txt
var layoutsText string

// A layout has the offsets of fields, "record.field", of one release.
type layout layouts.Layout

func (l layout) at(field string) uint64 { return layouts.Layout(l).At(field) }
func (l layout) has(field string) bool  { return layouts.Layout(l).Has(field) }

// tableLayout reads the column of a release, "25", or of its virtual machine that interprets, "25emu"; nil if there is none.
func tableLayout(text, release string) layout {
	l, _ := layouts.Read(text, func(column string) bool { return column == release })
	return layout(l)
}
