package golang_test

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// larger says that one function is larger than it is.
type larger struct {
	unwind.SymbolReader
	name string
	size uint64
	at   uint64 // of the function, once it was asked for
}

func (l *larger) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	s, ok := l.SymbolReader.SymbolByName(lib, name)
	if ok && name == l.name {
		s.Size, l.at = l.size, s.Addr
	}
	return s, ok
}

// The code of a program without symbols says where the list of goroutines may be. One that names thousands of places, each of which
// may be the list or its length, is asked about no more pairs than the budget has.
func TestManyRootsAreCharged(t *testing.T) {
	open(t, func(p *tasks.Process) {
		lib, ok := p.State.LibraryTracker().AOut()
		if !ok {
			t.Fatal("no program")
		}
		const places, insn = 2000, 7
		syms := &larger{SymbolReader: p.Symbols, name: "runtime.forEachGRace", size: places * insn}
		data := lib.End - 16*places // each place is a word there
		pairs := 0
		state := &damaged{ProcessState: p.State}
		state.flip = func(at unwind.Address, b []byte) {
			for i := range b {
				a := at + uint64(i)
				if off := a - syms.at; syms.at != 0 && off < syms.size {
					k := off / insn
					code := binary.LittleEndian.AppendUint32([]byte{0x48, 0x8d, 0x05}, uint32(data+16*k-(syms.at+insn*(k+1)))) // lea
					b[i] = code[off%insn]
				}
			}
			if off := at - data; off < 16*places && len(b) == 8 {
				v := uint64(8) // a length
				if off/16%2 == 1 {
					v = data + off + 8 // a list
				}
				if off%16 == 8 {
					v = 0
					pairs++
				}
				binary.LittleEndian.PutUint64(b, v)
			} else if off >= 8 && at-data < 16*places+64 {
				clear(b)
				pairs++
			}
		}
		q := with(p, state)
		q.Symbols, q.Budget = syms, budget.Of(1<<20)
		golang.Find(q)
		if syms.at == 0 {
			t.Fatal("the function was not asked for")
		}
		if pairs == 0 || pairs > 4000 {
			t.Errorf("%d pairs were looked at", pairs)
		}
	})
}
