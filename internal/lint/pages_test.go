package lint

import (
	"bytes"
	"flag"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "rewrite the rooms in docs/architecture.md")

// synopsis is the first sentence of a package's comment, without its name, up to where it goes into details.
func synopsis(t *testing.T, room string) string {
	files, err := filepath.Glob(filepath.Join("../..", room, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil {
			continue
		}
		text := new(doc.Package).Synopsis(f.Doc.Text())
		for _, end := range []string{": ", "; ", " (", ", the ", ", with "} {
			text, _, _ = strings.Cut(text, end)
		}
		if short, _, more := strings.Cut(text, ", "); more && len(strings.Fields(short)) > 5 {
			text = short
		}
		if words := strings.SplitN(strings.TrimSuffix(text, "."), " ", 3); len(words) == 3 {
			return words[2] // without "Package dwarf"
		}
	}
	return ""
}

// TestRoomsPage: the rooms in docs/architecture.md are those of the list, each with what its package says of itself.
func TestRoomsPage(t *testing.T) {
	const path, begin, end = "../../docs/architecture.md", "<!-- rooms -->\n", "<!-- end of rooms -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the rooms", path)
	}
	var b strings.Builder
	b.WriteString("```\n")
	before := 0
	list := slices.SortedFunc(maps.Keys(floors), func(a, b string) int {
		if d := floors[b] - floors[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, room := range list {
		number := "  "
		if floor := floors[room]; i == 0 || floor != before {
			number, before = fmt.Sprintf("%2d", floor), floor
		}
		name, what := room, synopsis(t, room)
		if room == "" {
			name = "(the root)"
		}
		if what == "" {
			t.Errorf("the comment of package %s does not say what it is", name)
		}
		fmt.Fprintf(&b, "%s  %-34s %s\n", number, name, what)
	}
	b.WriteString("```\n")
	switch {
	case b.String() == old:
	case *update:
		if err := os.WriteFile(path, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the rooms in %s are not those of the list: go test ./internal/lint -run TestRoomsPage -update writes them", path)
	}
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	heading   = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	linked    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	pageLink  = regexp.MustCompile(`\]\(([^)\s]+)\)|<img src="([^"]+)"`)
	pageNamed = regexp.MustCompile(`(?:^|[^\w/.-])(?:\./)?(docs/[\w/-]+\.(?:md|yaml|png))\b`)
	goNamed   = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)
)

// anchors are what the headings of a page can be linked by, as GitHub makes them.
func anchors(text string) map[string]bool {
	out, seen := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(linked.ReplaceAllString(m[1], "$1")) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		slug := b.String()
		if n := seen[slug]; n > 0 {
			out[fmt.Sprintf("%s-%d", slug, n)] = true
		}
		seen[slug]++
		out[slug] = true
	}
	return out
}

func TestAnchors(t *testing.T) {
	got := anchors("# A report: `corewalk --x`, twice\n```\n# no heading\n```\n## [Linked](a.md) it_self\n### Twice\n### Twice\n")
	want := []string{"a-report-corewalk---x-twice", "linked-it_self", "twice", "twice-1"}
	if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
}

// TestPageLinks: each link of a page of the repository leads to a file that exists, and to a heading or a function in it; and each page of docs
// that a source file, a script or another page names exists.
func TestPageLinks(t *testing.T) {
	root := "../.."
	links, names := 0, 0
	have := map[string]map[string]bool{}
	anchorsOf := func(path string) map[string]bool {
		if have[path] == nil {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			if have[path] = anchors(string(text)); strings.HasSuffix(path, ".go") {
				for _, m := range goNamed.FindAllStringSubmatch(string(text), -1) {
					have[path][m[1]] = true
				}
			}
		}
		return have[path]
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"cores", "recorded", "node_modules"}, d.Name())) {
			return filepath.SkipDir
		}
		ext := filepath.Ext(path)
		if d.IsDir() || !slices.Contains([]string{".md", ".go", ".sh", ".yaml", ".yml"}, ext) && d.Name() != "Makefile" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if d.Name() != "pages_test.go" {
			for line := range bytes.Lines(text) {
				if !bytes.Contains(line, []byte("docs/")) { // as nearly all: the expression takes a hundred times as long
					continue
				}
				for _, m := range pageNamed.FindAllSubmatch(line, -1) {
					name := string(m[1])
					names++
					if _, err := os.Stat(filepath.Join(root, name)); err != nil {
						t.Errorf("%s names %s, which does not exist", path, name)
					}
				}
			}
		}
		if ext != ".md" {
			return nil
		}
		for _, m := range pageLink.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			link := m[1] + m[2]
			if strings.Contains(link, "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(link, "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			anchor, _, _ = strings.Cut(anchor, "/") // a fixture of a test
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, link)
			} else if anchor != "" && !anchorsOf(to)[anchor] {
				t.Errorf("%s: the link %s: %s has no %s", path, link, to, anchor)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 200 || names < 40 {
		t.Errorf("only %d links and %d names of pages found", links, names)
	}
}
