package analysis

import (
	"fmt"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// endDetail says in words why a walk stopped at its last frame.
func (in *Engine) endDetail(s *unwind.Stack) string {
	if s.Err == nil {
		return ""
	}
	if s.End != unwind.EndNoStepper || len(s.Frames) == 0 {
		return s.Err.Error()
	}
	f := s.Frames[len(s.Frames)-1]
	what := "return address"
	if f.IsTopFrame() || f.NonCall() {
		what = "program counter"
	}
	where := ""
	if l := f.RALocation(); l.Kind == unwind.LocAddress {
		where = fmt.Sprintf(" at %#x", l.Addr)
	}
	if why := in.notCode(f.RA()); why != "" {
		return fmt.Sprintf("%s %#x%s %s", what, f.RA(), where, why)
	}
	if _, err := in.Proc.ReadWord(f.SP()); err != nil {
		return fmt.Sprintf("cannot read the stack of the frame at %#x: %v", f.RA(), err)
	}
	return fmt.Sprintf("no stepper found the caller of %#x", f.RA())
}

// notCode says why there can be no code at pc; "" if there may be.
func (in *Engine) notCode(pc unwind.Address) string {
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if _, ok := libs.LibraryAt(pc); ok {
			return ""
		}
	}
	switch m, ok := in.Proc.MappingAt(pc); {
	case !ok:
		return "is not mapped"
	case m.Perm&libstate.Exec == 0:
		return "is in memory that is not executable"
	}
	return "is in no module"
}
