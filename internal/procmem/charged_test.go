package procmem

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

type zeros struct{}

func (zeros) ReadMem(_ arch.Address, b []byte) (int, error) { return len(b), nil }
func (zeros) ReadWord(arch.Address) (uint64, error)         { return 0, nil }

// Reads cost by what they read, and fail when there is no budget any more.
func TestCharged(t *testing.T) {
	spent, left := 0, 2*readCost+1<<20/bytesPerUnit
	over := errors.New("over")
	r := Reader{zeros{}, arch.AMD64}.Charged(func(units int) error {
		if spent += units; spent > left {
			return over
		}
		return nil
	})
	if _, ok := r.LookupWord(8); !ok || spent != readCost {
		t.Errorf("a word: %t, %d units", ok, spent)
	}
	if b := r.Bytes(8, 1<<20); len(b) != 1<<20 || spent != left {
		t.Errorf("%d bytes, %d units of %d", len(b), spent, left)
	}
	if _, err := r.ReadWord(8); err != over {
		t.Error(err)
	}
	if b := r.Some(8, 1); len(b) != 0 {
		t.Errorf("%d bytes without a budget", len(b))
	}
}
