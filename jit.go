package corewalk

import (
	"github.com/corewalk/corewalk/internal/files/libraries"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// mayBeJIT reports whether code that the process compiled itself may be at addr: it
// is executable memory that no file is mapped to.
func (t *Target) mayBeJIT(addr unwind.Address) bool {
	_, ok := t.jitMapping(addr)
	return ok
}

func (t *Target) jitMapping(addr unwind.Address) (libstate.Mapping, bool) {
	m, ok := t.subject.MappingAt(addr)
	return m, ok && m.Perm&libstate.Exec != 0 && m.Path == ""
}

// jitLibraries finds the code that the process's JIT compilers have registered with
// GDB's interface. Any library may have a list of its own.
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

// warnLate adds to r what was found wrong while it was made.
func (t *Target) warnLate(r *report.Report) {
	t.lateMu.Lock()
	defer t.lateMu.Unlock()
	r.Warnings = append(r.Warnings, t.lateWarnings...)
}
