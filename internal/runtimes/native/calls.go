package native

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A blocking is a system call, other than futex, in which threads wait.
type blocking struct {
	name    string
	numbers [4]uint16 // on x86-64, i386, arm64 and RISC-V, and arm; 0 for none
	kind    tasks.WaitKind
	arg     argument
}

// zeroth stands for the number 0 in the table.
const zeroth = 0xffff

// An argument says what the first argument of a call is.
type argument uint8

const (
	noArgument    argument = iota
	descriptorArg          // a file descriptor
	pollArg                // an array of struct pollfd
	epollArg               // a descriptor, and a time limit in milliseconds
	processArg             // a process id, or -1 for any child
	fileLockArg            // a descriptor; fcntl has an operation too
	fcntlArg
)

// The numbers are those of the kernel's tables (arch/x86/entry/syscalls, include/uapi/asm-generic/unistd.h); read
// and the like of arm64, which has them all, are generic.
var blockings = []blocking{
	{"read", [4]uint16{zeroth, 3, 63, 3}, tasks.WaitIO, descriptorArg},
	{"write", [4]uint16{1, 4, 64, 4}, tasks.WaitIO, descriptorArg},
	{"readv", [4]uint16{19, 145, 65, 145}, tasks.WaitIO, descriptorArg},
	{"writev", [4]uint16{20, 146, 66, 146}, tasks.WaitIO, descriptorArg},
	{"poll", [4]uint16{7, 168, 0, 168}, tasks.WaitIO, pollArg},
	{"ppoll", [4]uint16{271, 309, 73, 336}, tasks.WaitIO, pollArg},
	{"ppoll", [4]uint16{0, 414, 0, 414}, tasks.WaitIO, pollArg},
	{"select", [4]uint16{23, 142, 0, 142}, tasks.WaitIO, noArgument},
	{"pselect6", [4]uint16{270, 308, 72, 335}, tasks.WaitIO, noArgument},
	{"pselect6", [4]uint16{0, 413, 0, 413}, tasks.WaitIO, noArgument},
	{"epoll_wait", [4]uint16{232, 256, 0, 252}, tasks.WaitIO, epollArg},
	{"epoll_pwait", [4]uint16{281, 319, 22, 346}, tasks.WaitIO, epollArg},
	{"epoll_pwait2", [4]uint16{441, 441, 441, 441}, tasks.WaitIO, descriptorArg},
	{"accept", [4]uint16{43, 0, 202, 285}, tasks.WaitIO, descriptorArg},
	{"accept4", [4]uint16{288, 364, 242, 366}, tasks.WaitIO, descriptorArg},
	{"connect", [4]uint16{42, 362, 203, 283}, tasks.WaitIO, descriptorArg},
	{"recvfrom", [4]uint16{45, 371, 207, 292}, tasks.WaitIO, descriptorArg},
	{"recvmsg", [4]uint16{47, 372, 212, 297}, tasks.WaitIO, descriptorArg},
	{"sendto", [4]uint16{44, 369, 206, 290}, tasks.WaitIO, descriptorArg},
	{"sendmsg", [4]uint16{46, 370, 211, 296}, tasks.WaitIO, descriptorArg},
	{"nanosleep", [4]uint16{35, 162, 101, 162}, tasks.WaitTimer, noArgument},
	{"clock_nanosleep", [4]uint16{230, 267, 115, 265}, tasks.WaitTimer, noArgument},
	{"clock_nanosleep", [4]uint16{0, 407, 0, 407}, tasks.WaitTimer, noArgument},
	{"pause", [4]uint16{34, 29, 0, 29}, tasks.WaitSignal, noArgument},
	{"rt_sigsuspend", [4]uint16{130, 179, 133, 179}, tasks.WaitSignal, noArgument},
	{"rt_sigtimedwait", [4]uint16{128, 177, 137, 177}, tasks.WaitSignal, noArgument},
	{"wait4", [4]uint16{61, 114, 260, 114}, tasks.WaitProcess, processArg},
	{"waitid", [4]uint16{247, 284, 95, 280}, tasks.WaitProcess, noArgument},
	{"flock", [4]uint16{73, 143, 32, 143}, tasks.WaitLock, fileLockArg},
	{"fcntl", [4]uint16{72, 221, 25, 221}, tasks.WaitLock, fcntlArg},
}

