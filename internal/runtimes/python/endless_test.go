package python

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/tasks"
)

// An endless process has memory everywhere, each word of which a function says.
type endless struct {
	hole
	word func(at uint64) uint64
	cost int // of all reads: one for each, and one for 64 bytes
}

func (e *endless) ReadMem(at uint64, b []byte) (int, error) {
	e.cost += 1 + len(b)/64
	var w [8]byte
	for i := range b {
		if a := at + uint64(i); i == 0 || a%8 == 0 {
			binary.LittleEndian.PutUint64(w[:], e.word(a&^7))
		}
		b[i] = w[(at+uint64(i))%8]
	}
	return len(b), nil
}

func (e *endless) ReadWord(at uint64) (uint64, error) {
	e.cost++
	return e.word(at), nil
}

// TestReadsAreCharged: memory without an end, that of a list which never comes back and that of which every word leads to more, is
// read as far as the budget goes, of all versions.
func TestReadsAreCharged(t *testing.T) {
	const units, far = 1 << 15, 1 << 40
	for name, word := range map[string]func(at uint64) uint64{
		"a list":       func(at uint64) uint64 { return at + 4096 },
		"a dense list": func(at uint64) uint64 { return at + 8 },
		"more":         func(at uint64) uint64 { return far + (at*0x9e3779b97f4a7c15)&(1<<44-1)&^15 },
		"itself":       func(at uint64) uint64 { return at },
	} {
		stopped := 0
		for kind := range kinds {
			for what, ask := range map[string]func(*runtime){
				"all":          func(r *runtime) { explore(r, far) },
				"interpreters": func(r *runtime) { r.root = far; _ = r.prove() },
				"objects": func(r *runtime) {
					for at := range uint64(units) {
						r.typeAt(r.field(far+at*64, "object.type"))
					}
				},
			} {
				r, _ := over(nil, oldest+kind)
				e := &endless{word: word}
				b := budget.Of(units)
				r.p = &tasks.Process{State: e, Budget: b}
				ask(r)
				if e.cost == 0 || e.cost > units {
					t.Errorf("%s of %s, 3.%d: reads of %d units", what, name, oldest+kind, e.cost)
				}
				if errors.Is(b.Err(), budget.ErrSpent) {
					stopped++
				}
			}
		}
		if stopped < kinds {
			t.Errorf("%s: it was %d times more than the budget: the memory has an end", name, stopped)
		}
	}
}
