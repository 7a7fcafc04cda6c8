package lua

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

//go:embed layouts.txt
var layoutsText string

//go:embed opcodes.txt
var opcodesText string

// A layout has the offsets of fields, "record.field", of one version.
type layout layouts.Layout

// at returns an offset; a field that the version does not have is at no address that can be read.
func (l layout) at(field string) uint64 { return layouts.Layout(l).At(field) &^ narrowField }

// narrowField says of an offset that the field has a reference of 4 bytes.
const narrowField = 1 << 61

// narrow reports whether a field has a reference of 4 bytes.
func (l layout) narrow(field string) bool { return l[field]&narrowField != 0 }

// flag returns a bit; 0 if the version does not have it.
func (l layout) flag(name string) uint64 { return l[name] }

// A version is that of Lua.
type version struct{ minor, release int } // 4, 6 for 5.4.6

// The first releases whose layouts the table has, and the last that were compared with it.
var known = [...]struct{ minor, from, to int }{{1, 0, 5}, {2, 1, 4}, {3, 3, 6}, {4, 0, 9}}

// parseVersion finds the version in the text that Lua has of itself, "$LuaVersion: Lua 5.4.4  Copyright ...".
func parseVersion(ident string) (v version, ok bool) {
	_, rest, ok := strings.Cut(ident, "Lua 5.")
	if !ok {
		return version{}, false
	}
	number, _, _ := strings.Cut(rest, " ")
	minor, release, more := strings.Cut(number, ".")
	v.minor, _ = strconv.Atoi(minor)
	if more {
		v.release, _ = strconv.Atoi(release)
	}
	return v, minor != ""
}

func (v version) String() string {
	return "5." + strconv.Itoa(v.minor) + "." + strconv.Itoa(v.release)
}

// supported reports whether the table has the layout of a version.
func (v version) supported() bool {
	for _, k := range known {
		if k.minor == v.minor {
			return v.release >= k.from && v.release <= k.to
		}
	}
	return false
}

// tableLayout reads the column of a version: the last one that is not of a later release.
func tableLayout(text string, of version) layout {
	l, _ := layouts.Read(text, func(column string) bool {
		v, ok := parseVersion("Lua " + column + " ")
		return ok && v.minor == of.minor && v.release <= of.release
	})
	return layout(l)
}

// An opcode is an instruction's name, and whether it sets the register A.
type opcode struct {
	name string
	sets bool
	// Of LuaJIT: it sets the register A and those behind it; the metamethod that it may call, without underscores.
	from  bool
	calls string
}

// opcodesOf are the instructions of a version, by number.
func opcodesOf(text string, of version) []opcode {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "5."+strconv.Itoa(of.minor) {
			continue
		}
		var list []opcode
		for _, name := range f[1:] {
			plain, sets := strings.CutSuffix(name, "*")
			list = append(list, opcode{name: plain, sets: sets})
		}
		return list
	}
	return nil
}
