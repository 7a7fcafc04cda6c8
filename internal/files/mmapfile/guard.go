package mmapfile

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Guard calls fn and answers an error wrapping ErrChanged when fn touched
// mapped bytes that no longer exist. fn is left at that point, so that what it
// was changing may be half done. Every other panic passes through.
//
// Only the calling goroutine is guarded: goroutines that fn starts need their
// own. Calls may be nested; the setting found is restored.
func Guard(fn func()) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(addrError)
		if !ok || fault.Addr() < firstPage {
			panic(r)
		}
		err = fmt.Errorf("memory fault at %#x: %w", fault.Addr(), ErrChanged)
	}()
	fn()
	return nil
}

// addrError is what the runtime panics with when SetPanicOnFault is on.
type addrError interface {
	runtime.Error
	Addr() uintptr
}

// firstPage is below every mapping: a fault there is a nil pointer's, a mistake
// of the program and no change of a file.
const firstPage = 4096
