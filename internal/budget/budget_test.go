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

// A larger dump may cost more, but not without limit.
func TestSize(t *testing.T) {
	small, large, huge := New(0).all, New(1<<30).all, New(1<<62).all
	if small <= 0 || large <= small || huge < large || huge > 1<<34 {
		t.Errorf("%d, %d, %d", small, large, huge)
	}
}
