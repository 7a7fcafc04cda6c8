package python_test

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Most tests wait for interpreters that start, and for what the kernel writes of them.
func TestMain(m *testing.M) {
	fixture.AtOnce(4)
	os.Exit(m.Run())
}
