package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTable checks that a table shows every cell unchanged, in straight columns.
func TestTable(t *testing.T) {
	tab := table{heads: []string{"name", ">count", "TOTAL", "last"}}
	tab.add("a", "1", "", "x_y")
	tab.add(strings.Repeat("é", 150), "18446744073709551615", "same", "  in dented.Text  ")
	tab.add("", "", "same", strings.Repeat("w ", 300))
	tab.add("", "", "", "")
	tab.add("日本", "7", "{}|+-", "\\n")
	var out bytes.Buffer
	l := newLineWriter(&out, TextOptions{})
	tab.write(l)
	l.w.Flush()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(tab.rows)+1 {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, row := range tab.rows {
		line := lines[i+1]
		for _, cell := range row {
			if !strings.Contains(line, strings.TrimRight(cell, " ")) {
				t.Errorf("%q is not in %q", cell, line)
			}
		}
	}
	for i, col := range []int{2, 154, 176} { // where the first, the second (right edge) and the third column lie
		line := []rune(lines[2])
		if want := []string{"é", "1", "s"}[i]; string(line[col]) != want {
			t.Errorf("column %d has %q, want %q", col, line[col], want)
		}
	}
	if n := utf8.RuneCountInString(lines[0]); n != 2+150+2+20+2+5+2+4 {
		t.Errorf("the head has %d columns: %q", n, lines[0])
	}
}
