package livestate

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ptrace(2) requests that are needed here. For most of them package unix has no
// function, or one that lacks an argument. Make all of them on the tracing thread.

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func seize(tid, options int) error { return ptrace(unix.PTRACE_SEIZE, tid, 0, uintptr(options)) }
func setOptions(tid, options int) error {
	return ptrace(unix.PTRACE_SETOPTIONS, tid, 0, uintptr(options))
}
func interrupt(tid int) error   { return ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) }
func listen(tid int) error      { return ptrace(unix.PTRACE_LISTEN, tid, 0, 0) }
func cont(tid, sig int) error   { return ptrace(unix.PTRACE_CONT, tid, 0, uintptr(sig)) }
func detach(tid, sig int) error { return ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)) }

// eventMessage returns the number that belongs to a PTRACE_EVENT stop.
func eventMessage(tid int) (int, error) {
	var msg uintptr
	err := ptrace(unix.PTRACE_GETEVENTMSG, tid, 0, uintptr(unsafe.Pointer(&msg)))
	return int(msg), err
}

// maxRegSet limits the size of a register block in bytes: the state of AVX-512 and AMX
// together takes 11 kB, that of SVE 9 kB.
const maxRegSet = 64 << 10

// regSet reads the register block for a note type.
func regSet(tid int, note uint32, buf []byte) ([]byte, error) {
	iov := unix.Iovec{Base: &buf[0]}
	iov.SetLen(len(buf))
	err := ptrace(unix.PTRACE_GETREGSET, tid, uintptr(note), uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(buf)
	if err != nil {
		return nil, err
	}
	return buf[:iov.Len], nil
}

// setRegSet writes a register block.
func setRegSet(tid int, note uint32, block []byte) error {
	iov := unix.Iovec{Base: &block[0]}
	iov.SetLen(len(block))
	err := ptrace(unix.PTRACE_SETREGSET, tid, uintptr(note), uintptr(unsafe.Pointer(&iov)))
	runtime.KeepAlive(block)
	return err
}

// sigInfoSize is sizeof(siginfo_t), on all systems.
const sigInfoSize = 128

// sigInfo reads the siginfo_t, in this program's layout, of the signal that stopped a
// thread.
func sigInfo(tid int) ([]byte, error) {
	buf := make([]byte, sigInfoSize)
	err := ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&buf[0])))
	return buf, err
}

// A stop or an end that wait4 reports.
type waited struct {
	tid    int
	status unix.WaitStatus
}

// event returns the PTRACE_EVENT of a stop, or 0 for the delivery of a signal.
func (w waited) event() int { return int(uint32(w.status) >> 16) }

// noThread limits wait4 to what the calling thread itself traces or started. The other
// children of this program are not ours.
const noThread = unix.WNOTHREAD

// peek returns whose event comes next, without removing it: tid is 0 if there is none.
// ended says that the thread has ended, with its wait status.
func peek() (tid int, ended bool, status unix.WaitStatus) {
	return waitID(unix.P_ALL, 0, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|noThread)
}

// waitID is waitid(2) for any kind of child, without waiting: tid is 0 if there is no event.
func waitID(kind, id, options int) (tid int, ended bool, status unix.WaitStatus) {
	var info struct {
		signo, errno, code int32
		_                  [unsafe.Sizeof(uintptr(0)) - 4]byte // padding to the union's alignment
		pid                int32
		uid                uint32
		status             int32
		_                  [sigInfoSize]byte
	}
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info)),
		uintptr(options|unix.WNOHANG|unix.WALL), 0, 0)
	if errno != 0 {
		return 0, false, 0
	}
	const cldExited, cldKilled, cldDumped = 1, 2, 3
	switch info.code {
	case cldExited:
		return int(info.pid), true, unix.WaitStatus(info.status << 8)
	case cldKilled, cldDumped:
		return int(info.pid), true, unix.WaitStatus(info.status)
	}
	return int(info.pid), false, 0
}

// take removes the next event of one thread; false if there is none.
func take(tid int) (waited, bool) {
	var ws unix.WaitStatus
	got, err := unix.Wait4(tid, &ws, unix.WNOHANG|unix.WALL|noThread, nil)
	if err != nil || got != tid {
		return waited{}, false
	}
	return waited{tid, ws}, true
}
