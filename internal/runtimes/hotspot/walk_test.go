package hotspot_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// homes are the Java development kits of this machine.
func homes(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/jvm/*/bin/javac")
	var out []string
	seen := map[string]bool{}
	for _, f := range found {
		home, err := filepath.EvalSymlinks(filepath.Dir(filepath.Dir(f)))
		if err == nil && !seen[home] {
			seen[home] = true
			out = append(out, home)
		}
	}
	if len(out) == 0 {
		t.Skip("no Java is installed: Debian's openjdk-17-jdk-headless")
	}
	return out
}

// modes are ways to run the program: what it does, and how the virtual machine is to compile it.
var modes = []struct {
	mode    string
	options []string
}{
	{"all", nil},
	{"all", []string{"-Xint"}},
	{"all", []string{"-Xcomp", "-XX:TieredStopAtLevel=1"}},
	{"all", []string{"-Xcomp", "-XX:TieredStopAtLevel=3"}},
	{"all", []string{"-Xcomp", "-XX:-TieredCompilation"}},
	{"all", []string{"-Xcomp", "-XX:+UseSerialGC", "-XX:-UseCompressedOops"}},
	{"hot", nil},
	{"hot", []string{"-XX:-BackgroundCompilation"}},
	{"hot", []string{"-XX:TieredStopAtLevel=1"}},
	{"plain", []string{"-XX:+UseZGC"}},
	{"plain", []string{"-XX:+UseParallelGC", "-XX:-SegmentedCodeCache"}},
}

// TestAgainstJava compares the stacks of all Java threads of a crashed virtual machine with those it printed itself.
func TestAgainstJava(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		classes := compiled(t, home)
		for _, m := range modes {
			t.Run(filepath.Base(home)+" "+m.mode+strings.Join(m.options, ""), func(t *testing.T) {
				dir := t.TempDir()
				args := append([]string{"-Xmx64m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-XX:+CreateCoredumpOnCrash", "-cp", classes}, m.options...)
				cmd := fixture.Dies(dir, filepath.Join(home, "bin/java"), append(args, "Frames", m.mode)...)
				out, _ := cmd.Output()
				compare(t, fixture.CoreIn(t, dir), string(out))
			})
		}
	}
}

// compiled compiles the program for a Java development kit.
func compiled(t *testing.T, home string) string {
	t.Helper()
	classes := t.TempDir()
	source := filepath.Join(fixture.Root(t), "testdata/src/java/Frames.java")
	if out, err := exec.Command(filepath.Join(home, "bin/javac"), "-XDignore.symbol.file", "-nowarn", "-g", "-d", classes, source).CombinedOutput(); err != nil {
		t.Skipf("javac: %v: %s", err, out)
	}
	return classes
}

// compare looks for every printed stack among those of the core.
func compare(t *testing.T, core, printed string) {
	want := parse(printed)
	if len(want) < 5 {
		t.Fatalf("the program printed %d stacks: %s", len(want), printed)
	}
	ctx := context.Background()
	target, err := corewalk.Open(ctx, core)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var vm *hotspot.VM
	for range target.Tasks(ctx, func(p *tasks.Process) (tasks.Runtime, error) { vm, err = hotspot.Open(p); return nil, err }) {
		break
	}
	if err != nil || vm == nil {
		t.Fatal(vm, err)
	}
	threads, err := vm.Threads()
	if err != nil {
		t.Error(err)
	}
	t.Log(threads)
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.AddStepper(hotspot.NewStepper(vm))
	ids, _ := w.AvailableThreads()
	got := map[string]string{}
	var all []string
	for _, id := range ids {
		s, _ := w.WalkStack(id)
		var lines, native []string
		for _, f := range s.Frames {
			calls := vm.Calls(f, nil)
			if f.NonCall() && os.Getenv("COREWALK_SHOW") != "" {
				vm.Debug(f.RA())
			}
			if len(calls) == 0 {
				name, _ := f.Name()
				native = append(native, fmt.Sprintf("%s %#x %s", name, f.RA(), vm.BlobName(f.RA())))
			}
			for _, c := range calls {
				name := c.LinkageName[:strings.IndexByte(c.LinkageName, '(')]
				lines = append(lines, fmt.Sprintf("%s %s:%d", name, c.File, c.Line))
			}
		}
		if len(lines) > 0 {
			got[strings.Join(lines, "\n")] = fmt.Sprint(id)
			all = append(all, fmt.Sprintf("thread %d %s\n%s\n    %s", id, s.End, strings.Join(lines, "\n"), strings.Join(native, "\n    ")))
		}
	}
	frames, bad := 0, 0
	for _, p := range want {
		lines := p.lines
		if p.name == "main" { // in Unsafe.getInt, called from the frame that printed
			found := false
			for g := range got {
				if i := strings.Index(g, lines[0]); i >= 0 && g[i:] == strings.Join(lines, "\n") {
					found = true
				}
			}
			if !found {
				bad++
				t.Errorf("no thread has the stack of main:\n%s", strings.Join(lines, "\n"))
			}
		} else if got[strings.Join(lines, "\n")] == "" {
			bad++
			t.Errorf("no thread has the stack of %s:\n%s", p.name, strings.Join(lines, "\n"))
		}
		frames += len(lines)
	}
	t.Logf("%d threads, %d frames, %d not found", len(want), frames, bad)
	if bad > 0 && os.Getenv("COREWALK_SHOW") != "" {
		t.Log(strings.Join(all, "\n"))
	}
}

type stack struct {
	name  string
	lines []string
}

// parse reads what the program printed.
func parse(text string) (out []*stack) {
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "thread "); ok {
			out = append(out, &stack{name: name})
			continue
		}
		line, ok := strings.CutPrefix(s.Text(), "  ")
		if !ok || len(out) == 0 {
			continue
		}
		method, place, _ := strings.Cut(line, " ")
		i := strings.LastIndexByte(place, ':')
		if i < 0 {
			continue
		}
		file := strings.TrimPrefix(place[:i], "null")
		n, _ := strconv.Atoi(place[i+1:])
		last := out[len(out)-1]
		if file == "" || n < 0 {
			n = 0
		}
		last.lines = append(last.lines, fmt.Sprintf("%s %s:%d", strings.ReplaceAll(method, "/", "+"), file, n))
	}
	return out
}

var _ unwind.FrameStepper
