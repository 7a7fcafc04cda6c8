package corewalk

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// Nothing of a language's runtime runs for a program that has none of its functions on a stack.
func TestNoLanguageNoCost(t *testing.T) {
	asked := 0
	was := runtimeKinds
	defer func() { runtimeKinds = was }()
	for i := range runtimeKinds {
		if runtimeKinds[i].shows == nil {
			continue
		}
		runtimeKinds[i].find = func(*tasks.Process) (tasks.Runtime, error) { asked++; return nil, errors.New("asked") }
	}
	for _, core := range []string{"amd64-fiber", "amd64-abort"} {
		target, err := Open(t.Context(), "testdata/cores/"+core+"/core.zst", WithSysroot("testdata/sysroot/amd64"))
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		if _, err := target.Analyze(t.Context(), AnalyzeOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 0 {
		t.Errorf("a runtime was looked for %d times", asked)
	}
	target, err := Open(t.Context(), "testdata/cores/amd64-abort/core.zst", WithSysroot("testdata/sysroot/amd64"))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	shown := 0
	for i := range runtimeKinds {
		if runtimeKinds[i].shows == nil {
			continue
		}
		shown++
		runtimeKinds[i].shows = func(function, _ string) bool { return function == "main" } // which the program does have
	}
	if _, err := target.Analyze(t.Context(), AnalyzeOptions{}); err != nil || asked != shown {
		t.Errorf("%d runtimes were looked for %d times (%v)", shown, asked, err)
	}
}
