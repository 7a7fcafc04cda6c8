package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is what the steppers must know of an architecture on Linux. Each
// architecture's is in a file of its own.
type machine struct {
	arch *arch.Arch

	restorers  []restorer
	sigContext []savedReg // relative to SP in the restorer
	// sigKept are the registers that a signal leaves as they are.
	sigKept []arch.Reg

	// threadExits is code right after a call by which a thread's first function
	// ends the thread.
	threadExits []codePattern
	// threadBirths is code that begins with the system call that makes a thread,
	// birthPC bytes before the pc of a thread just made, whose birthResult is 0.
	threadBirths []codePattern
	birthPC      uint64
	birthResult  arch.Reg
	// entryCode and loaderCode bound the code at the entry point of a program and
	// of a dynamic linker, in bytes.
	entryCode, loaderCode uint64
	// contextEnd is where the C library's makecontext has contexts return to.
	contextEnd codePattern
	// goExit is the code of Go's runtime.goexit, to which goroutines return: to
	// its second byte, as if the first had been a call.
	goExit codePattern
}

// machineOf returns a's description; nil when the steppers do not know a.
func machineOf(a *arch.Arch) *machine {
	if a == arch.AMD64 {
		return &amd64
	}
	return nil
}

// mustKnow is machineOf for constructors.
func mustKnow(a *arch.Arch) (*machine, error) {
	if m := machineOf(a); m != nil {
		return m, nil
	}
	name := "no architecture"
	if a != nil {
		name = a.Name
	}
	return nil, fmt.Errorf("steppers for %s: %w", name, unwind.ErrUnsupported)
}

// A restorer is the code that a signal handler returns to.
type restorer struct {
	code codePattern
	// stops are the instructions in it, in bytes from its start, at which a
	// thread can be found with SP still at the signal frame.
	stops []uint64
}

// A savedReg is a register that the kernel saved: size bytes at byte off of the
// word at SP+addr.
type savedReg struct {
	reg       arch.Reg
	addr      uint64
	off, size uint8
}

// extract cuts the register out of the word at its addr; little-endian machines
// only have such registers.
func (s *savedReg) extract(word uint64) uint64 {
	word >>= 8 * s.off
	if s.size < 8 {
		word &= 1<<(8*s.size) - 1
	}
	return word
}
