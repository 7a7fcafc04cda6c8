package steppers

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A machine is what the steppers must know about an architecture on Linux. Each is in a
// file of its own and is made when it is first asked for, because a dump needs only
// one.
type machine struct {
	arch *arch.Arch

	// chain is nil where the ABI has no convention for frame pointers.
	chain *frameChain
	// windows: functions have register windows (SPARC).
	windows bool

	restorers []restorer
	sigFrame  *sigFrame // for restorers that have none of their own
	// sigKept are the registers that a signal does not change.
	sigKept []arch.Reg

	// threadExits is the code right after a call with which a thread's first function
	// ends the thread.
	threadExits []codePattern
	// threadBirths is code that begins with the system call that creates a thread. The
	// pc of a new thread is birthPC bytes after its start, and birthResult is 0.
	threadBirths []codePattern
	birthPC      uint64
	birthResult  arch.Reg
	// entryCode and loaderCode limit the code at the entry point of a program and of a
	// dynamic linker, in bytes.
	entryCode, loaderCode uint64
	// contextEnd is the code to which contexts of the C library's makecontext return.
	contextEnd codePattern
	// fiberEnds are the code to which Boost.Context's functions return, and before it the code that jumps to them:
	// fiberBack bytes. If fiberCall is not 0, the call that ends the process returns so many bytes behind that place.
	fiberEnds            []codePattern
	fiberBack, fiberCall arch.Address
	// goExit is the code of Go's runtime.goexit. Goroutines return to its second
	// instruction, at goExitPC (0 means 1), as if the first had been a call.
	goExit   codePattern
	goExitPC uint64
	// goPanic is by how much Go's signal handler lowers SP, in bytes, to save the link
	// register where it injects a call of sigpanic.
	goPanic uint64
	// descriptors: function pointers may point at descriptors of functions.
	descriptors bool
	// inst is nil if the layout of Dyninst's instrumentation is not known.
	inst *instFrame
}

// machineOf returns the description of a; nil if the steppers do not support a.
func machineOf(a *arch.Arch) *machine {
	switch a {
	case arch.AMD64:
		return amd64.Get()
	case arch.X32:
		return x32.Get()
	case arch.X86:
		return x86.Get()
	case arch.ARM64:
		return arm64.Get()
	case arch.ARM:
		return arm.Get()
	case arch.PPC64LE:
		return ppc64le.Get()
	case arch.PPC64:
		return ppc64.Get()
	case arch.PPC:
		return ppc.Get()
	case arch.RISCV64:
		return riscv64.Get()
	case arch.S390X:
		return s390x.Get()
	case arch.S390:
		return s390.Get()
	case arch.MIPS:
		return mips.Get()
	case arch.MIPSEL:
		return mipsel.Get()
	case arch.MIPSN32:
		return mipsn32.Get()
	case arch.MIPSN32EL:
		return mipsn32el.Get()
	case arch.MIPS64:
		return mips64.Get()
	case arch.MIPS64EL:
		return mips64el.Get()
	case arch.Loong64:
		return loong64.Get()
	case arch.SPARC64:
		return sparc64.Get()
	case arch.M68K:
		return m68k.Get()
	case arch.Alpha:
		return alpha.Get()
	case arch.HPPA:
		return hppa.Get()
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
	// stops are the instructions in it where a thread can be found with the signal
	// frame still on the stack; the first instruction comes first.
	stops []stop
	frame *sigFrame // nil for the machine's
}

// A stop is an instruction, in bytes from a restorer's start. The restorer has removed
// popped bytes from the stack before it.
type stop struct{ at, popped uint64 }

// A sigFrame is what the kernel leaves on the stack for a restorer. Offsets are in
// bytes from SP at the restorer's start.
type sigFrame struct {
	saved []savedReg
	// via is where the base address for the offsets in saved is stored; 0 if the base
	// is SP.
	via uint64
	// kept are registers that the kernel does not save, because the code that returns
	// from handlers runs with the values of the interrupted code.
	kept []arch.Reg
	// signo is where the four-byte signal number is: in the siginfo or among the
	// handler's arguments. noSigno if nowhere.
	signo uint64
	// asked: the kernel writes it only for handlers with SA_SIGINFO, as all of the siginfo.
	asked bool
	// info is where the siginfo is, with hasInfo.
	info    uint64
	hasInfo bool
	// blocked is where the set of signals is that were blocked before; 0 for nowhere.
	blocked uint64
	// trap reads the processor's exception at base, SP at the restorer's start; nil if the
	// frame has none.
	trap func(mem arch.Memory, base arch.Address) Trap
	// more restores the registers that have no fixed offset; may be nil. base is SP at
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

// savedWords lists the registers from first to last, saved in consecutive words of size
// bytes that begin at at.
func savedWords(at uint64, size uint8, first, last arch.Reg) []savedReg {
	var list []savedReg
	for r := first; r <= last; r++ {
		list = append(list, savedReg{r, at + uint64(r-first)*uint64(size), size})
	}
	return list
}

// savedInOrder lists registers that are saved in consecutive fields of size bytes, which
// begin at at.
func savedInOrder(at uint64, size uint8, regs ...arch.Reg) []savedReg {
	var list []savedReg
	for i, r := range regs {
		list = append(list, savedReg{r, at + uint64(i)*uint64(size), size})
	}
	return list
}

// A frameChain says where a frame pointer leads, in bytes from the address in it.
type frameChain struct {
	ra, fp int64 // where the return address and the caller's frame pointer are saved
	cfa    int64
	// ends: a frame pointer of zero ends the chain, by the ABI.
	ends bool
	// low: the frame may end above cfa; by how much depends on the function.
	low bool
	// back: the chain is one of stack pointers (the back chain). The word at SP is the
	// caller's SP, and ra counts from that. Nothing says what the frame pointer was.
	back bool
	// save: there is no chain, but a function that calls others saves SP, with its
	// return address, at offset save from the caller's SP. ra counts from there too.
	save int64
}
