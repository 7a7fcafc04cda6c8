package hotspot_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestVirtual: the stacks of virtual threads that no thread runs, and of one that came back from a wait, are those that
// Java printed.
func TestVirtual(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		if release, err := exec.Command(filepath.Join(home, "bin/java"), "-version").CombinedOutput(); err != nil || !strings.Contains(string(release), ` "2`) {
			continue
		}
		for _, options := range [][]string{nil, {"-Xint"}, {"-XX:+UseZGC"}, {"-XX:+UseSerialGC", "-XX:-UseCompressedOops"}, {"-Xcomp", "-XX:TieredStopAtLevel=1"}} {
			t.Run(filepath.Base(home)+strings.Join(options, ""), func(t *testing.T) { virtual(t, home, options) })
		}
	}
}

func virtual(t *testing.T, home string, options []string) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	classes := javac(t, home, "testdata/Virtual.java", "-XDignore.symbol.file", "-nowarn")
	args := append([]string{"-Xmx64m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+ShowHiddenFrames", "-XX:+CreateCoredumpOnCrash", "-cp", classes}, options...)
	printed, _ := fixture.Dies(dir, filepath.Join(home, "bin/java"), append(args, "Virtual")...).Output()
	target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record(t, target, false, false)
	lines := func(frames []report.Frame) (out []string) {
		for _, f := range frames {
			if name, _, ok := strings.Cut(f.Symbol, "("); ok && f.Language == "java" {
				out = append(out, fmt.Sprintf("%s %s:%d", hidden.ReplaceAllString(name, ""), f.Source.File, f.Source.Line))
			}
		}
		return out
	}
	got := map[string][]string{}
	for i := range r.Tasks {
		task := &r.Tasks[i]
		if task.Kind != "fiber" {
			continue
		}
		frames := task.Frames
		for k := range r.Threads {
			if r.Threads[k].ID == task.Thread {
				frames = r.Threads[k].Frames
			}
		}
		got[task.Labels[0].Value] = lines(frames)
		if task.Name == "lock" && (task.Wait == nil || len(task.Wait.Holders) != 1 || task.Wait.Holders[0].ID != r.Crash.Thread && task.Wait.Holders[0].Kind != "thread") {
			t.Errorf("the virtual thread that waits for a lock: %+v", task.Wait)
		}
	}
	want := parse(string(printed))
	if len(want) != 10 {
		t.Fatalf("%d stacks were printed: %s", len(want), printed)
	}
	for _, p := range want {
		id, _, _ := strings.Cut(p.name, " ")
		if strings.Contains(p.name, " dies ") { // it printed before it died
			p.lines = p.lines[slices.IndexFunc(p.lines, func(l string) bool { return strings.HasPrefix(l, "Virtual.deep") }):]
		}
		if !contains(got[id], p.lines) {
			t.Errorf("%s: got\n%s\nwant\n%s", p.name, strings.Join(got[id], "\n"), strings.Join(p.lines, "\n"))
		}
	}
}

// contains reports whether some lines are among others, one after the other.
func contains(all, part []string) bool {
	for i := range all {
		if len(part) > 0 && len(all)-i >= len(part) && slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
