package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The pages that say which programs there are name those of cmd, which a release has.
func TestPrograms(t *testing.T) {
	root := fixture.Root(t)
	dirs, err := os.ReadDir(filepath.Join(root, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, d := range dirs {
		made = append(made, d.Name())
	}
	if !slices.Equal(made, programs) {
		t.Errorf("cmd has %q, a release %q", made, programs)
	}
	counts := map[int]string{1: "one", 2: "two", 3: "three", 4: "four"}
	for page, passage := range map[string]string{
		"README.md":                `(?s)## Install it\n.*?\n## `,
		"Makefile":                 `# build .*`,
		"docs/fleet.md":            `(?s)## Two programs\n.*?\n## `,
		"docs/architecture.md":     `(?s)\n 9 .*?\n 8 `,
		"internal/release/main.go": `(?s)// Command release .*?\npackage`,
	} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		said := regexp.MustCompile(passage).FindString(string(text))
		for _, name := range made {
			if !regexp.MustCompile(`\b` + name + `([^-\w]|$)`).MatchString(said) {
				t.Errorf("%s does not name %s: %q", page, name, said)
			}
		}
	}
	other := regexp.MustCompile(`(?i)\b(both|one|two|three|four) programs\b`)
	for _, page := range []string{"README.md", "Makefile", "CONTRIBUTING.md", "docs/crash.md", "docs/service.md", "docs/fleet.md", "docs/architecture.md", "internal/command/main.go"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range other.FindAllStringSubmatch(string(text), -1) {
			if strings.ToLower(m[1]) != counts[len(made)] {
				t.Errorf("%s: %q, and there are %d", page, m[0], len(made))
			}
		}
	}
}
