package disasm

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "copy the packages of golang.org/x/arch again")

var (
	errorf  = regexp.MustCompile(`= fmt\.Errorf\(("[^"%]*")\)`)
	imports = regexp.MustCompile(`(?m)^import \(\n((?:\t".*"\n)*)`)
)

// TestCopies: ppc64asm and s390xasm are those of golang.org/x/arch, with errors.New in place of a package-level fmt.Errorf.
// With fmt.Errorf the compiler builds their tables by code, at each start of the program: docs/performance.md, "Start".
func TestCopies(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/arch").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skip("the source of golang.org/x/arch is not here: go mod download")
	}
	for _, from := range []string{"ppc64/ppc64asm", "s390x/s390xasm"} {
		for _, name := range []string{"decode.go", "field.go", "gnu.go", "inst.go", "tables.go"} {
			text, err := os.ReadFile(filepath.Join(dir, from, name))
			if err != nil {
				t.Fatal(err)
			}
			want := copied(string(text))
			path := filepath.Join(filepath.Base(from), name)
			if *update {
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s is not what golang.org/x/arch has: go test -run Copies -update ./internal/code/disasm", path)
			}
			if errorf.Match(got) {
				t.Errorf("%s has a package-level fmt.Errorf", path)
			}
		}
	}
}

// copied is the text of a file with errors.New in place of fmt.Errorf where nothing is formatted.
func copied(text string) string {
	changed := errorf.ReplaceAllString(text, "= errors.New($1)")
	if changed == text {
		return text
	}
	return imports.ReplaceAllStringFunc(changed, func(block string) string {
		return strings.Replace(block, "\t\"fmt\"\n", "\t\"errors\"\n\t\"fmt\"\n", 1)
	})
}
