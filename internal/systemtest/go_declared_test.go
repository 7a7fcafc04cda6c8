package systemtest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// goReleases are the releases that programs of the tests are built with; the first one always. Those that are not here are skipped.
func goReleases(t *testing.T) []string {
	all := []string{"local", "go1.20.14", "go1.24.9"}
	if !fixture.IsLong(t) {
		return all[:1]
	}
	return all
}

// A goBuild is how a program of testdata/src is built.
type goBuild struct {
	release, arch string
	optimised     bool
	flags         []string
	cc            string // compiles C for cgo; "" for none
}

func (g goBuild) name() string {
	if g.optimised {
		return g.release + "-optimised" + g.arch
	}
	return g.release + g.arch
}

// goProgram builds a program in testdata/src once. A short run builds it with the flags of the tests, as all of Go's library is compiled once more
// for others; what programs of users have is long.
func goProgram(t *testing.T, source string, g goBuild) string {
	t.Helper()
	dir := filepath.Join(fixture.Root(t), "testdata", "src", source)
	command, err := exec.LookPath("go")
	if err != nil {
		t.Skip("Go's command is not here")
	}
	args, everything := append([]string{command, "build", "-buildvcs=false"}, g.flags...), ""
	if fixture.IsLongRun() {
		args, everything = append(args, "-trimpath"), "all="
	}
	if !g.optimised {
		args = append(args, "-gcflags="+everything+"-N -l")
	}
	var sources []string
	err = filepath.Walk(dir, func(path string, st os.FileInfo, err error) error {
		if err == nil && st.Mode().IsRegular() {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cgo := "CGO_ENABLED=0"
	if g.cc != "" {
		cgo = "CGO_ENABLED=1"
	}
	env := []string{"GOFLAGS=", "GOWORK=off", cgo, "CC=" + g.cc, "GOTOOLCHAIN=" + g.release, "GOARCH=" + cmp.Or(g.arch, "amd64")}
	return filepath.Join(fixture.Made(t, append(slices.Clone(args), env...), append(sources, command), func(out string) {
		cmd := exec.Command(args[0], append(args[1:], "-o", filepath.Join(out, "program"), ".")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("Go %s cannot build: %v: %s", g.release, err, text)
		}
	}), "program")
}

// goCrash runs a program until it dies and returns a report of its core with all variables.
func goCrash(t *testing.T, program string, args ...string) *report.Report {
	t.Helper()
	core := fixture.Crash(t, []string{"GOTRACEBACK=crash"}, program, args...)
	target, err := corewalk.Open(context.Background(), core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frameOf returns the frame of a function in the crashing thread.
func frameOf(t *testing.T, r *report.Report, function string) *report.Frame {
	t.Helper()
	for i := range r.Threads {
		for k := range r.Threads[i].Frames {
			if f := &r.Threads[i].Frames[k]; f.Function == function {
				return f
			}
		}
	}
	t.Fatalf("no frame of %s", function)
	return nil
}

// Local variables of Go are listed from their declarations on, in each call of stop of the program: before, their places have what an earlier
// call left. Dies before the first one, between any two, in values of several lines, on one line, in loops.
func TestGoDeclared(t *testing.T) {
	t.Parallel()
	atAll := "before first whole n s heap link one other call got chain zeros"
	wants := map[int]string{
		0:  "before",
		1:  "before",
		2:  "before first",
		3:  "before first whole",
		4:  "before first whole n s",
		5:  "before first whole n s heap link",
		6:  "before first whole n s heap link in",
		7:  "before first whole n s heap link in inner",
		8:  "before first whole n s heap link i",
		20: "before first whole n s heap link i turn",
		21: "before first whole n s heap link i turn",
		9:  "before first whole n s heap link i", // the second round
		29: "before first whole n s heap link",
		10: "before first whole n s heap link",
		11: "before first whole n s heap link one other call",
		12: "before first whole n s heap link one other call got",
		13: atAll,
		14: atAll,
		15: atAll + " key value",
		16: atAll + " empty grow",
		17: atAll + " empty grow later",
		18: atAll + " empty grow later",
		19: atAll + " empty grow later held nothing ignored",
	}
	for _, release := range goReleases(t) {
		g := goBuild{release: release}
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			program := goProgram(t, "go-declared", g)
			for stop, want := range wants {
				if !fixture.IsLong(t) && stop != 4 && stop < 16 {
					continue
				}
				f := frameOf(t, goCrash(t, program, fmt.Sprint(stop)), "main.declare")
				var names []string
				for _, v := range f.Locals {
					names = append(names, strings.TrimPrefix(v.Name, "&"))
					if v.Status != report.StatusSuccess || strings.Contains(v.Value, "0x51515") || strings.Contains(v.Value, "3492566") {
						t.Errorf("stop %d: %s = %s %s", stop, v.Name, v.Value, v.Reason)
					}
				}
				list := strings.Fields(want)
				slices.Sort(list)
				slices.Sort(names)
				if !slices.Equal(list, names) {
					t.Errorf("stop %d:\n got %q\nwant %q", stop, names, list)
				}
			}
		})
	}
}
