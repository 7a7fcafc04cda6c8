package python

import (
	_ "embed"
	"maps"
	"strconv"
	"strings"
)

//go:embed layouts.txt
var layoutsText string

// A layout has the offsets of fields, "record.field", of one version.
type layout struct {
	minor   int // of Python 3.minor
	offsets map[string]uint64
	source  string // where they come from, in words for reports
}

// at returns an offset; a field that the version does not have is at no address that can be read.
func (l *layout) at(field string) uint64 {
	if v, ok := l.offsets[field]; ok {
		return v
	}
	return 1 << 62
}

func (l *layout) has(field string) bool { _, ok := l.offsets[field]; return ok }

// forget removes what moves from version to version, so that the table of an older version says nothing of it.
func (l *layout) forget() {
	maps.DeleteFunc(l.offsets, func(name string, _ uint64) bool {
		record, _, _ := strings.Cut(name, ".")
		switch record {
		case "runtime", "interp", "thread", "gil", "task", "generator", "exc":
			return true
		}
		return name == "frame.stacktop"
	})
}

// tableLayout reads one version's column of layouts.txt; nil if there is none.
func tableLayout(text string, minor int) *layout {
	want := "3." + strconv.Itoa(minor) + "."
	column := -1
	l := &layout{minor: minor, offsets: map[string]uint64{}}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "field":
			for i, v := range f {
				if strings.HasPrefix(v, want) {
					column, l.source = i, "the table of "+v
				}
			}
			if column < 0 {
				return nil
			}
		case column > 0 && column < len(f) && f[column] != "-":
			l.offsets[f[0]], _ = strconv.ParseUint(f[column], 10, 64)
		}
	}
	return l
}

// debugOffsets are the fields of _Py_DebugOffsets in their order, by version. A field named "-" is not needed.
// 3.14 inserts some, which are written with +.
const debugOffsetsOrder = `runtime.size runtime.finalizing runtime.interpreters_head
interp.size interp.id interp.next interp.threads_head +interp.threads_main interp.gc interp.modules interp.sysdict interp.builtins interp.ceval_gil interp.gil interp.gil_enabled interp.gil_locked interp.gil_holder
thread.size thread.prev thread.next thread.interp thread.current_frame thread.thread_id thread.native_thread_id thread.datastack thread.status
frame.size frame.previous frame.code frame.instr frame.localsplus frame.owner +frame.stackpointer
code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount code.localsplusnames code.localspluskinds code.adaptive
object.size object.type
type.size type.name type.repr type.flags
tuple.size tuple.items tuple.length
list.size list.items list.length
+set.size +set.used +set.table +set.mask
dict.size dict.keys dict.values
float.size float.value
long.size long.tag long.digit
bytes.size bytes.length bytes.data
str.size str.state str.length str.ascii_size`

// published reads the offsets that _PyRuntime begins with: words of 8 bytes, in the order of the version. The table's
// offsets stay for what they do not have. It reports whether they make sense.
func (l *layout) published(words []uint64) bool {
	i := 0
	got := map[string]uint64{}
	for _, name := range strings.Fields(debugOffsetsOrder) {
		if added := name[0] == '+'; added {
			if l.minor < 14 {
				continue
			}
			name = name[1:]
		}
		if i >= len(words) || words[i] > 1<<20 {
			return false
		}
		got[name] = words[i]
		i++
	}
	for name, v := range got {
		l.offsets[name] = v
	}
	return true
}
