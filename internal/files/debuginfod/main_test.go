package debuginfod

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// Most tests wait for servers that are slow.
func TestMain(m *testing.M) {
	fixture.AtOnce(8)
	os.Exit(m.Run())
}