// column is the index of an architecture in the numbers of calls.
func column(a *arch.Arch) int {
	switch a {
	case arch.X86:
		return 1
	case arch.ARM64, arch.RISCV64:
		return 2
	case arch.ARM:
		return 3
	}
	return 0
}

// blockedIn finds the system call in which registers are, other than futex; nil if they are in none, or it has come back.
func blockedIn(a *arch.Arch, regs *arch.RegSet, in calling) *blocking {
	number := in.number
	if in.position == outside || number > 0x7fff {
		return nil
	}
	column := column(a)
	for i := range blockings {
		b := &blockings[i]
		if n := b.numbers[column]; n == 0 || uint64(n)%zeroth != number {
			continue
		}
		c, _ := conventionOf(a)
		if first, _ := regs.Get(c.addr); in.position == behind && (b.arg != pollArg || first < 1<<16) {
			return nil // that may be its result
		}
		return b
	}
	return nil
}

// A describer says what descriptors of a running process refer to.
type describer interface {
	Descriptor(fd int) string
	LockHolder(fd int) int
}

// waitInCall describes what a thread waits for in a system call; nil if that call does not wait.
func (r *runtime) waitInCall(b *blocking, frames []*unwind.Frame) *tasks.Wait {
	regs := frames[0].Registers()
	c, _ := conventionOf(r.Arch)
	in := callingOf(r.Arch, r.p.State, &regs)
	arg := func(reg arch.Reg) (uint64, bool) {
		v, ok := regs.Get(reg)
		return r.Arch.Truncate(v), ok && (!c.sameRegister || reg != c.addr || in.position == again || in.position == behind)
	}
	w := &tasks.Wait{Kind: b.kind, Reason: b.name, Proved: true}
	first, known := arg(c.addr)
	if !known && b.arg != fcntlArg {
		return w // the result took its place
	}
	switch b.arg {
	case descriptorArg:
		w.Object = r.descriptor(int32(first))
	case epollArg:
		w.Object = r.descriptor(int32(first))
		if limit, ok := arg(c.timeout); ok {
			w.Timed = int32(limit) >= 0
		}
	case pollArg:
		n, _ := arg(c.op)
		w.Object = r.polled(first, n)
		if limit, ok := arg(c.val); ok {
			w.Timed = b.name == "poll" && int32(limit) >= 0 || b.name == "ppoll" && limit != 0
		}
	case processArg:
		if pid := int32(first); pid > 0 {
			w.Object.Type = fmt.Sprintf("process %d", pid)
		}
	case fcntlArg:
		const setLockWait, setLockWait64, setFileLockWait = 7, 14, 38
		if op, _ := arg(c.op); op != setLockWait && op != setLockWait64 && op != setFileLockWait || !known {
			return nil
		}
		r.fileLock(w, int32(first))
	case fileLockArg:
		r.fileLock(w, int32(first))
	}
	return w
}

// descriptor describes a file descriptor: in a running process, what it refers to.
func (r *runtime) descriptor(fd int32) tasks.Object {
	o := tasks.Object{Type: fmt.Sprintf("descriptor %d", fd)}
	if d, ok := r.p.State.(describer); ok {
		o.Detail = d.Descriptor(int(fd))
	}
	return o
}

// maxPolled is how many descriptors of a call are named.
const maxPolled = 4

// polled describes n descriptors of an array of struct pollfd.
func (r *runtime) polled(at, n uint64) tasks.Object {
	if n == 1 {
		if fd, ok := r.U32(at); ok {
			return r.descriptor(int32(fd))
		}
	}
	const size = 8
	var fds []string
	for i := range min(n, maxPolled) {
		fd, ok := r.U32(at + i*size)
		if !ok {
			break
		}
		fds = append(fds, fmt.Sprint(int32(fd)))
	}
	if len(fds) == 0 {
		return tasks.Object{}
	}
	s := "descriptors " + strings.Join(fds, ", ")
	if n > maxPolled {
		s += fmt.Sprintf(" and %d more", n-maxPolled)
	}
	return tasks.Object{Type: s}
}

// fileLock describes a wait for a lock on a file, which processes hold, not threads.
func (r *runtime) fileLock(w *tasks.Wait, fd int32) {
	w.Object = r.descriptor(fd)
	w.Object.Type = "lock on the file of " + w.Object.Type
	if d, ok := r.p.State.(describer); ok {
		if pid := d.LockHolder(int(fd)); pid != 0 {
			w.Note = fmt.Sprintf("held by process %d", pid)
		}
	}
}
