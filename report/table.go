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
	right, widths := make([]bool, len(heads)), make([]int, len(heads))
	all := make([][]string, 0, 1+len(rows))
	add := func(row []string, clean func(string) string) {
		cells := make([]string, len(heads))
		for i := range row[:min(len(row), len(heads))] {
			cells[i] = clean(row[i])
			widths[i] = max(widths[i], width(cells[i]))
		}
		all = append(all, cells)
	}
	for i, h := range heads {
		right[i] = strings.HasPrefix(h, ">")
	}
	add(heads, func(h string) string { return strings.TrimPrefix(h, ">") })
	for _, row := range rows {
		add(row, clean)
	}
	lines := make([]string, 0, len(all))
	var b strings.Builder
	for _, cells := range all {
		b.Reset()
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
