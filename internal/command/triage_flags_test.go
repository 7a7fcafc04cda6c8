//go:build linux

package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestTriageFlagsReachAnalysis: the analysis process works with the flags that the command
// was given, also where the value of one is a path of dumps too.
func TestTriageFlagsReachAnalysis(t *testing.T) {
	c := fixture.Get(t, "amd64-inline-tail-O2")
	top := t.TempDir()
	dumps, bins := filepath.Join(top, "dumps"), filepath.Join(top, "bins")
	for from, to := range map[string]string{c.Core(t): filepath.Join(dumps, "core.1"), c.Binary(t): filepath.Join(bins, filepath.Base(c.Binary(t)))} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"no search":     {dumps},
		"search":        {"--search", bins, dumps},
		"both":          {"--search", bins, dumps, bins},
		"both, one arg": {"--search=" + bins, bins, dumps},
		"behind":        {bins, dumps, "--search", bins},
	} {
		args = append([]string{"triage", "--no-db", "--format", "json", "--sysroot", c.Sysroot(t), "--debug-dir", top}, args...)
		out, _ := exec.Command("corewalk", args...).Output() // the status says that bins has no dumps
		var frames []string
		for line := range strings.Lines(string(out)) {
			var group struct {
				Type   string
				Frames []string
			}
			if err := json.Unmarshal([]byte(line), &group); err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			if group.Type == "group" {
				frames = group.Frames
			}
		}
		if found := slices.Contains(frames, "main"); found != (name != "no search") {
			t.Errorf("%s: frames %q", name, frames)
		}
	}
}

// The table of groups is the same whether reports of them are kept or not: without a ledger none is made.
func TestTriageWithoutReports(t *testing.T) {
	dumps := t.TempDir()
	args := []string{"triage"}
	for _, name := range []string{"amd64-inline-tail-O2", "amd64-recursion-O0", "amd64-cxx-sort", "amd64-cxx-uncaught", "amd64-abort"} {
		c := fixture.Get(t, name)
		if err := os.Symlink(c.Core(t), filepath.Join(dumps, name)); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--search", filepath.Dir(c.Binary(t)), "--sysroot", c.Sysroot(t))
	}
	table := func(more ...string) (rows []string) {
		out, _ := exec.Command("corewalk", append(append(args[:len(args):len(args)], more...), dumps)...).Output()
		for line := range strings.Lines(string(out)) {
			if fields := strings.Fields(line); len(fields) > 3 && fields[0] >= "1" && fields[0] <= "9" {
				rows = append(rows, line)
			}
		}
		return rows
	}
	without, with := table("--no-db"), table("--db", filepath.Join(t.TempDir(), "ledger"))
	if len(with) != 5 || !slices.Equal(with, without) {
		t.Errorf("without a ledger:\n%s\nwith one:\n%s", strings.Join(without, ""), strings.Join(with, ""))
	}
}
