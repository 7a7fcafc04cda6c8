package similar_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestRecordReal runs programs with published bugs, with -record-real. PROGRAM/set in the directory has the name of the
// program's set, PROGRAM/builds/CONFIG what was built, and PROGRAM/bugs/BUG/PATH.sh a script that crashes the program:
// $B is the build, $C the directory of the script, and it runs in an empty directory.
func TestRecordReal(t *testing.T) {
	if *recordReal == "" {
		t.Skip("only with -record-real")
	}
	scripts, err := filepath.Glob(filepath.Join(*recordReal, "*", "bugs", "*", "*.sh"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", *recordReal, err)
	}
	var mu sync.Mutex
	var all []*sample
	tasks, wait := twoAtOnce()
	for _, script := range scripts {
		bug := filepath.Dir(script)
		program := filepath.Dir(filepath.Dir(bug))
		set, err := os.ReadFile(filepath.Join(program, "set"))
		if err != nil {
			t.Fatal(err)
		}
		builds, _ := filepath.Glob(filepath.Join(program, "builds", "*"))
		for _, build := range builds {
			dir := t.TempDir()
			tasks <- func() {
				s := &sample{Set: strings.TrimSpace(string(set)), Program: filepath.Base(program), Bug: filepath.Base(bug),
					Path: strings.TrimSuffix(filepath.Base(script), ".sh"), Config: filepath.Base(build)}
				run := exec.Command("sh", "-c", `ulimit -c unlimited; ulimit -s 1024; exec timeout 30 bash "$0"`, script)
				run.Dir, run.Env = dir, []string{"B=" + build, "C=" + bug}
				if s.report = dumpOf(t, run); s.report == nil {
					t.Logf("%s %s, %s: no crash", s.label(), s.Path, s.Config)
					return
				}
				os.RemoveAll(dir)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, s)
			}
		}
	}
	wait()
	writeStacks(t, realFile, inOrder(all))
}
