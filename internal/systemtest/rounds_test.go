package systemtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// A recursion in which a value is passed on from the oldest frame: the rounds that the text does not show are gone
// through.
func TestRoundsPassedOn(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc")
	}
	source, err := os.ReadFile("../../testdata/src/passed_deep.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "deep.c"), filepath.Join(dir, "deep")
	deeper := strings.Replace(string(source), "fill(&c, 7, 299)", "fill(&c, 7, 2999)", 1)
	if err := os.WriteFile(file, []byte(deeper), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-g", "-O2", "-o", program, file).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	run := exec.Command("sh", "-c", "ulimit -c unlimited; exec \"$@\"", "sh", program)
	run.Dir = dir
	_ = run.Run() // it dies
	cores, _ := filepath.Glob(filepath.Join(dir, "core*"))
	if len(cores) == 0 {
		t.Skip("no core in the working directory: core_pattern is another")
	}
	target, err := corewalk.Open(context.Background(), cores[0], corewalk.WithExecutable(program))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o := report.TextOptions{Width: 120}
	part, err1 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Text: &o})
	whole, err2 := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if err := errors.Join(report.WriteText(&got, part, o), report.WriteText(&want, whole, o)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-whole +shown)\n%s", diff)
	}
	if !strings.Contains(got.String(), "left=2999)") {
		t.Errorf("what the oldest frame was passed is not known:\n%s", got.String())
	}
}
