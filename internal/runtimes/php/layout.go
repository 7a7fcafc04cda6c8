package php

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

// tableLayout reads the column of a version, "8.2"; nil if there is none.
func tableLayout(text, version string) layout {
	l, _ := layouts.Read(text, func(column string) bool { return column == version })
	return layout(l)
}

// versions are the versions that are known, by the number of the interface that extensions are built for. Each release of them has the
// number of its version.
var versions = [...]struct {
	api     uint32
	version string
}{{20190902, "7.4"}, {20200930, "8.0"}, {20210902, "8.1"}, {20220829, "8.2"}, {20230831, "8.3"}, {20240924, "8.4"}}

func versionOf(api uint32) string {
	for _, v := range versions {
		if v.api == api {
			return v.version
		}
	}
	return ""
}
