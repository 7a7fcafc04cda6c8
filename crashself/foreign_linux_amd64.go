package crashself

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:linkname iscgo runtime.iscgo
var iscgo bool

// caughtPC returns the address of caught.
func caughtPC() uintptr

// What caught uses.
var (
	//lint:ignore U1000 the assembly reads it
	foreignPipe uintptr // the descriptor that it writes to
	//lint:ignore U1000 the assembly reads it
	foreignText = [41]byte([]byte("signal on a thread that Go does not know\n")) // its size is in foreign_linux_amd64.s
	handlers    [65]uintptr                                                      // Go's, by signal
)

// fatalSignals are those for which C code dies, that have a lower number than SIGPIPE: if the watcher is gone, they come first.
var fatalSignals = [...]unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV}

// An action is what the kernel keeps of a signal (struct sigaction of x86-64).
type action struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// foreign has signals on threads that Go does not know told to the watcher, through the descriptor fd. Only programs with C code have
// such threads.
func foreign(fd int) {
	if !iscgo {
		return
	}
	foreignPipe = uintptr(fd)
	for _, sig := range fatalSignals {
		var a action
		if sigaction(sig, nil, &a) != nil || a.handler <= 1 || a.handler == caughtPC() {
			continue // SIG_DFL, SIG_IGN
		}
		handlers[sig] = a.handler
		a.handler = caughtPC()
		_ = sigaction(sig, &a, nil)
	}
}

// unforeign gives the signals back.
func unforeign() {
	for sig, h := range handlers {
		var a action
		if h != 0 && sigaction(unix.Signal(sig), nil, &a) == nil && a.handler == caughtPC() {
			a.handler = h
			_ = sigaction(unix.Signal(sig), &a, nil)
		}
	}
}

func sigaction(sig unix.Signal, set, old *action) error {
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(action{}.mask), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
