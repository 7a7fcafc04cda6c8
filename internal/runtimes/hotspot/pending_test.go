package hotspot_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestPending has a native method throw an exception that has a cause, and abort before Java sees it.
func TestPending(t *testing.T) {
	fixture.Long(t)
	for _, home := range homes(t) {
		for _, option := range []string{"-XX:+UseCompressedOops", "-XX:-UseCompressedOops"} {
			t.Run(filepath.Base(home)+option, func(t *testing.T) {
				dir := t.TempDir()
				src := filepath.Join(fixture.Root(t), "testdata/src/java")
				run := func(name string, args ...string) {
					if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
						t.Skipf("%s: %v: %s", name, err, out)
					}
				}
				run(filepath.Join(home, "bin/javac"), "-g", "-d", dir, filepath.Join(src, "Throws.java"))
				lib := filepath.Join(dir, "libthrows.so")
				run("gcc", "-shared", "-fPIC", "-I"+home+"/include", "-I"+home+"/include/linux", "-o", lib, filepath.Join(src, "throws.c"))
				_ = fixture.Dies(dir, filepath.Join(home, "bin/java"), "-Xmx64m", option, "-cp", dir, "Throws", lib).Run()
				ctx := context.Background()
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
					{Language: "java", Type: "Throws$PayException", Message: "no money: € 12"},
					{Language: "java", Type: "java.io.IOException", Message: "bank is closed", Relation: "cause"},
				}
				if !slices.Equal(r.Crash.Raised, want) {
					t.Errorf("got %+v, want %+v", r.Crash.Raised, want)
				}
			})
		}
	}
}
