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
	in := &inspection{Parts: Parts{Proc: libc{}}}
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

// targets remembers for which target it was asked.
type targets struct{ asked unwind.Address }

func (*targets) LookupAtAddr(unwind.Address) (string, any, error) { return "", nil, unwind.ErrNoSymbol }

func (l *targets) LookupTailCalls(_, target, _ unwind.Address, _ []unwind.Call) []unwind.Call {
	l.asked = target
	return nil
}

// What the call of a frame led to proves nothing if the frame is perhaps not on the stack.
func TestTailCallOfDoubtful(t *testing.T) {
	lookup := new(targets)
	w, err := unwind.NewWalker(newParts(t, 1).Proc, unwind.WithGroup(unwind.NewAddrRangeGroup()), unwind.WithSymbolLookup(lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	in := &inspection{Parts: Parts{Walker: w}}
	for _, doubtful := range []bool{false, true} {
		var frames []*unwind.Frame
		for _, ra := range []unwind.Address{0x1000, 0x2000} {
			f, err := unwind.NewFrame(ra, 0x7000, 0, w)
			if err != nil {
				t.Fatal(err)
			}
			at := unwind.AtAddress(0x7000)
			at.Doubtful = doubtful
			f.SetRALocation(at)
			frames = append(frames, f)
		}
		in.tailCalls(frames, 1, 0x3000)
		if want := unwind.Address(0x3000); (lookup.asked == want) == doubtful {
			t.Errorf("doubtful %v: asked for %#x", doubtful, lookup.asked)
		}
	}
}
