package systemtest

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }
