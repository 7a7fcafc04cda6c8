package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// libc is a process with one library.
type libc struct {
	Process
	libstate.LibraryState
}

func (p libc) LibraryTracker() libstate.LibraryState { return p }

func (libc) LibraryAt(addr unwind.Address) (*libstate.Library, bool) {
	return &libstate.Library{Path: "/lib/libc.so.6", LoadBias: 0x7000}, addr >= 0x7000
}

// pthread_mutex_unlock, called from another library, leaves by a tail call.
func TestTailCallInAnotherModule(t *testing.T) {
	in := &Engine{Parts: Parts{Proc: libc{}}}
	for _, tc := range []struct {
		entry  unwind.Address
		module string
		offset report.Addr
	}{{0x7890, "/lib/libc.so.6", 0x890}, {0x1000, "/lib/libpython.so", 0x42}, {0, "/lib/libpython.so", 0x42}} {
		e := report.Frame{Module: "/lib/libpython.so", Offset: 0x42}
		in.inModule(&e, tc.entry)
		if e.Module != tc.module || e.Offset != tc.offset {
			t.Errorf("%#x: %s+%v", tc.entry, e.Module, e.Offset)
		}
	}
}
