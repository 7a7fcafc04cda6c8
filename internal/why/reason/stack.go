package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/libstate"
)

// stackReach is how far from the stack pointer, in bytes, an access of a
// function's frame may lie (a large local array, a probe of the stack), and how
// large a guard area may be. The kernel keeps that much free below a stack that grows.
const stackReach = 1 << 20

// stackMargin is how much of a stack may be left, in bytes, when an instruction finds
// it used up: it stores many registers, or below the stack pointer.
const stackMargin = pageSize

// belowStack reports whether addr is where a stack that ran out would fault: near
// the stack pointer, in no writable memory, with the stack right above it, of which
// next to nothing is left.
func (in *Input) belowStack(addr uint64, mapped bool, m libstate.Mapping) bool {
	if in.Arch == nil || in.Mapping == nil || in.Arch.StackGrowsUp || mapped && m.Perm&libstate.Write != 0 {
		return false
	}
	sp, ok := in.Regs.Get(in.Arch.SP)
	if !ok || addr > sp+stackReach || addr+stackReach < sp {
		return false
	}
	bottom, ok := in.firstAbove(addr)
	return ok && sp < bottom+stackMargin || in.outgrew(sp)
}

// outgrew reports whether the stack pointer has left the stack that the frame pointer is
// still in: for a large array, or by alloca, more was asked for than there was.
func (in *Input) outgrew(sp uint64) bool {
	fp, ok := in.Regs.Get(in.Arch.FP)
	if !ok || fp <= sp || fp-sp > largestFrame {
		return false
	}
	if _, mapped := in.Mapping(sp); mapped {
		return false
	}
	m, ok := in.Mapping(fp)
	return ok && m.Perm&libstate.Write != 0 && m.Perm&libstate.Exec == 0 && sp < m.Start
}

// largestFrame is up to what size, in bytes, a frame is believed.
const largestFrame = 1 << 30

// firstAbove finds where writable memory begins above addr, when it is the first that
// may be accessed at all.
func (in *Input) firstAbove(addr uint64) (uint64, bool) {
	for at := addr &^ (pageSize - 1); at < addr+stackReach; at += pageSize {
		if m, ok := in.Mapping(at); ok && m.Perm != 0 {
			return m.Start, m.Perm&libstate.Write != 0
		}
	}
	return 0, false
}

// crowded says why a stack did not grow to addr, when other memory is too near: the
// kernel lets none grow to within 256 pages of it.
func (in *Input) crowded(addr uint64) string {
	for at := addr &^ (pageSize - 1); at > pageSize && at+stackReach > addr; at -= pageSize {
		m, ok := in.Mapping(at)
		switch {
		case !ok:
			continue
		case m.Perm == 0 && m.End > addr:
			return "" // its own guard
		}
		return fmt.Sprintf(", which other memory, up to %#x, keeps from growing", m.End)
	}
	return ""
}
