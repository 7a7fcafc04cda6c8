package service_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The table of requests in docs/service.md has those paths of the service by which people read, decide and administer, and no other.
func TestPathsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("service.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "service.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## The interface\n")
	table, _, _ = strings.Cut(table, "\n## ")
	place := regexp.MustCompile(`\{[^}]*\}|\b[A-Z]+\b`) // {id} there, ID here
	have := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([A-Z]+) " \+ project \+ "([^"]+)": *\{store\.Scope(Read|Triage|Admin),`).FindAllStringSubmatch(string(source), -1) {
		have[m[1]+" "+place.ReplaceAllString(m[2], "*")] = true
	}
	// Symbolicator's clients find theirs where it says how to send dumps.
	delete(have, "POST /minidump")
	delete(have, "GET /requests/*")
	said := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		method := ""
		for _, m := range regexp.MustCompile("`(?:(GET|POST|PUT|DELETE) )?(/[^`?]*)").FindAllStringSubmatch(cells[1], -1) {
			if m[1] != "" {
				method = m[1]
			}
			said[method+" "+place.ReplaceAllString(m[2], "*")] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(have)); !slices.Equal(got, want) || len(want) < 15 {
		t.Errorf("docs/service.md has\n%s\nthe service\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
