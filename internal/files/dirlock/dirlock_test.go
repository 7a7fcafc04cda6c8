//go:build unix

package dirlock

import (
	"errors"
	"testing"
)

// One at a time has a directory, and asking takes nothing.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	if Taken(dir) {
		t.Error("taken before anybody took it")
	}
	giveBack, err := Take(dir)
	if err != nil || !Taken(dir) {
		t.Fatal(err)
	}
	if _, err := Take(dir); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	giveBack()
	if Taken(dir) {
		t.Error("taken after it was given back")
	}
	if giveBack, err = Take(dir); err != nil {
		t.Fatal(err)
	}
	giveBack()
	if _, err := Take(dir + "/none"); err == nil || errors.Is(err, ErrTaken) {
		t.Error(err)
	}
}
