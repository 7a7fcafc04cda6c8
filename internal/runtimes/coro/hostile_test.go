package coro

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An endless process has memory everywhere, each word of which a function says.
type endless struct {
	*process
	word  func(at uint64) uint64
	reads int
	bytes int
}

func (e *endless) ReadMem(at arch.Address, b []byte) (int, error) {
	e.reads++
	e.bytes += len(b)
	for i := range b {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], e.word((at+uint64(i))&^7))
		b[i] = w[(at+uint64(i))&7]
	}
	return len(b), nil
}

func (e *endless) ReadWord(at arch.Address) (uint64, error) {
	e.reads++
	return e.word(at), nil
}

func (*endless) MappingAt(unwind.Address) (m libstate.Mapping, ok bool) { return m, false }

const (
	far  = 1 << 40
	wide = 1<<44 - 1
)

// everyWord are memories that have no end: a list that never comes back, one whose words all point to more, and one whose every
// second word does and is the end of a chunk of the heap.
var everyWord = map[string]func(at uint64) uint64{
	"a list": func(at uint64) uint64 { return at + 64 },
	"more":   func(at uint64) uint64 { return far + (at*0x9e3779b97f4a7c15)&wide&^15 },
	"chunks": func(at uint64) uint64 {
		if at%16 == 8 {
			return 0x1001
		}
		return far + (at*0x9e3779b97f4a7c15)&wide&^15
	},
}

// TestReadsAreCharged: memory without an end is read as far as the budget goes, and what was asked says that it is not all.
func TestReadsAreCharged(t *testing.T) {
	const units, perRead, bytesPerUnit = 1 << 16, 4, 32
	for name, word := range everyWord {
		for what, ask := range map[string]func(*runtime) error{
			"coroutines": func(r *runtime) error {
				_, err := all(r)
				return err
			},
			"futures that own others": func(r *runtime) error {
				s := r.newReach(t.Context())
				s.futures = &futures{found: map[unwind.Address]*future{}}
				for i := range uint64(maxFrames) {
					s.ownedIn(&future{}, far+i*maxObject, maxObject, true)
				}
				return r.p.Spend(0)
			},
			"tasks of executors": func(r *runtime) error {
				s := r.newReach(t.Context())
				s.futures = &futures{found: map[unwind.Address]*future{}, tasks: map[unwind.Address]*ownedTask{}}
				at := uint64(far)
				for i := 0; i < 4*units && !s.stopped(); i++ {
					s.isHeader(at)
					at = r.Word(at)
				}
				return s.err
			},
		} {
			b := budget.Of(units)
			r0, p := fake(nil)
			e := &endless{process: p, word: word}
			r := fakeOf(e, r0.list[0], b)
			err := ask(r)
			if e.reads == 0 || e.reads*perRead+e.bytes/bytesPerUnit > units {
				t.Errorf("%s, %s: %d reads of %d bytes", what, name, e.reads, e.bytes)
			}
			if b.Err() != nil && !errors.Is(err, budget.ErrSpent) {
				t.Errorf("%s, %s: %v is said", what, name, err)
			}
		}
	}
}
