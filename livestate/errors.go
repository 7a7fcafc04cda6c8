package livestate

import "errors"

// Why a process cannot be traced. Errors of this package wrap one of these, or
// unwind.ErrNoThread, where they have one of these causes.
var (
	ErrUnsupported = errors.New("live processes are not supported on this host")
	ErrNoProcess   = errors.New("no such process")
	ErrExited      = errors.New("the process has ended")
	ErrPermission  = errors.New("the process must not be traced")
	ErrTraced      = errors.New("the process is traced by another")
	ErrSelf        = errors.New("a process cannot trace itself")
	ErrArch        = errors.New("architecture not supported")
	ErrNotStopped  = errors.New("the thread does not stop")
	ErrDetached    = errors.New("detached from the process")
)
