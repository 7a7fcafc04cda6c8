package report

import (
	"io"
	"slices"
	"strings"
)

// A table is rows of clean strings under heads. A head that begins with > belongs to a
// column of numbers, aligned to the right. It is printed without borders, so that line
// tools can take it apart.
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
	st := bold
	for _, line := range columns(t.heads, t.rows) {
		l.put(st, "  "+line)
		l.end()
		st = plain
	}
}

// WriteColumns writes rows of text under heads, in columns two spaces apart, without
// borders. A head that begins with > belongs to a column of numbers, aligned to the
// right. What Clean escapes is escaped.
func WriteColumns(w io.Writer, heads []string, rows [][]string) error {
	_, err := io.WriteString(w, strings.Join(columns(heads, rows), "\n")+"\n")
	return err
}

// columns lays a table out: a line for the heads and one for each row.
func columns(heads []string, rows [][]string) []string {
	all := make([][]string, 0, 1+len(rows))
	first, right, width := make([]string, len(heads)), make([]bool, len(heads)), make([]int, len(heads))
	for i, h := range heads {
		first[i] = strings.TrimPrefix(h, ">")
		right[i] = first[i] != h
	}
	all = append(all, first)
	for _, row := range rows {
		cells := make([]string, len(heads))
		for i := range row[:min(len(row), len(heads))] {
			cells[i] = clean(row[i])
		}
		all = append(all, cells)
	}
	for _, row := range all {
		for i, cell := range row {
			width[i] = max(width[i], terminal.StringWidth(cell))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		for i, cell := range row {
			if right[i] {
				row[i] = terminal.FillLeft(cell, width[i])
			} else {
				row[i] = terminal.FillRight(cell, width[i])
			}
		}
		lines[n] = strings.TrimRight(strings.Join(row, "  "), " ")
	}
	return lines
}
