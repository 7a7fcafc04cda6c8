package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is what the steppers must know of an architecture on Linux. Each
// architecture's is in a file of its own, and is made when it is first asked for:
// a dump needs one of them.
type machine struct {
	arch *arch.Arch

	// chain is nil where the ABI has no convention for frame pointers.
	chain *frameChain
	// windows: functions have register windows (SPARC).
	windows bool

	restorers []restorer
	sigFrame  *sigFrame // of the restorers that name no other
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
	// its second instruction, as if the first had been a call, which is at goExitPC
	// (0 for 1).
	goExit   codePattern
	goExitPC uint64
	// goPanic is by how many bytes Go's signal handler lowers SP, to save the link
	// register, where it injects a call of sigpanic.
	goPanic uint64
	// descriptors: function pointers may point at descriptors of functions.
	descriptors bool
	// inst is nil where the instrumentation that Dyninst inserts is not known.
	inst *instFrame
}

// machineOf returns a's description; nil when the steppers do not know a.
func machineOf(a *arch.Arch) *machine {
	switch a {
	case arch.AMD64:
		return &amd64
	case arch.X32:
		return x32()
	case arch.X86:
		return x86()
	case arch.ARM64:
		return arm64()
	case arch.ARM:
		return arm()
	case arch.PPC64LE:
		return ppc64le()
	case arch.PPC64:
		return ppc64()
	case arch.PPC:
		return ppc()
	case arch.RISCV64:
		return riscv64()
	case arch.S390X:
		return s390x()
	case arch.S390:
		return s390()
	case arch.MIPS:
		return mips()
	case arch.MIPSEL:
		return mipsel()
	case arch.MIPSN32:
		return mipsn32()
	case arch.MIPSN32EL:
		return mipsn32el()
	case arch.MIPS64:
		return mips64()
	case arch.MIPS64EL:
		return mips64el()
	case arch.Loong64:
		return loong64()
	case arch.SPARC64:
		return sparc64()
	case arch.M68K:
		return m68k()
	case arch.Alpha:
		return alpha()
	case arch.HPPA:
		return hppa()
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
	// stops are the instructions in it at which a thread can be found with the
	// signal frame still on the stack, the first one first.
	stops []stop
	frame *sigFrame // nil for the machine's
}

// A stop is an instruction at bytes from a restorer's start, before which the
// restorer took popped bytes off the stack.
type stop struct{ at, popped uint64 }

// A sigFrame is what the kernel leaves on the stack for a restorer. Offsets are
// from SP at the restorer's start, in bytes.
type sigFrame struct {
	saved []savedReg
	// via is where the address is that the offsets of saved count from; 0 where
	// they count from SP.
	via uint64
	// kept are registers that the kernel did not save, because the code that
	// returns from handlers runs with what was interrupted's.
	kept []arch.Reg
	// signo is where the signal's number is, four bytes of it: in the siginfo or
	// among the handler's arguments. noSigno for nowhere.
	signo uint64
	// more restores what lies at no fixed offset; nil for nothing. base is SP at
	// the restorer's start.
	more func(in, out *unwind.Frame, base arch.Address)
}

const noSigno = ^uint64(0)

// A savedReg is a register that the kernel saved: size bytes at SP+addr.
type savedReg struct {
	reg  arch.Reg
	addr uint64
	size uint8
}

// savedWords lists the registers from first to last, saved in words of size bytes
// from at on.
func savedWords(at uint64, size uint8, first, last arch.Reg) []savedReg {
	var list []savedReg
	for r := first; r <= last; r++ {
		list = append(list, savedReg{r, at + uint64(r-first)*uint64(size), size})
	}
	return list
}

// A frameChain says where a frame pointer leads, in bytes from what it points at.
type frameChain struct {
	ra, fp int64 // where the return address and the caller's frame pointer are saved
	cfa    int64
	// ends: a frame pointer of zero is the ABI's end of the chain.
	ends bool
	// low: the frame may end above cfa; how far depends on the function.
	low bool
	// back: the chain is of stack pointers (the back chain). The word at SP is the
	// caller's SP, and what ra counts from; nothing tells of the frame pointer.
	back bool
	// save: there is no chain, but a function that calls others saves SP with its
	// return address, at save from the caller's SP, which ra counts from too.
	save int64
}
