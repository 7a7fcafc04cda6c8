package corewalk

import (
	"cmp"
	"fmt"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/jitmaps"
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// mayBeJIT reports whether addr may be code that the process compiled itself: executable
// memory to which no file is mapped, but for such as only exists in memory.
func (t *Target) mayBeJIT(addr unwind.Address) bool {
	_, ok := t.jitMapping(addr)
	return ok
}

func (t *Target) jitMapping(addr unwind.Address) (libstate.Mapping, bool) {
	m, ok := t.subject.MappingAt(addr)
	return m, ok && m.Perm&libstate.Exec != 0 && (m.Path == "" || find.IsMemory(m.Path))
}

// madeCode names the code that compilers made in the process by what they recorded of it for profilers. record says that a slim core may be written.
func (t *Target) madeCode(record bool) *jitmaps.Maps {
	by := t.subject.Recorder()
	var kept []slimnote.Made
	if note := t.subject.Said(slimnote.TypeMade); note != nil {
		a := t.subject.Arch()
		kept, _ = slimnote.ParseMade(note, a != nil && a.Big()) // a note that cannot be read is not used
	}
	return jitmaps.New(jitmaps.Process{Own: t.ownCode(), Kept: kept, Record: record, PID: cmp.Or(by.PID, t.subject.ProcessID()), Owner: by.Owner, Files: t.images, Memory: t.subject.DumpMemory(), Mappings: t.subject.Mappings,
		Code: func(addr unwind.Address) (code, library bool) {
			m, ok := t.subject.MappingAt(addr)
			_, library = t.subject.LibraryTracker().LibraryAt(addr)
			return ok && m.Perm&libstate.Exec != 0, library
		},
		Warn: func(path string, err error) {
			t.lateMu.Lock()
			defer t.lateMu.Unlock()
			t.lateWarnings = append(t.lateWarnings, report.Warning{Code: "jit", Message: fmt.Sprintf("records of generated code in %s: %v", path, err)})
		}})
}

// jitLibraries finds the code that JIT compilers have registered through GDB's interface.
// Any library may have its own list.
func (t *Target) jitLibraries() []*libstate.Library {
	mem, a := t.subject.DumpMemory(), t.subject.Arch()
	libs, err := t.subject.LibraryTracker().Libraries(false)
	if err != nil || a == nil {
		return nil
	}
	found, damaged := libraries.FindJIT(mem, a, libs, t.images, t.jitMapping)
	t.lateMu.Lock()
	defer t.lateMu.Unlock()
	for _, lib := range libs {
		if err := damaged[lib]; err != nil {
			t.lateWarnings = append(t.lateWarnings, report.Warning{Code: "jit", Message: err.Error(), Module: lib.Path})
		}
	}
	return found
}

// warnLate adds to r the warnings that came up while r was made.
func (t *Target) warnLate(r *report.Report) {
	t.lateMu.Lock()
	defer t.lateMu.Unlock()
	r.Warnings = append(r.Warnings, t.lateWarnings...)
}
