package hotspot_test

import (
	"context"
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

// TestRaised has a native method throw an exception that has a cause, and abort before Java sees it; and a handler of
// exceptions that nobody caught abort.
func TestRaised(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		for _, option := range []string{"-XX:+UseCompressedOops", "-XX:-UseCompressedOops"} {
			for _, mode := range [][]string{nil, {"uncaught"}, {"traced"}} {
				t.Run(filepath.Base(home)+option+strings.Join(mode, ""), func(t *testing.T) { raised(t, home, option, mode) })
			}
		}
	}
}

func raised(t *testing.T, home, option string, mode []string) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	src := filepath.Join(fixture.Root(t), "testdata/src/java")
	run := func(name string, args ...string) {
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v: %s", name, err, out)
		}
	}
	classes := javac(t, home, filepath.Join(src, "Throws.java"))
	lib := filepath.Join(dir, "libthrows.so")
	run("gcc", "-shared", "-fPIC", "-I"+home+"/include", "-I"+home+"/include/linux", "-o", lib, filepath.Join(src, "throws.c"))
	_ = fixture.Dies(dir, filepath.Join(home, "bin/java"), append([]string{"-Xmx64m", option, "-cp", classes, "Throws", lib}, mode...)...).Run()
	target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []report.Raised{
		{Language: "java", Type: "Throws$PayException", Message: "no money: € 12", Function: "Throws.pay(int)", File: "Throws.java", Line: 13},
		{Language: "java", Type: "java.io.IOException", Message: "bank is closed", Function: "Throws.bank()", File: "Throws.java", Line: 7, Relation: "cause"},
	}
	if slices.Equal(mode, []string{"traced"}) { // Java's own list has no parameters
		want[0].Function = r.Crash.Raised[0].Function
	}
	if !slices.Equal(r.Crash.Raised, want) {
		t.Errorf("got %+v, want %+v", r.Crash.Raised, want)
	}
}

// TestFull: where the virtual machine ended the program because its heap is full, and that it says so.
func TestFull(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		t.Run(filepath.Base(home), func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			_ = fixture.Dies(dir, filepath.Join(home, "bin/java"), "-Xmx64m", "-XX:+CrashOnOutOfMemoryError", "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+CreateCoredumpOnCrash", "-cp", javac(t, home, "testdata/Full.java"), "Full").Run()
			target, err := corewalk.Open(ctx, fixture.CoreIn(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(r.Threads[0].Frames, func(f report.Frame) bool { return f.Function == "VMError::report_and_die" }) {
				t.Skip("this JDK is not installed with symbols, as Debian's openjdk-17-jdk-headless is")
			}
			f := r.Threads[0].Frames[*r.Crash.Frame]
			if want := "fatal error: OutOfMemory encountered: Java heap space"; r.Crash.Reason != want || r.Crash.Kind != report.CrashOutOfMemory {
				t.Errorf("%s (%s), want %s", r.Crash.Reason, r.Crash.Kind, want)
			}
			if f.Function != "Full.fill()" || f.Source.Line != 8 {
				t.Errorf("it points to %s, line %d", f.Function, f.Source.Line)
			}
		})
	}
}
