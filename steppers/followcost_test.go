package steppers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// purse is a budget that counts what was spent.
type purse struct{ left, spent int }

var errEmpty = errors.New("nothing left")

func (p *purse) Spend(units int) error {
	p.spent += units
	if p.left -= units; p.left < 0 {
		return errEmpty
	}
	return nil
}

// counting counts what is read of a process.
type counting struct {
	otherProc
	words int
}

func (c *counting) ReadWord(addr arch.Address) (uint64, error) {
	c.words++
	return c.otherProc.ReadWord(addr)
}

// A scan follows the function that each call leads to: a stack of return addresses, each behind a call of other code, may ask for
// much more than its words are worth. That is charged, and the walk ends when nothing is left.
func TestFollowedCodeIsCharged(t *testing.T) {
	const begin, size, stackAt, words = 0x10000, 0x8000, 0x100000, 64
	code := bytes.Repeat([]byte{0x90}, size)
	var list []byte
	for i := range words {
		at := size - 8*(i+1)
		code[at] = 0xe8
		binary.LittleEndian.PutUint32(code[at+1:], uint32(64*(i+1)-at-5)) // each calls another place, none the frame's function
		list = binary.LittleEndian.AppendUint64(list, uint64(begin+at+5))
	}
	scan := func(left int) (spent, read int) {
		p := &counting{otherProc: procAt(arch.AMD64, begin, code)}
		p.add(stackAt, libstate.Read|libstate.Write, list)
		money := &purse{left: left}
		w := must(unwind.NewWalker(p, unwind.WithBudget(money)))
		if err := w.AddStepper(wanderer(nil)); err != nil {
			t.Fatal(err)
		}
		w.WalkSingleFrame(called(t, w, begin+0x20, stackAt, 0))
		return money.spent, p.words
	}
	spent, all := scan(math.MaxInt)
	// Nearly all of the code is followed, and nearly all of it one instruction a byte.
	if least := words * size / 2; spent < least {
		t.Errorf("%d units for code of more than %d instructions", spent, least)
	}
	if _, some := scan(spent / 8); some > all/4 {
		t.Errorf("an eighth of the budget reads %d words, all of it %d", some, all)
	}
}

// Whether there is padding before an address is found out once, and charged: frames that have their addresses in the same
// code look at the same places.
func TestPaddingIsLookedForOnce(t *testing.T) {
	const begin = 0x10000
	p := procAt(arch.AMD64, begin, bytes.Repeat([]byte{0x50}, 0x2000)) // no padding anywhere
	money := &purse{left: math.MaxInt}
	w := must(unwind.NewWalker(p, unwind.WithBudget(money)))
	var x steppers.Padding
	x.Starts(0, w, begin+0x1800, 0)
	first := money.spent
	if first < 250*64 {
		t.Errorf("%d units for 256 places", first)
	}
	x.Starts(0, w, begin+0x1808, 0)
	if again := money.spent - first; again > first/20 {
		t.Errorf("%d units, %d for the same places", first, again)
	}
}
