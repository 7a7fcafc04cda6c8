package native

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An endless machine has memory everywhere: FILEs of which each leads to the next one, and none back.
type endless struct {
	machine
	reads int
}

const fileSize = 256

func (e *endless) ReadWord(at arch.Address) (uint64, error) {
	e.reads++
	switch at % fileSize {
	case 0:
		return fileMagic << 16, nil
	case fileChain64:
		return at - fileChain64 + fileSize, nil
	}
	return at, nil
}

func (e *endless) ReadMem(at arch.Address, b []byte) (int, error) {
	v, _ := e.ReadWord(at)
	for i := range b {
		b[i] = byte(v >> (8 * i % 64))
	}
	return len(b), nil
}

// exported has one symbol.
type exported struct{ unwind.SymbolReader }

func (exported) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	return unwind.Symbol{Name: name, Addr: 1<<40 + fileChain64}, name == "_IO_list_all"
}

// TestReadsAreCharged: a list without an end is read as far as the budget goes.
func TestReadsAreCharged(t *testing.T) {
	const perRead = 4
	libc := &libstate.Library{Path: glibcPath, Start: 0x1000, End: 0x2000}
	for _, units := range []int64{1 << 12, 1 << 26} {
		e := &endless{machine: machine{libs: libstate.NewTable([]*libstate.Library{libc}, 0)}}
		b := budget.Of(units)
		r, err := Find(&tasks.Process{State: e, Symbols: exported{}, Budget: b})
		if err != nil {
			t.Fatal(err)
		}
		n := len(r.(*runtime).files())
		if e.reads < 3*n || n == 0 || n > maxFiles || int64(e.reads*perRead) > units {
			t.Errorf("%d units: %d reads, %d FILEs", units, e.reads, n)
		}
		if spent := errors.Is(b.Err(), budget.ErrSpent); spent != (n < maxFiles) {
			t.Errorf("%d units: %d FILEs, %v", units, n, b.Err())
		}
	}
}
