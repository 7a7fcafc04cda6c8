package golang

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
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

// readLayout reads from the lines of layouts.txt what is said of one version on one architecture: "reasons VERSION"
// and its numbered words, "layout VERSION ARCHITECTURE" and its structures. It is nil if the table does not have it.
func readLayout(text string, minor int, machine string) *layout {
	version := fmt.Sprintf("1.%d", minor)
	words, structs := "reasons "+version, "layout "+version+" "+machine
	l := &layout{records: map[string]*record{}, minor: minor, source: "the table of go" + version}
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "reasons ") || strings.HasPrefix(line, "layout "):
			part = line
		case part == words: // a number and a word, which may be empty
			_, word, _ := strings.Cut(line, " ")
			l.reasons = append(l.reasons, word)
		case part == structs:
			f := strings.Fields(line)
			r := &record{size: number(f[1]), fields: make(map[string]uint64, len(f)-2)}
			for _, field := range f[2:] {
				name, v, _ := strings.Cut(field, "=")
				r.fields[name] = number(v)
			}
			l.records[f[0]] = r
		}
	}
	if len(l.records) == 0 {
		return nil
	}
	return l
}

func number(s string) uint64 {
	v, _ := strconv.ParseUint(s, 10, 64)
	return v
}

// tableLayout returns the layout of a version of Go, "go1.22.3" or "devel go1.27-abcdef", from
// the table. Of a version that the table does not have it takes the nearest, and says so.
func tableLayout(version, machine string) *layout {
	minor := minorIn(version)
	for near := range 4 {
		for _, m := range []int{minor - near, minor + near} {
			if l := readLayout(layoutsText, m, machine); l != nil {
				if near > 0 {
					l.source = fmt.Sprintf("derived from go1.%d: %s is not in the table", m, version)
				}
				return l
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
