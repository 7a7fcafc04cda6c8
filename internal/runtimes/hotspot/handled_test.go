package hotspot_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestHandled: a process that dies in a native method while its callers handle an exception: in a catch, in a finally, in
// what a try closes; and behind a catch, where nothing is handled any more.
func TestHandled(t *testing.T) {
	fixture.Long(t)
	bank := func(n, relation string) report.Raised {
		return report.Raised{Language: "java", Type: "java.io.IOException", Message: "bank " + n + " is closed", Function: "Handles.bank(int)", File: "Handles.java", Line: 14,
			Handled: relation == "", Relation: relation}
	}
	pay := func(message, function string, line int) report.Raised {
		return report.Raised{Language: "java", Type: "Handles$PayException", Message: message, Function: function, File: "Handles.java", Line: line, Handled: true}
	}
	want := map[string]func(n, third string) []report.Raised{
		"catch": func(n, _ string) []report.Raised { return []report.Raised{bank(n, "")} },
		"finally": func(n, _ string) []report.Raised {
			return []report.Raised{pay("no money", "Handles.inFinally(int)", 31), bank(n, "cause")}
		},
		"behind": func(string, string) []report.Raised { return nil },
		"again": func(_, third string) []report.Raised {
			return []report.Raised{pay("inner 2", "Handles.again(int)", 56), bank(third, "cause")}
		},
		"resource": func(n, _ string) []report.Raised { return []report.Raised{bank(n, "")} },
		"deeper":   func(n, _ string) []report.Raised { return []report.Raised{bank(n, "")} },
	}
	for _, home := range homes(t) {
		dir, library := withLibrary(t, home, "testdata/Handles.java", "testdata/handles.c")
		for mode, raised := range want {
			for _, c := range []struct{ rounds, third, option string }{
				{"5", "7", "-Xint"}, {"30000", "30002", "-XX:TieredStopAtLevel=1"}, {"30000", "30002", "-XX:-TieredCompilation"},
			} {
				t.Run(filepath.Base(home)+" "+mode+" "+c.option, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
					defer cancel()
					dies := t.TempDir()
					_ = fixture.Dies(dies, filepath.Join(home, "bin/java"), "-Xmx64m", "-XX:-BackgroundCompilation", c.option, "-cp", dir, "Handles",
						library, mode, c.rounds).Run()
					target, err := corewalk.Open(ctx, fixture.CoreIn(t, dies))
					if err != nil {
						t.Fatal(err)
					}
					defer target.Close()
					r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
					if err != nil {
						t.Fatal(err)
					}
					record(t, target, false, true)
					if want := raised(c.rounds, c.third); !slices.Equal(r.Crash.Raised, want) {
						t.Errorf("got %+v, want %+v", r.Crash.Raised, want)
					}
				})
			}
		}
	}
}

// TestFlying stops a virtual machine that throws and catches all the time. An exception in flight is one of those that the
// stack's youngest method can throw or pass on, and code that only computes has none.
func TestFlying(t *testing.T) {
	fixture.Long(t)
	passes := map[string][]string{
		"Flies$Bird": {"Flies.thrown(int, int)", "Flies.locked(int)", "Flies.passes(int)", "Flies.catches(int)", "Flies.spin()"},
		"java.lang.ArrayIndexOutOfBoundsException": {"Flies.nothing(int[], int)", "Flies.spin()"},
	}
	for _, home := range homes(t) {
		dir := javac(t, home, "testdata/Flies.java")
		for _, option := range []string{"-Xint", "-XX:TieredStopAtLevel=1", "-XX:-OmitStackTraceInFastThrow"} {
			t.Run(filepath.Base(home)+" "+option, func(t *testing.T) {
				cmd := exec.Command(filepath.Join(home, "bin/java"), "-Xmx64m", option, "-cp", dir, "Flies")
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Wait()
				defer cmd.Process.Kill()
				if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				seen, unknown := 0, 0
				for range 3 * moments {
					time.Sleep(time.Millisecond)
					stopped(t, cmd.Process.Pid, func(java *hotspot.Java, id unwind.ThreadID, s *unwind.Stack) {
						list, _ := java.Stretches(context.Background(), id, s.Frames)
						youngest := youngestOf(list)
						for _, e := range java.Raised(id) {
							if e.Handled {
								continue
							}
							seen++
							if youngest == "" { // nothing says where it is; TestMoments counts such stacks
								unknown++
								continue
							}
							if !slices.Contains(passes[e.Type], youngest) {
								t.Errorf("%s %q is in flight in %s", e.Type, e.Message, youngest)
							}
						}
					})
				}
				t.Logf("%d in flight, of %d moments; %d of them on a stack without a method", seen, 3*moments, unknown)
			})
		}
	}
}

// youngestOf is the youngest method of a stack.
func youngestOf(list []tasks.Stretch) string {
	for _, st := range list {
		for _, c := range st.Calls {
			if !strings.HasPrefix(c.Function, "<") {
				return c.Function
			}
		}
	}
	return ""
}
