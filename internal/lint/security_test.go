package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that docs/security.md names as holding its promises exist, and so do those that other pages name.
func TestSecurityNamesTests(t *testing.T) {
	root := os.DirFS("../..")
	page, err := fs.ReadFile(root, "docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case !strings.HasSuffix(filepath.Base(path), "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`\bTest[A-Z]\w+`)
	pages, err := fs.Glob(root, "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	below, err := fs.Glob(root, "docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range append(append(pages, below...), "CONTRIBUTING.md", "README.md") {
		text, err := fs.ReadFile(root, other)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range test.FindAllString(string(text), -1) {
			if !have[name] {
				t.Errorf("%s: there is no test %s", other, name)
			}
		}
	}
	names := regexp.MustCompile(`\bTest\w+`).FindAllString(string(page), -1)
	for _, name := range names {
		if !have[name] {
			t.Errorf("there is no test %s", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d tests are named", len(names))
	}
}
