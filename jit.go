package corewalk

import (
	"github.com/corewalk/corewalk/internal/files/image"
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
	var entries []libstate.JITEntry
	for _, lib := range libs {
		s, ok := (*image.Image)(t.images.LocalImage(lib)).OwnSymbol(libstate.JITDescriptor)
		if !ok {
			continue
		}
		list, err := libstate.ReadJIT(mem, a, s.Value+lib.LoadBias)
		if err != nil {
			t.lateMu.Lock()
			t.lateWarnings = append(t.lateWarnings, report.Warning{Code: "jit", Message: err.Error(), Module: lib.Path})
			t.lateMu.Unlock()
		}
		entries = append(entries, list...)
	}
	return libstate.JITLibraries(mem, a, entries, t.jitMapping)
}

// warnLate adds to r what was found wrong while it was made.
func (t *Target) warnLate(r *report.Report) {
	t.lateMu.Lock()
	defer t.lateMu.Unlock()
	r.Warnings = append(r.Warnings, t.lateWarnings...)
}
