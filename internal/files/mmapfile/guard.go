package mmapfile

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/corewalk/corewalk/internal/recovered"
)

// Guard calls fn. If fn reads mapped bytes that no longer exist, Guard stops fn and returns
// an error wrapping ErrChanged; what fn was changing may be incomplete. All other panics
// pass through.
//
// Only the calling goroutine is guarded: a goroutine that fn starts needs its own Guard.
// Calls may be nested; the previous setting is restored.
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
		recovered.Note()
		err = fmt.Errorf("memory fault at %#x: %w", fault.Addr(), ErrChanged)
	}()
	fn()
	return nil
}

// addrError is the value of the runtime's panic when SetPanicOnFault is on.
type addrError interface {
	runtime.Error
	Addr() uintptr
}

// firstPage is below every mapping: a fault there is a nil pointer dereference, which is a
// bug and not a changed file.
const firstPage = 4096
