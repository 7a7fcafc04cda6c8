package report

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
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
	var b bytes.Buffer
	w := tablewriter.NewWriter(&b)
	w.SetAutoWrapText(false)
	w.SetBorder(false)
	w.SetHeaderLine(false)
	w.SetColumnSeparator("")
	w.SetCenterSeparator("")
	w.SetRowSeparator("")
	w.SetNoWhiteSpace(true)
	w.SetTablePadding("  ")
	align, first := make([]int, len(heads)), make([]string, len(heads))
	for i, h := range heads {
		first[i], align[i] = strings.TrimPrefix(h, ">"), tablewriter.ALIGN_LEFT
		if first[i] != h {
			align[i] = tablewriter.ALIGN_RIGHT
		}
	}
	w.SetColumnAlignment(align)
	w.Append(first) // a header of the package has one alignment for all columns
	for _, row := range rows {
		cells := make([]string, len(heads))
		for i := range row[:min(len(row), len(heads))] {
			cells[i] = clean(row[i])
		}
		w.Append(cells)
	}
	w.Render()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
