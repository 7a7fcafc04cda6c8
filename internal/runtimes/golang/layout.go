package golang

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/files/image"
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
	derived bool     // of another version
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

// maxAway is how many versions away a layout may be from the one that is wanted.
const maxAway = 3

// nearLayouts returns the layouts of versions near one that the table does not have, the nearest first; all, the newest first, if
// the version is not known. They say what they are.
func nearLayouts(table string, minor int, version, machine string) []*layout {
	var near []int
	for away := 1; away <= maxAway && minor > 0; away++ {
		near = append(near, minor-away, minor+away)
	}
	for m := newest(table); m > 0 && minor == 0; m-- {
		near = append(near, m)
	}
	var found []*layout
	for _, m := range near {
		if l := readLayout(table, m, machine); l != nil {
			l.derived = true
			l.source = fmt.Sprintf("derived from go1.%d: %s is not in the table", m, cmp.Or(version, "the version"))
			if minor > 0 {
				l.minor = minor
			}
			found = append(found, l)
		}
	}
	return found
}

// newest returns the newest minor version in the table.
func newest(table string) int {
	last := 0
	for line := range strings.Lines(table) {
		if v, ok := strings.CutPrefix(line, "reasons "); ok {
			last = max(last, image.GoMinor("go"+v))
		}
	}
	return last
}
