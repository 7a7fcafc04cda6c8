package golang_test

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// without is a process whose dump lacks what is as large as a goroutine's description.
type without struct {
	unwind.ProcessState
	lacks bool
}

func (w *without) ReadMem(at unwind.Address, b []byte) (int, error) {
	if w.lacks && len(b) > 200 {
		return 0, &arch.MemError{Addr: at, Err: arch.ErrNotInDump}
	}
	return w.ProcessState.ReadMem(at, b)
}

// TestAbsent: goroutines that a dump lacks do not speak against the layout.
func TestAbsent(t *testing.T) {
	open(t, func(p *tasks.Process) {
		w := &without{ProcessState: p.State}
		r, err := golang.Find(with(p, w))
		if err != nil {
			t.Fatal(err)
		}
		same := golang.Place(r, nil, "g", "goid", 1) - 1
		if err := golang.ProveWith(r, "g", "goid", same); err != nil {
			t.Fatal(err)
		}
		w.lacks = true
		err = golang.ProveWith(r, "g", "goid", same)
		if err == nil || strings.Contains(err.Error(), "agree") || !strings.Contains(err.Error(), "not in the dump") {
			t.Errorf("without the goroutines: %v", err)
		}
	})
}
