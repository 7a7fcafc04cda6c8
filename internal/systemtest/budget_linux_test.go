package systemtest

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"unsafe"
)

// instructions counts the instructions that f executes in user mode on its own thread. ok is false if the system does
// not count them: a virtual machine has no counters, a container may not use them.
func instructions(f func()) (n uint64, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const (
		size             = 64 // of perf_event_attr's first version
		hardware         = 0
		countInstruction = 1
		excludeKernel    = 1 << 5
		excludeHV        = 1 << 6
	)
	var attr [size]byte
	binary.NativeEndian.PutUint32(attr[0:], hardware)
	binary.NativeEndian.PutUint32(attr[4:], size)
	binary.NativeEndian.PutUint64(attr[8:], countInstruction)
	binary.NativeEndian.PutUint64(attr[40:], excludeKernel|excludeHV)
	const thisThread, anyCPU, noGroup = 0, ^uintptr(0), ^uintptr(0)
	fd, _, errno := syscall.Syscall6(syscall.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&attr)), thisThread, anyCPU, noGroup, 0, 0)
	if errno != 0 {
		f()
		return 0, false
	}
	defer syscall.Close(int(fd))
	count := func() (uint64, bool) {
		var b [8]byte
		n, err := syscall.Read(int(fd), b[:])
		return binary.NativeEndian.Uint64(b[:]), n == len(b) && err == nil
	}
	before, ok1 := count()
	f()
	after, ok2 := count()
	return after - before, ok1 && ok2 && after > before
}
