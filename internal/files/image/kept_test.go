package image

import (
	"strconv"
	"testing"
)

func TestKept(t *testing.T) {
	type one int
	type other int
	im, found := new(Image), 0
	find := func() string { found++; return strconv.Itoa(found) }
	if a, b := Kept(im, one(1), find), Kept(im, one(1), find); a != "1" || b != "1" {
		t.Errorf("%s, then %s", a, b)
	}
	if a := Kept(im, other(1), find); a != "2" {
		t.Errorf("users share a key: %s", a)
	}
	// However many results there are, few are kept, and new ones are.
	for i := range 3 * maxKept {
		Kept(im, one(i), find)
	}
	if n := len(im.kept.results); n > maxKept {
		t.Errorf("%d are kept", n)
	}
	before := found
	if Kept(im, one(3*maxKept-1), find); found != before {
		t.Error("the last result was not kept")
	}
}
