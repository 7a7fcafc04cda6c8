package hotspot_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestWaits: what threads wait for, who has it, and the deadlocks are those that the virtual machine's own management
// interface tells of the same process.
func TestWaits(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		for _, options := range [][]string{nil, {"-XX:LockingMode=1"}, {"-XX:+UseZGC"}} {
			t.Run(filepath.Base(home)+strings.Join(options, ""), func(t *testing.T) { waits(t, home, options) })
		}
	}
}

func waits(t *testing.T, home string, options []string) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	classes := javac(t, home, "testdata/Locks.java", "-XDignore.symbol.file", "-nowarn")
	args := append([]string{"-Xmx64m", "-XX:+UnlockExperimentalVMOptions", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash", "-XX:-BackgroundCompilation",
		"-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Locks$Held.pause", "-cp", classes}, options...)
	printed, _ := fixture.Dies(dir, filepath.Join(home, "bin/java"), append(args, "Locks")...).Output()
	target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	names := map[int]string{}
	var held []string
	compiled := false // code has monitors, too
	for _, th := range r.Threads {
		names[th.ID] = th.Name
		for _, f := range th.Frames {
			for _, v := range f.Locals {
				if v.Name == "(locked)" {
					function, _, _ := strings.Cut(f.Function, "(")
					compiled = compiled || f.Kind == report.KindJIT
					held = append(held, hidden.ReplaceAllString(fmt.Sprintf("%s %s %s", th.Name, v.Type, function), ""))
				}
			}
		}
	}
	got := map[string]string{}
	for i := range r.Tasks {
		w := r.Tasks[i].Wait
		if r.Tasks[i].Kind != "thread" || w == nil {
			continue
		}
		what, owner := "", ""
		if w.Object != nil {
			what = w.Object.Type
		}
		for _, h := range w.Holders {
			if h.Certainty == "certain" {
				owner = names[h.ID]
			}
		}
		got[names[r.Tasks[i].ID]] = fmt.Sprintf("%s %s %v", what, owner, w.Timed)
	}
	threads := 0
	var stuck, locked []string
	for l := range strings.Lines(string(printed)) {
		f := strings.Split(strings.TrimSuffix(l, "\n"), "\t")
		switch {
		case f[0] == "deadlock":
			stuck = append(stuck, f[1])
		case f[0] == "locked":
			class := f[2]
			if class == "[I" {
				class = "int[]"
			}
			locked = append(locked, hidden.ReplaceAllString(fmt.Sprintf("%s %s %s", f[1], class, f[3]), ""))
		case f[0] != "thread" || f[2] == "RUNNABLE" || strings.HasPrefix(f[1], "Common-"): // that one may have woken up since
		default:
			threads++
			if want := fmt.Sprintf("%s %s %v", f[3], f[4], f[2] == "TIMED_WAITING"); got[f[1]] != want {
				t.Errorf("thread %s: %q, want %q", f[1], got[f[1]], want)
			}
		}
	}
	var found []string
	for _, d := range r.Deadlocks {
		if d.Certainty != "certain" {
			t.Errorf("a deadlock is %s", d.Certainty)
		}
		for _, task := range d.Tasks {
			found = append(found, names[task.ID])
		}
		for _, p := range d.Places {
			if !strings.HasPrefix(p.Function, "Locks.") || p.Source.Line == 0 {
				t.Errorf("a deadlock is in %s, line %d", p.Function, p.Source.Line)
			}
		}
	}
	slices.Sort(stuck)
	slices.Sort(found)
	if threads < 20 || len(stuck) != 6 || len(r.Deadlocks) != 3 || !slices.Equal(found, stuck) {
		t.Errorf("%d threads; deadlocks of %q, want %q", threads, found, stuck)
	}
	slices.Sort(held)
	slices.Sort(locked)
	if !slices.Equal(held, locked) || len(locked) < 8 || !compiled {
		t.Errorf("locked\n%s\nwant\n%s", strings.Join(held, "\n"), strings.Join(locked, "\n"))
	}
	if r.Crash.Kind == "deadlock" || r.Hang() != nil {
		t.Errorf("the crash is called a hang")
	}
}
