package python_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture/slimmed"
)

// TestSlimWithoutFile: a slim core has what is needed of the interpreter's file.
func TestSlimWithoutFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs CPythons of this machine")
	}
	for version, python := range outermost(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			slimmed.Check(t, smallDump(t, python), "python", "python", 5)
		})
	}
}
