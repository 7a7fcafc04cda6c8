package reason

import (
	"fmt"

	"github.com/corewalk/corewalk/libstate"
)

// stackReach, in bytes, is how far from the stack pointer a function may access its frame (a large local array,
// a stack probe), and how large a guard area may be. The kernel keeps that much free below a growing stack.
const stackReach = 1 << 20

// stackMargin, in bytes, is how much of a stack may be left when an instruction exhausts it: one that stores
// many registers, or stores below the stack pointer.
const stackMargin = pageSize

// belowStack reports whether addr is where a stack overflow would fault: near the stack pointer, not in
// writable memory, and with the almost full stack directly above it.
func (in *Input) belowStack(addr uint64, m libstate.Mapping) bool {
	if in.Arch == nil || in.Mapping == nil || in.Arch.StackGrowsUp || m.Perm&libstate.Write != 0 {
		return false
	}
	sp, ok := in.Regs.Get(in.Arch.SP)
	if !ok || addr > sp+stackReach || addr+stackReach < sp {
		return false
	}
	bottom, ok := in.firstAbove(addr)
	return ok && sp < bottom+stackMargin || in.outgrew(sp)
}

// outgrew reports whether the stack pointer has left the stack that the frame pointer is still in: a large
// array or alloca took more space than the stack had.
func (in *Input) outgrew(sp uint64) bool {
	fp, ok := in.Regs.Get(in.Arch.FP)
	if !ok || fp-sp > largestFrame { // unsigned: a frame pointer below the stack pointer is far away too
		return false
	}
	if _, mapped := in.Mapping(sp); mapped {
		return false
	}
	m, _ := in.mapping(fp)
	return m.Perm&libstate.Write != 0 && m.Perm&libstate.Exec == 0
}

// largestFrame is the largest plausible size of a frame, in bytes.
const largestFrame = 1 << 30

// firstAbove returns the start of the first accessible mapping at or above addr, if it is writable.
func (in *Input) firstAbove(addr uint64) (uint64, bool) {
	for at := addr &^ (pageSize - 1); at < addr+stackReach; at += pageSize {
		if m, ok := in.Mapping(at); ok && m.Perm != 0 {
			return m.Start, m.Perm&libstate.Write != 0
		}
	}
	return 0, false
}

// crowded says why a stack did not grow to addr: other memory is too near. The kernel keeps 256 pages free
// between a stack and other memory.
func (in *Input) crowded(addr uint64) string {
	for at := addr &^ (pageSize - 1); at > pageSize && at+stackReach > addr; at -= pageSize {
		m, ok := in.Mapping(at)
		switch {
		case !ok:
			continue
		case m.Perm == 0 && m.End > addr:
			return "" // the stack's own guard
		}
		return fmt.Sprintf(", which cannot grow: other memory ends at %#x", m.End)
	}
	return ""
}
