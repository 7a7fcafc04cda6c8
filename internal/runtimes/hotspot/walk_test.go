package hotspot_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// homes are the Java development kits of this machine, and those that COREWALK_JDKS lists.
func homes(t *testing.T) []string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/jvm/*/bin/javac")
	for _, home := range filepath.SplitList(os.Getenv("COREWALK_JDKS")) {
		found = append(found, filepath.Join(home, "bin/javac"))
	}
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
		for i, m := range modes {
			if os.Getenv("COREWALK_MOMENTS") == "" && i%3 != 0 { // all of them take minutes
				continue
			}
			t.Run(filepath.Base(home)+" "+m.mode+strings.Join(m.options, ""), func(t *testing.T) {
				dir := t.TempDir()
				args := append([]string{"-Xmx64m", "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash", "-cp", classes}, m.options...)
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
	return javac(t, home, filepath.Join(fixture.Root(t), "testdata/src/java/Frames.java"), "-XDignore.symbol.file", "-nowarn")
}

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// javac compiles a source for a Java development kit, once, and returns the directory of the classes.
func javac(t *testing.T, home, source string, flags ...string) string {
	t.Helper()
	return fixture.Made(t, flags, []string{filepath.Join(home, "release"), filepath.Join(home, "bin/javac"), source}, func(dir string) {
		if out, err := exec.Command(filepath.Join(home, "bin/javac"), append(slices.Clip(flags), "-g", "-d", dir, source)...).CombinedOutput(); err != nil {
			t.Skipf("javac: %v: %s", err, out)
		}
	})
}

// withLibrary returns the directory of the classes of a source, and a library of C that they load.
func withLibrary(t *testing.T, home, source, library string, flags ...string) (classes, path string) {
	t.Helper()
	dir := fixture.Made(t, append([]string{home}, flags...), []string{filepath.Join(home, "include/jni.h"), library}, func(dir string) {
		args := append(slices.Clip(flags), "-shared", "-fPIC", "-I"+home+"/include", "-I"+home+"/include/linux", "-o", filepath.Join(dir, "library.so"), library)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v: %s", err, out)
		}
	})
	return javac(t, home, source, "-XDignore.symbol.file", "-nowarn"), filepath.Join(dir, "library.so")
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
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record(t, target, false, false)
	got := map[string]string{}
	for _, th := range r.Threads {
		var lines []string
		for _, f := range th.Frames {
			if name, _, ok := strings.Cut(f.Symbol, "("); ok && f.Language == "java" {
				lines = append(lines, fmt.Sprintf("%s %s:%d", hidden.ReplaceAllString(name, ""), f.Source.File, f.Source.Line))
			}
		}
		if len(lines) > 0 {
			got[strings.Join(lines, "\n")] = th.Name
		}
	}
	frames, bad := 0, 0
	for _, p := range want {
		lines := strings.Join(p.lines, "\n")
		name, found := got[lines]
		if p.name == "main" { // in Unsafe.getInt, called from the frame that printed
			for g, n := range got {
				if i := strings.Index(g, p.lines[0]); i >= 0 && g[i:] == lines {
					name, found = n, true
				}
			}
		}
		if !found {
			bad++
			t.Errorf("no thread has the stack of %s:\n%s", p.name, lines)
		} else if name != p.name {
			t.Errorf("thread %q has the stack of %q", name, p.name)
		}
		frames += len(p.lines)
	}
	t.Logf("%d threads, %d frames, %d stacks not found", len(want), frames, bad)
}

// hidden is what tells classes without a name of their own apart: before JDK 15 it is not part of their name, and what
// prints a stack adds the class's address, or a number of its own.
var hidden = regexp.MustCompile(`[+/](0x[0-9a-f]{16}|[0-9]+)`)

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
		if file == "<Unknown>" {
			file = ""
		}
		if n >= 1000000 { // a bytecode index: so does JDK 8 of code that has no lines
			n = 0
		}
		if file == "" || n < 0 {
			n = 0
		}
		last.lines = append(last.lines, fmt.Sprintf("%s %s:%d", hidden.ReplaceAllString(method, ""), file, n))
	}
	return out
}

// record records the stack of the thread that crashed, with -record.
func record(t *testing.T, target *corewalk.Target, values, raised bool) {
	t.Helper()
	w, err := target.NewWalker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, _ := w.WalkStack(unwind.NullThread)
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) {
		hotspot.Record(t, p, s.Frames, values, raised)
		return nil, nil
	}) {
		break
	}
}
