package report

import (
	"slices"
	"strings"
)

// A table is rows of clean strings under heads. A head that begins with > is of a
// column of numbers, aligned to the right. It is printed without borders, so that
// line tools can take it apart.
//
// It is laid out here because columns are all it needs: the table packages there
// are cost each start of the program, also of one that prints no table, as much
// as a whole report.
type table struct {
	heads []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// dropEmpty removes the columns that are empty in every row.
func (t *table) dropEmpty() {
	var keep []int
	for i := range t.heads {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return i < len(row) && row[i] != "" }) {
			keep = append(keep, i)
		}
	}
	pick := func(all []string) []string {
		some := make([]string, 0, len(keep))
		for _, i := range keep {
			some = append(some, all[i])
		}
		return some
	}
	t.heads = pick(t.heads)
	for i, row := range t.rows {
		t.rows[i] = pick(row)
	}
}

// write writes the table with its heads, indented by two columns; nothing if it has no rows.
func (t *table) write(l *lineWriter) {
	if len(t.rows) == 0 {
		return
	}
	heads, numbers, widths := t.layout()
	t.line(l, bold, heads, numbers, widths)
	for _, row := range t.rows {
		t.line(l, plain, row, numbers, widths)
	}
}

// layout returns the heads as printed, which columns hold numbers, and the width of each column.
func (t *table) layout() (heads []string, numbers []bool, widths []int) {
	heads, numbers, widths = make([]string, len(t.heads)), make([]bool, len(t.heads)), make([]int, len(t.heads))
	for i, h := range t.heads {
		heads[i] = strings.TrimPrefix(h, ">")
		numbers[i] = heads[i] != h
		widths[i] = width(heads[i])
		for _, row := range t.rows {
			if i < len(row) {
				widths[i] = max(widths[i], width(row[i]))
			}
		}
	}
	return heads, numbers, widths
}

func (t *table) line(l *lineWriter, st style, cells []string, numbers []bool, widths []int) {
	var b strings.Builder
	for i, cell := range cells[:min(len(cells), len(widths))] {
		pad := strings.Repeat(" ", widths[i]-width(cell))
		if numbers[i] {
			cell, pad = pad+cell, ""
		}
		b.WriteString("  ")
		b.WriteString(cell)
		b.WriteString(pad)
	}
	l.put(st, strings.TrimRight(b.String(), " "))
	l.end()
}
