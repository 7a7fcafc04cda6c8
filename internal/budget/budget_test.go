package budget

import (
	"errors"
	"testing"
)

func TestBudget(t *testing.T) {
	b := Of(10)
	if err := b.Spend(10); err != nil || b.Spent() != 10 || b.Err() != nil {
		t.Errorf("%v, %d spent", err, b.Spent())
	}
	if err := b.Spend(1); !errors.Is(err, ErrSpent) || !errors.Is(b.Err(), ErrSpent) {
		t.Error(err)
	}
	why := errors.New("why")
	b = Of(10)
	b.Stop(why)
	b.Stop(ErrSpent) // only the first counts
	if err := b.Spend(1); err != why || b.Err() != why {
		t.Error(err)
	}
	var none *Budget
	none.Stop(why)
	if none.Spend(1<<60) != nil || none.Err() != nil || none.Spent() != 0 {
		t.Error("a nil budget has limits")
	}
}

// Extras have a part of the budget; that it is spent ends nothing else.
func TestExtra(t *testing.T) {
	b := Of(100)
	if !b.Extra(20) || b.Extra(10) || b.Extra(1) || b.Err() != nil || b.Spent() != 20 {
		t.Errorf("%v, %d spent", b.Err(), b.Spent())
	}
	if b.Spend(80) != nil {
		t.Error(b.Err())
	}
	b.Renew()
	if !b.Extra(25) || b.Spend(75) != nil || b.Extra(0) != true || b.Spend(1) == nil {
		t.Errorf("%v, %d spent", b.Err(), b.Spent())
	}
	b = Of(100)
	if b.Spend(101) == nil || b.Extra(1) {
		t.Error("extras of a budget that is spent")
	}
	var none *Budget
	if !none.Extra(1 << 60) {
		t.Error("a nil budget has limits")
	}
}

// What is afforded is what is left, and never less than nothing.
func TestAffords(t *testing.T) {
	b := Of(100)
	if n := b.Affords(30); n != 3 {
		t.Error(n)
	}
	_ = b.Spend(200)
	var none *Budget
	if b.Affords(30) != 0 || none.Affords(1<<40) < 1<<40 {
		t.Error(b.Affords(30), none.Affords(1<<40))
	}
}

// A larger dump may cost more, but not without limit.
func TestSize(t *testing.T) {
	small, large, huge := New(0).all, New(1<<30).all, New(1<<62).all
	if small <= 0 || large <= small || huge < large || huge > 1<<34 {
		t.Errorf("%d, %d, %d", small, large, huge)
	}
}
