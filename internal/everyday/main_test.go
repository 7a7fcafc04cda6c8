// Package everyday runs the linked programs as their users do: every command, on programs of several languages whose files are as they were built,
// stripped, moved, replaced or apart, with every state of what is kept between runs, and with outputs that nobody reads. Each command must end, say the
// same again, and leave nothing behind.
package everyday

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == hangs {
		fmt.Fprintln(os.Stderr, hang(os.Args[2:]))
		os.Exit(125)
	}
	fixture.AtOnce(6)
	os.Exit(fixture.Main(m))
}

// hangs as first argument has the test become the command that follows, on a disk that hangs.
const hangs = "--hangs"

// programVariable names another corewalk to test than that of these sources: its path.
const programVariable = "COREWALK_EVERYDAY"

// tested is the path of the program under test. In the long run it is linked without C, as releases are, for which every package above net is compiled again.
func tested(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(programVariable); path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return abs
	}
	return fixture.Once(t, "programs", func(dir string) string {
		var env []string
		if fixture.IsLongRun() {
			env = append(env, "CGO_ENABLED=0")
		}
		fixture.Programs(t, dir, env, "corewalk")
		return filepath.Join(dir, "corewalk")
	})
}
