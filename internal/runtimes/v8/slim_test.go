package v8_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/slimmed"
)

// TestSlimWithoutFile: a slim core has what is needed of the files of Node.
func TestSlimWithoutFile(t *testing.T) {
	fixture.Long(t)
	for _, node := range nodes(t) {
		t.Run(version(t, node), func(t *testing.T) {
			core, _ := die(t, node, []string{"all"})
			slimmed.Check(t, core, "javascript", "node", 10)
		})
	}
}
