package dwarfvars_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// The figures of docs/parity.md, and the list of all differences of docs/reference/differences.md, stand between two
// markers each, and are written by this test: with -update, those of the fixtures; with -matrix as well, those of the
// programs that are built.

// writeFigures brings the pages up to date, or fails when they are not.
func writeFigures(t *testing.T, fixtures, built *figures) {
	t.Helper()
	writeBlocks(t, "docs/parity.md", "figures", fixtures.render(), built.render())
	writeBlocks(t, "docs/reference/differences.md", "differences", bySubject(fixtures.differences()), byVariable(built.differences()))
}

func writeBlocks(t *testing.T, name, what, ofFixtures, ofBuilt string) {
	t.Helper()
	path := filepath.Join(fixture.Root(t), name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	page = replaceBlock(t, name, page, what+" of the fixtures", "gdb "+gdbVersion(t), ofFixtures)
	if *matrix {
		page = replaceBlock(t, name, page, what+" of the built programs", toolVersions(t), ofBuilt)
	}
	if page == string(data) {
		t.Logf("%s: current", path)
		return
	}
	if !*update {
		t.Errorf("%s is not current: make parity writes it, COREWALK_LONG=1 go test ./dwarfvars -run TestGDBParity -update the part on the fixtures", path)
		return
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: written", path)
}

// replaceBlock puts a text between the markers of a page. Without -update, one that
// is of other tools stays: it cannot be judged here.
func replaceBlock(t *testing.T, name, page, what, tools, text string) string {
	t.Helper()
	begin, end := "<!-- "+what+" -->\n", "<!-- end of "+what+" -->"
	head, rest, ok := strings.Cut(page, begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the %s", name, what)
	}
	by := "\nWith " + tools + ".\n\n"
	if !*update && !strings.HasPrefix(old, by) {
		t.Logf("the %s in %s are not of %s: not compared", what, name, tools)
		return page
	}
	return head + begin + by + text + "\n" + end + tail
}

// toolVersions names what built the programs.
func toolVersions(t *testing.T) string {
	t.Helper()
	versions := []string{"gdb " + gdbVersion(t)}
	for _, tool := range [][]string{{"gcc", "-dumpfullversion"}, {"clang-19", "-dumpversion"}, {"rustc", "--version"}, {"go", "env", "GOVERSION"}} {
		out, err := exec.Command(tool[0], tool[1:]...).Output()
		version := strings.Fields(strings.TrimPrefix(string(out), "rustc "))
		if err != nil || len(version) == 0 {
			version = []string{"not installed"}
		}
		versions = append(versions, strings.TrimSuffix(tool[0], "-19")+" "+strings.TrimPrefix(version[0], "go"))
	}
	return strings.Join(versions, ", ")
}

// total is that of all groups.
func (f *figures) total() *parity {
	total := newParity()
	for _, p := range f.groups {
		total.add(p)
	}
	return total
}

func (f *figures) differences() []difference { return f.total().differences }

// render writes the figures: totals, a row for each group, and the causes.
func (f *figures) render() string {
	total := f.total()
	agree, all := total.agreeing()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d variables agree (%s); %d differ for a known cause, %d for none. %d of corewalk's "+
		"values are proved. corewalk lists %d variables that gdb does not.\n\n", agree, all, percent(agree, all),
		all-agree-total.unexplained, total.unexplained, total.proved, total.verdicts[moreThanGDB])
	fmt.Fprintf(&b, "In the frames of the threads that died, %d of %d variables have a value in corewalk (%s), %d in gdb (%s), %d of which "+
		"are wrong.\n\n", total.crash.ours, total.crash.all, percent(total.crash.ours, total.crash.all),
		total.crash.gdb, percent(total.crash.gdb, total.crash.all), total.crash.gdbWrong)
	if total.every != total.crash {
		fmt.Fprintf(&b, "In the frames of all threads: %d of %d in corewalk (%s), %d in gdb (%s), %d of which are wrong.\n\n", total.every.ours,
			total.every.all, percent(total.every.ours, total.every.all), total.every.gdb, percent(total.every.gdb, total.every.all), total.every.gdbWrong)
	}
	b.WriteString("| program | agree | proved | frames | corewalk has a value | gdb has a value | gdb's wrong values |\n|---|---|---|---|---|---|---|\n")
	for _, name := range slices.SortedFunc(maps.Keys(f.groups), othersLast) {
		p := f.groups[name]
		agree, all := p.agreeing()
		fmt.Fprintf(&b, "| %s | %d of %d | %d | %d | %s | %s | %d |\n", strings.TrimPrefix(name, "built-"), agree, all, p.proved, p.frames,
			percent(p.crash.ours, p.crash.all), percent(p.crash.gdb, p.crash.all), p.crash.gdbWrong)
	}
	b.WriteString("\n| verdict | variables |\n|---|---|\n")
	for _, verdict := range slices.Sorted(maps.Keys(total.verdicts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", verdict, total.verdicts[verdict])
	}
	return b.String()
}

func othersLast(a, b string) int {
	if (a == otherFixtures) != (b == otherFixtures) {
		if a == otherFixtures {
			return 1
		}
		return -1
	}
	return strings.Compare(a, b)
}

// bySubject lists differences by cause, and of each cause by fixture.
func bySubject(differences []difference) string {
	causes := map[string]map[string][]string{}
	for _, d := range differences {
		if causes[d.verdict] == nil {
			causes[d.verdict] = map[string][]string{}
		}
		subject := strings.TrimPrefix(d.subject(), "amd64-")
		causes[d.verdict][subject] = append(causes[d.verdict][subject], "`"+d.variable()+"`")
	}
	var b strings.Builder
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&b, "- %s\n", cause)
		for _, subject := range slices.Sorted(maps.Keys(causes[cause])) {
			names := causes[cause][subject]
			slices.Sort(names)
			fmt.Fprintf(&b, "  - %s: %s\n", subject, strings.Join(names, ", "))
		}
	}
	return b.String()
}

// byVariable lists differences by cause, each variable with the number of programs
// in which it differs.
func byVariable(differences []difference) string {
	causes := map[string]map[string]int{}
	for _, d := range differences {
		if causes[d.verdict] == nil {
			causes[d.verdict] = map[string]int{}
		}
		_, language, _ := strings.Cut(d.subject(), "built-")
		language, _, _ = strings.Cut(language, "-")
		causes[d.verdict][language+": `"+d.variable()+"`"]++
	}
	var b strings.Builder
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&b, "- %s\n", cause)
		last := ""
		for _, name := range slices.Sorted(maps.Keys(causes[cause])) {
			language, variable, _ := strings.Cut(name, ": ")
			if language != last {
				if last != "" {
					b.WriteString("\n")
				}
				fmt.Fprintf(&b, "  - %s: ", language)
			} else {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s (%d)", variable, causes[cause][name])
			last = language
		}
		b.WriteString("\n")
	}
	return b.String()
}
