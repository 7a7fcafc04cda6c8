package systemtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestTemplateOfFile: an exception's template is made of the constants in the program's file (of this one, a constant as a whole), and not of those of another build.
func TestTemplateOfFile(t *testing.T) {
	program := filepath.Join(t.TempDir(), "uncaught")
	put := func(id string) {
		data, err := os.ReadFile(fixture.Compile(t, "g++", "uncaught.cpp", "-O1", "-Wl,--build-id="+id))
		if err == nil {
			os.Remove(program) // it has run
			err = os.WriteFile(program, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("0x1111")
	core := fixture.Crash(t, nil, program)
	for _, c := range []struct{ id, want string }{{"0x1111", "empty text"}, {"0x2222", ""}} {
		put(c.id)
		r := goneReport(t, core, corewalk.WithExecutable(program), corewalk.WithForceMismatched())
		if len(r.Crash.Thrown) == 0 || r.Crash.Thrown[0].Template != c.want {
			t.Errorf("%s: %+v, want %q", c.id, r.Crash.Thrown, c.want)
		}
	}
}
