package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A target that works, one that finds an error, one that tries nothing, and a package that does not compile: each is said, and none hides another.
func TestRunAll(t *testing.T) {
	fixture.Long(t)
	t.Chdir("testdata")
	targets, err := list([]string{"./good", "./broken"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := options{time: time.Second / 10, parts: 1, target: regexp.MustCompile(""), cache: t.TempDir(), stdout: &out, stderr: &out}
	err = o.runAll(targets)
	if err == nil {
		t.Fatalf("no error: %s", out.String())
	}
	for _, want := range []string{"FuzzWrong", "seven", "FuzzSkips tried no input of its own", "broken does not compile"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "FuzzFine") {
		t.Errorf("%v", err)
	}
	if !regexp.MustCompile(`(?m)^ *[1-9]\d* +\d+ +\d+ +\S*good FuzzFine$`).MatchString(out.String()) || !strings.Contains(out.String(), "3 targets tried") {
		t.Errorf("%s", out.String())
	}
}

// Every fuzz function of the module is found, and each is in exactly one part.
func TestList(t *testing.T) {
	all, err := list([]string{"../../..."})
	if err != nil || len(all) < 90 {
		t.Fatalf("%d targets, %v", len(all), err)
	}
	for _, x := range all {
		if !filepath.IsAbs(x.dir) || !strings.HasPrefix(x.name, "Fuzz") {
			t.Errorf("%+v", x)
		}
	}
}

func TestFigures(t *testing.T) {
	out := "fuzz: elapsed: 0s, gathering baseline coverage: 0/2 completed\nfuzz: elapsed: 3s, execs: 325 (108/sec), new interesting: 1 (total: 3)\n" +
		"fuzz: elapsed: 6s, execs: 912 (195/sec), new interesting: 4 (total: 6)\nPASS\n"
	if a, b, c := figures(out); a != 912 || b != 4 || c != 6 {
		t.Error(a, b, c)
	}
	if a, b, c := figures("PASS\n"); a != 0 || b != 0 || c != 0 {
		t.Error(a, b, c)
	}
}
