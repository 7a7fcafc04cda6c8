package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

const sample = "internal/mutants/testdata/sample"

// trySample tests the mutants of testdata/sample with these reasons.
func trySample(t *testing.T, o options, text string) ([]verdict, string, error) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	o.reasons = reasonsOf(t, text)
	var out bytes.Buffer
	o.stdout, o.stderr = &out, &out
	list, err := o.pkg(root, target{dir: sample})
	return list, out.String(), err
}

func reasonsOf(t *testing.T, text string) *reasons {
	t.Helper()
	name := filepath.Join(t.TempDir(), "reasons")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := readReasons(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSample: of a small package all mutants are known, and which of them survive.
func TestSample(t *testing.T) {
	twice := sample + "\tTwice\tplus1\tfunc Twice(n int) int { return «2» * n }"
	list, out, err := trySample(t, options{jobs: 1}, "= Nobody asks.\n"+twice+"\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list {
		if v := &list[i]; v.Verdict != killed {
			got = append(got, strings.Join([]string{v.Func, v.Kind, v.Source, v.Verdict, v.Reason}, " | "))
		}
	}
	want := []string{
		"Twice | plus1 | func Twice(n int) int { return «2» * n } | not reached | Nobody asks.",
		"Name | true | return name, !«loud» || len(name) > 0 | survived | ",
		"Name | plus1 | return name, !loud || len(name) > «0» | survived | ",
	}
	if len(list) != 39 || !slices.Equal(got, want) {
		t.Errorf("%d mutants, of which these survive:\n%s", len(list), strings.Join(got, "\n"))
	}
	for _, want := range []string{
		"39 of 39 mutants: 36 killed, 0 timed out, 1 survived with a reason, 2 without (5.1 %)",
		"- return name, !loud || len(name) > 0\n+ return name, !loud || len(name) > (0 + 1)\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// TestPartOfSample: a sample depends on nothing but its seed; a bound on time ends it.
func TestPartOfSample(t *testing.T) {
	fixture.Long(t)
	o := options{jobs: 1, sample: 5, seed: 3, quiet: true}
	one, _, err := trySample(t, o, "")
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := trySample(t, o, "")
	if err != nil || len(one) != 5 || !slices.Equal(one, two) {
		t.Errorf("%v, %v, %v", one, two, err)
	}
	none, _, err := trySample(t, options{jobs: 1, bound: time.Nanosecond}, "")
	if err != nil || len(none) > 1 {
		t.Errorf("%d mutants tested without time, %v", len(none), err)
	}
}

// TestStaleReasons: a reason for what is not there any more is an error, and one for a
// mutant that a test kills is reported.
func TestStaleReasons(t *testing.T) {
	fixture.Long(t)
	gone := sample + "\tTwice\tplus1\treturn «3» * n"
	if _, _, err := trySample(t, options{jobs: 1, sample: 1}, "= Gone.\n"+gone+"\n"); err == nil || !strings.Contains(err.Error(), "«3»") {
		t.Errorf("a reason for a mutant that there is not: %v", err)
	}
	killed := sample + "\tLevel\tplus1\treturn «High»"
	_, out, err := trySample(t, options{jobs: 1}, "= No.\n"+killed+"\n")
	if err != nil || !strings.Contains(out, "has a reason to survive, but is killed by TestLevel") {
		t.Errorf("a reason for a mutant that is killed: %v: %s", err, out)
	}
}

// TestReasonsOfOtherFiles: where only some files are tested, no reason of another file is missed.
func TestReasonsOfOtherFiles(t *testing.T) {
	one, two := &mutant{Dir: "p", File: "p/one.go", Func: "F"}, &mutant{Dir: "p", File: "p/two.go", Func: "G"}
	const text = "= Gone.\np\tF\ttrue\tx\np\tG\ttrue\tx\np\tH\ttrue\tx\nq\tF\ttrue\tx\n"
	for pattern, want := range map[string]string{"": "F G H", "one": "F", "^two": "G", "none": ""} {
		o := options{}
		if pattern != "" {
			o.files = regexp.MustCompile(pattern)
		}
		var got []string
		for _, key := range reasonsOf(t, text).stale("p", o.asked([]*mutant{one, two})) {
			got = append(got, strings.Split(key, "\t")[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q are missing, want %q", pattern, got, want)
		}
	}
}

func TestReadReasons(t *testing.T) {
	for text, want := range map[string]string{
		"a\tf\ttrue\tx\n":                           ":1: need a line",
		"= why\na\tf\ttrue\n":                       ":2: need directory",
		"# note\n\n= why\na\tf\tt\tx\na\tf\tt\tx\n": ":5: this mutant has a reason already",
	} {
		name := filepath.Join(t.TempDir(), "reasons")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readReasons(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestListsAreRead: the lists of this directory have no errors in them.
func TestListsAreRead(t *testing.T) {
	if _, err := readReasons("equivalent.txt"); err != nil {
		t.Error(err)
	}
	targets, err := readTargets("packages.txt")
	if err != nil || len(targets) == 0 {
		t.Fatalf("%d packages, %v", len(targets), err)
	}
	for _, target := range targets {
		for _, dir := range append([]further{{dir: target.dir}}, target.more...) {
			if files, _ := filepath.Glob(filepath.Join("..", "..", dir.dir, "*_test.go")); len(files) == 0 {
				t.Errorf("%s has no tests", dir.dir)
			}
		}
	}
}

func TestReadTargets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "packages")
	text := "# note\n\none\ntwo three:^TestA four:TestB/*\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readTargets(name)
	if err != nil || len(got) != 2 || got[0].dir != "one" || len(got[1].more) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if a, b := got[1].more[0], got[1].more[1]; a.dir != "three" || a.sub || !a.match.MatchString("TestAll") || a.match.MatchString("NotTestA") || !b.sub {
		t.Errorf("%+v", got[1].more)
	}
	for _, bad := range []string{"one two\n", "one two:(\n"} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readTargets(name); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestBatches: what a mutant makes no difference in is not run; the fast tests run first,
// and the subtests of one test in one go.
func TestBatches(t *testing.T) {
	a, b := &binary{path: "a"}, &binary{path: "b"}
	reach, not := []byte{0, 1}, []byte{0, 0}
	tests := []*test{
		{a, "TestSlow", time.Second, reach}, {a, "TestNot", 0, not}, {a, "TestFast", time.Millisecond, reach},
		{b, "TestOf/x.y", 2 * time.Millisecond, reach}, {a, "TestToo", 3 * time.Millisecond, reach}, {b, "TestOf/z", 4 * time.Millisecond, reach},
	}
	var got []string
	for _, run := range batches(tests, 1) {
		got = append(got, run[0].bin.path+" "+pattern(run))
	}
	want := []string{"a ^(TestFast|TestToo)$", `b ^TestOf$/^(x\.y|z)$`, "a ^(TestSlow)$"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLeftOut: mutants on lines that do not compile are left out, and no others.
func TestLeftOut(t *testing.T) {
	one, two := &mutant{File: "p/a.go", Line: 3, Kind: kindTrue}, &mutant{File: "p/a.go", Line: 4, Kind: kindFalse}
	s := &subject{mutants: []*mutant{one, two}, drop: map[string]bool{}}
	if s.dropBad([]byte("# p\nsomething else\n")) {
		t.Error("something was left out without an error")
	}
	if !s.dropBad([]byte("# p\np/a.go:3:7: cannot use x\n")) || !s.drop[one.key()] || s.drop[two.key()] {
		t.Errorf("left out: %v", s.drop)
	}
	if s.dropBad([]byte("p/a.go:3:7: cannot use x\n")) {
		t.Error("what was left out already counts again")
	}
}

// TestEndlessMutant: a test that does not end is ended, and what it started with it.
func TestEndlessMutant(t *testing.T) {
	script := filepath.Join(t.TempDir(), "endless")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'panic: test timed out after 1s'\nexit 2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &binary{script, t.TempDir()}
	if got, _ := try([]*test{{b, "TestX", 0, []byte{0, 1}}}, 1); got != timedOut {
		t.Error(got)
	}
	if got, _ := try([]*test{{b, "TestX", 0, []byte{0, 0}}}, 1); got != missed {
		t.Error(got)
	}
	if _, err := b.list(regexp.MustCompile("."), false); err == nil {
		t.Error("a binary that fails has tests")
	}
}
