package analysis

import (
	"fmt"
	"unicode/utf8"

	"github.com/corewalk/corewalk/report"
)

// A report has room, as its analysis has a budget. The name of one type may be all of a file, and a value of a thousand members has it a thousand
// times: what is cheap to find out, and shares the memory of its file, would be gigabytes when it is written.

// RoomOf returns how many bytes the report of a dump of size bytes may have, of what grows with the dump: names, and variables with their values.
func RoomOf(size uint64) int64 {
	const base, perByte, most = 32 << 20, 16, 2 << 30
	return int64(base + perByte*min(size, (most-base)/perByte))
}

// What parts of a report take in JSON besides their text.
const (
	entryRoom    = 300
	variableRoom = 100
	partRoom     = 60
)

// A room is what is left of the bytes that a report may have. They are counted as JSON needs them. Text needs less.
type room struct {
	all, left int64 // all is 0 for no limit
	full      bool
}

// textRoom is how many bytes texts take in JSON at most, which escapes what cannot be seen.
func textRoom(texts ...string) (n int) {
	for _, s := range texts {
		other := 0 // what a byte beyond ASCII takes
		for i := range len(s) {
			switch c := s[i]; {
			case c < ' ' || c == 0x7f:
				n += len(`\u0000`)
			case c == '"' || c == '\\':
				n += 2
			case c < utf8.RuneSelf:
				n++
			default:
				if other == 0 {
					if other = 3; !utf8.ValidString(s) { // \u00ad for two, or \udb40\udc01 for four; else each
						other = len(`\\xff`)
					}
				}
				n += other
			}
		}
	}
	return n
}

func (r *room) take(bytes int) {
	if r.left -= int64(bytes); r.left < 0 && r.all > 0 {
		r.full = true
	}
}

// longName is from where on the bytes of a name take longTimes the room in each frame that has it: they say the same again.
const longName, longTimes = maxTypeName, 4

// nameRoom is textRoom for names.
func nameRoom(names ...string) (n int) {
	for _, s := range names {
		whole := textRoom(s)
		n += whole + (longTimes-1)*max(0, whole-longName)
	}
	return n
}

// entries takes the room of frames. If there is none left, it cuts their names.
func (r *room) entries(list []report.Frame) {
	for i := range list {
		e := &list[i]
		r.take(entryRoom + nameRoom(e.Function, e.Symbol, e.Module, e.Source.File))
		if r.full {
			for _, s := range [...]*string{&e.Function, &e.Symbol, &e.Module, &e.Source.File} {
				*s = cutName(*s, maxNameAgain)
			}
		}
	}
}

// variable takes the room of a variable.
func (r *room) variable(v *report.Variable) {
	r.take(variableRoom + textRoom(v.Name, v.Type, v.Value, v.Reason, v.Entry, v.Location, v.Expression))
	if v.Data != nil {
		r.data(v.Data)
	}
}

func (r *room) data(d *report.Data) {
	r.take(partRoom + textRoom(d.Type, d.Text, d.Error))
	for i := range d.Children {
		c := &d.Children[i]
		if r.take(textRoom(c.Name)); c.Key != nil {
			r.data(c.Key)
		}
		r.data(&c.Data)
	}
}

// warn says that the room was used up.
func (r *room) warn(to *report.Report) {
	if r.full {
		to.Warnings = append(to.Warnings, report.Warning{Code: report.WarnLimit,
			Message: fmt.Sprintf("not all variables were read: the report would be larger than its dump explains (limit: %d MB)", r.all>>20),
			Advice:  "--thread, --max-frames and --locals ask for less; print shows one variable"})
	}
}

// The longest names: of types, and of what has been named before.
const (
	maxTypeName  = 4 << 10
	maxNameAgain = 256
)

// cutName cuts a name that is longer than most bytes.
func cutName(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most -= len("...")
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}

// A typeNames has the long names of types that a value has.
type typeNames map[string]bool

// name returns the name of a type: whole, if it is not too long, the first time; then its beginning.
func (n *typeNames) name(s string) string {
	if len(s) <= maxNameAgain {
		return s
	}
	if (*n)[s] {
		return cutName(s, maxNameAgain)
	}
	if *n == nil {
		*n = typeNames{}
	}
	(*n)[s] = true
	return cutName(s, maxTypeName)
}
