package livestate

import "errors"

// Why a process cannot be traced. Errors with one of these causes wrap it, or
// unwind.ErrNoThread.
var (
	ErrUnsupported = errors.New("live processes are not supported on this host")
	ErrNoProcess   = errors.New("no such process")
	ErrExited      = errors.New("the process has ended")
	ErrPermission  = errors.New("no permission to trace the process")
	ErrTraced      = errors.New("another process already traces it")
	ErrSelf        = errors.New("a process cannot trace itself")
	ErrArch        = errors.New("architecture not supported")
	ErrNotStopped  = errors.New("the thread does not stop")
	ErrDetached    = errors.New("detached from the process")
)
