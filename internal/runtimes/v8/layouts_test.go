package v8

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLayoutsOfSources: the table is what testdata/layouts makes of the sources.
func TestLayoutsOfSources(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("COREWALK_V8_SOURCES"))
	if len(dirs) == 0 {
		t.Skip("no sources of Node: unpack Debian's source package nodejs, and name the directory in COREWALK_V8_SOURCES")
	}
	cmd := exec.Command("go", append([]string{"run", "./testdata/layouts"}, dirs...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, row := range rows[1:] {
		made := strings.Fields(row)
		found := false
		for line := range strings.Lines(layoutsText) {
			f := strings.Fields(line)
			if len(f) == 0 || f[0] != made[0] {
				continue
			}
			found = true
			if got := strings.Join(f, " "); got != row {
				t.Errorf("the table has\n%s, the sources\n%s", got, row)
			}
		}
		if !found {
			t.Errorf("the table lacks %s", row)
		}
	}
	if len(rows) != 1+len(dirs) {
		t.Errorf("%d rows of %d sources", len(rows)-1, len(dirs))
	}
}
