package golang

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

//go:embed layouts.txt
var layoutsText string

// A record has the offsets of a structure's fields in bytes, and its size.
type record struct {
	size   uint64
	fields map[string]uint64
}

// off returns the offset of a field; false if this version has none of that name.
func (r *record) off(name string) (uint64, bool) {
	if r == nil {
		return 0, false
	}
	v, ok := r.fields[name]
	return v, ok
}

// A layout says where one version of the runtime keeps things on one architecture.
type layout struct {
	records map[string]*record
	reasons []string // by number
	minor   int      // of Go 1.minor
	source  string   // where the offsets come from, in words for reports
}

func (l *layout) of(name string) *record { return l.records[name] }

// layouts has the table, keyed by version and architecture: "1.22 amd64".
var layouts = lazy.Value[map[string]*layout]{Make: func() map[string]*layout { return parseLayouts(layoutsText) }}

// parseLayouts reads the lines of layouts.txt: "reasons VERSION" and its numbered words,
// "layout VERSION ARCHITECTURE" and its structures.
func parseLayouts(text string) map[string]*layout {
	all := map[string]*layout{}
	reasons := map[string][]string{}
	var at *layout
	var words string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "reasons":
			at, words = nil, f[1]
		case f[0] == "layout":
			at = &layout{records: map[string]*record{}, minor: minorOf(f[1]), reasons: reasons[f[1]], source: "the table of go" + f[1]}
			all[f[1]+" "+f[2]] = at
		case at == nil: // a number and a word, which may be empty
			_, word, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			reasons[words] = append(reasons[words], word)
		default:
			r := &record{size: number(f[1]), fields: make(map[string]uint64, len(f)-2)}
			for _, field := range f[2:] {
				name, v, _ := strings.Cut(field, "=")
				r.fields[name] = number(v)
			}
			at.records[f[0]] = r
		}
	}
	return all
}

func number(s string) uint64 {
	v, _ := strconv.ParseUint(s, 10, 64)
	return v
}

// minorOf returns 22 for "1.22"; 0 if it is not a version.
func minorOf(version string) int {
	rest, ok := strings.CutPrefix(version, "1.")
	if !ok {
		return 0
	}
	n, _ := strconv.Atoi(rest)
	return n
}

// tableLayout returns the layout of a version of Go, "go1.22.3" or "devel go1.27-abcdef", from
// the table. Of a version that the table does not have it takes the nearest, and says so.
func tableLayout(version, machine string) *layout {
	all := layouts.Get()
	minor := minorIn(version)
	for near := range 4 {
		for _, m := range []int{minor - near, minor + near} {
			if l := all[fmt.Sprintf("1.%d %s", m, machine)]; l != nil {
				if near == 0 {
					return l
				}
				derived := *l
				derived.source = fmt.Sprintf("derived from go1.%d: %s is not in the table", m, version)
				return &derived
			}
		}
	}
	return nil
}

// minorIn finds the minor version in what the program says of its Go: "go1.22.3", "go1.24rc1",
// "devel go1.27-5f0a", "go1.21.5 X:nocoverageredesign". It is 0 if there is none.
func minorIn(version string) int {
	_, rest, ok := strings.Cut(version, "go1.")
	if !ok {
		return 0
	}
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	n, _ := strconv.Atoi(rest[:end])
	return n
}
