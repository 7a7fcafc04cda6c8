package python

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/runtimes/layouts"
)

//go:embed layouts.txt
var layoutsText string

// A layout has the offsets of fields, "record.field", of one version.
type layout struct {
	minor   int  // of Python 3.minor
	free    bool // it is a free-threaded build
	short   bool // an unsigned long has 4 bytes
	offsets layouts.Layout
	source  string // where they come from, in words for reports
}

// tableOf and a version are the source of a column of layouts.txt.
const tableOf = "the table of "

func (l *layout) at(field string) uint64 { return l.offsets.At(field) }
func (l *layout) has(field string) bool  { return l.offsets.Has(field) }

// tableLayout reads one column of layouts.txt: of a version, and of a kind of build: "", "d" or "t"; nil if there is none.
func tableLayout(text string, minor int, kind string) *layout {
	want := "3." + strconv.Itoa(minor) + "."
	offsets, column := layouts.Read(text, func(column string) bool {
		micro, ok := strings.CutPrefix(column, want)
		return ok && strings.TrimLeft(micro, "0123456789") == kind
	})
	if offsets == nil {
		return nil
	}
	return &layout{minor: minor, offsets: offsets, source: tableOf + column}
}

// debugOffsetsOrder has the fields of _Py_DebugOffsets in their order. Those of 3.14 and later are written with @14.
const debugOffsetsOrder = `runtime.size runtime.finalizing runtime.interpreters_head
interp.size interp.id interp.next interp.threads_head interp.threads_main@14 interp.gc interp.modules interp.sysdict interp.builtins interp.ceval_gil interp.gil interp.gil_enabled interp.gil_locked interp.gil_holder interp.code_generation@14 interp.tlbc_generation@14
thread.size thread.prev thread.next thread.interp thread.current_frame thread.base_frame@15 thread.profiled@15 thread.profiled_seq@15 thread.thread_id thread.native_thread_id thread.datastack thread.status thread.holds_gil@15 thread.gil_requested@15 thread.raised@15 thread.exc_state@15
exc.value@15
frame.size frame.previous frame.code frame.instr frame.localsplus frame.owner frame.stackpointer@14 frame.tlbc@14
code.size code.filename code.name code.qualname code.linetable code.firstlineno code.argcount code.localsplusnames code.localspluskinds code.adaptive code.tlbc@14
object.size object.type
type.size type.name type.repr type.flags type.basicsize@15 type.dictoffset@15
heaptype.size@15 heaptype.cached_keys@15
tuple.size tuple.items tuple.length
list.size list.items list.length
set.size@14 set.used@14 set.table@14 set.mask@14
dict.size dict.keys dict.values
float.size float.value
long.size long.tag long.digit
bytes.size bytes.length bytes.data
str.size str.state str.length str.ascii str.compact@15`

// published reads the offsets that _PyRuntime begins with: words of 8 bytes, in the order of the version. The table's
// offsets stay for what they do not have. It reports whether they make sense.
func (l *layout) published(words []uint64) bool {
	i := 0
	got := map[string]uint64{}
	for _, name := range strings.Fields(debugOffsetsOrder) {
		name, since, _ := strings.Cut(name, "@")
		if n, _ := strconv.Atoi(since); l.minor < n {
			continue
		}
		if i >= len(words) || words[i] > 1<<20 {
			return false
		}
		got[name] = words[i]
		i++
	}
	if l.has("interp.generations") {
		l.offsets["interp.generations"] += got["interp.gc"] - l.offsets["interp.gc"]
	}
	for name, v := range got {
		l.offsets[name] = v
	}
	if gil := l.offsets["interp.gil"]; gil < l.offsets["interp.gil_locked"] && gil < l.offsets["interp.gil_holder"] {
		l.offsets["gil.locked"], l.offsets["gil.holder"] = l.offsets["interp.gil_locked"]-gil, l.offsets["interp.gil_holder"]-gil
	}
	return true
}

// windows changes the table of a version before 3.13 to what it is on Windows, where an unsigned long has 4 bytes: the ids in
// thread states are beside each other, and what follows them is 8 bytes before. Where locks and the modules of an interpreter
// are is not known.
func (l *layout) windows() {
	for name := range l.offsets {
		record, _, _ := strings.Cut(name, ".")
		if record == "gil" || record == "task" || name == "interp.modules" || name == "interp.ceval_gil" || strings.HasPrefix(name, "runtime.gil") ||
			strings.HasSuffix(name, ".generations") {
			delete(l.offsets, name)
		}
	}
	l.offsets["thread.native_thread_id"] = l.offsets["thread.thread_id"] // the thread's own id is Windows'
	if at, ok := l.offsets["thread.root_cframe"]; ok {
		l.offsets["thread.root_cframe"] = at - 8
	}
	l.short = true
}
