package gtcmalloc

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

var update = flag.Bool("update", false, "write the layouts of the releases in COREWALK_GTCMALLOC into layouts.txt")

// The table has the layouts that debugging information has.
func TestTable(t *testing.T) {
	columns := map[string]layout{}
	for _, dir := range heaptest.GoogleReleases() {
		core, _ := heaptest.Program{Threads: 1, Rounds: 300, Flags: heaptest.Google(dir)}.Crash(t)
		p := heaptest.OpenDescribed(t, core)
		code, _, _ := p.SymbolNamed(beginner)
		static, ok := p.TypeOfUnit(code, className)
		if !ok {
			t.Fatal(dir, "has no debugging information")
		}
		l, sizes := described(static.Defined()), map[string]uint64{}
		for _, name := range variables {
			if l.Has(name) {
				sizes[name] = l.Layout[name]
			}
		}
		columns[filepath.Base(dir)] = l
		if *update {
			continue
		}
		if !slices.ContainsFunc(known(sizes), func(k layout) bool { return k.text() == l.text() }) {
			t.Errorf("%s: the table does not have\n%s", dir, l.text())
		}
	}
	if *update {
		if err := os.WriteFile("layouts.txt", []byte(table(columns)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// names are those of all entries, in order.
func names() (all []string) {
	for line := range strings.Lines(wanted) {
		if f := strings.Fields(line); len(f) > 2 {
			all = append(all, f[0])
		}
	}
	return append(all, variables[:]...)
}

// text has the entries of a layout, one a line.
func (l layout) text() string {
	var b strings.Builder
	for _, name := range names() {
		if v, ok := l.Layout[name]; ok {
			fmt.Fprintln(&b, name, v)
		}
	}
	return b.String()
}

// table has layouts in columns by their names; of those that are the same the oldest.
func table(columns map[string]layout) string {
	var dates []string
	seen := map[string]bool{}
	for _, date := range slices.Sorted(maps.Keys(columns)) {
		if text := columns[date].text(); !seen[text] {
			seen[text] = true
			dates = append(dates, date)
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# Where commits of these dates have what, with pages of 8 KiB, as -update writes it. describe.go says what an entry is.")
	fmt.Fprintln(&b, "field", strings.Join(dates, " "))
	for _, name := range names() {
		b.WriteString(name)
		for _, date := range dates {
			if v, ok := columns[date].Layout[name]; ok {
				fmt.Fprintf(&b, " %d", v)
			} else {
				b.WriteString(" -")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
