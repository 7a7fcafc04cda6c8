package handle

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The table of keys in docs/handle.md has every key, and the defaults are those of the policy without a file.
func TestPolicyIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs", "handle.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Policy\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var said Policy
	set := said.setters()
	word := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		keys, values := word.FindAllStringSubmatch(cells[1], -1), word.FindAllStringSubmatch(cells[2], -1)
		for i, m := range keys {
			f := set[m[1]]
			if delete(set, m[1]); f == nil {
				t.Errorf("there is no key %s", m[1])
			} else if i < len(values) {
				if err := f(values[i][1]); err != nil {
					t.Errorf("%s: %v", m[1], err)
				}
			} else if other := strings.TrimSpace(cells[2]); other != "all" && other != "none" { // lists that are empty
				t.Errorf("%s: the default %q is no value", m[1], other)
			}
		}
	}
	for key := range set {
		t.Errorf("docs/handle.md does not tell of %s", key)
	}
	if want := Default(); !reflect.DeepEqual(said, want) {
		t.Errorf("the page says %+v, the policy is %+v", said, want)
	}
}
