package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const architecturesPage = "../../docs/architectures.md"

var (
	// testLink matches a link to a test: file, test, and the fixture after a slash.
	testLink = regexp.MustCompile(`\]\(([^)#]+_test\.go)#(Test\w+)(?:/([\w.-]+))?\)`)
	anyLink  = regexp.MustCompile(`\]\([^)]*\)`)
	// archName matches the names of architectures in unwind/arch: literals, and the first argument of the
	// functions that build families.
	archName = regexp.MustCompile(`(?m)(?:^\s*Name:\s*|^\s*(?:var )?\w+\s*= \w+\()"([a-z0-9-]+)"`)
)

// Every cell of the page's tables is "-" or links to tests that exist.
func TestArchitecturesLinks(t *testing.T) {
	page, err := os.ReadFile(architecturesPage)
	if err != nil {
		t.Fatal(err)
	}
	if links, tests := anyLink.FindAllString(string(page), -1), testLink.FindAllString(string(page), -1); len(links) != len(tests) || len(tests) < 50 {
		t.Errorf("only %d links found, %d of them to tests", len(links), len(tests))
	}
	for _, m := range testLink.FindAllStringSubmatch(string(page), -1) {
		file, test, fixture := filepath.Join("../../docs", m[1]), m[2], m[3]
		source, err := os.ReadFile(file)
		switch {
		case err != nil:
			t.Errorf("%s: %v", m[0], err)
		case !strings.Contains(string(source), "func "+test+"(t *testing.T)"):
			t.Errorf("%s: no test %s", m[1], test)
		}
		if fixture == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join("../../testdata/cores", fixture, "case.json")); err != nil {
			t.Errorf("%s: no fixture %s", m[0], fixture)
		}
	}
}

// Every architecture whose cores are decoded has a line.
func TestArchitecturesHaveLines(t *testing.T) {
	page, err := os.ReadFile(architecturesPage)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../unwind/arch/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range archName.FindAllStringSubmatch(string(source), -1) {
			n++
			if !strings.Contains(string(page), "\n| "+m[1]+" | ") {
				t.Errorf("%s: no line for %s", filepath.Base(architecturesPage), m[1])
			}
		}
	}
	if n < 22 {
		t.Errorf("only %d architectures found in unwind/arch", n)
	}
}
