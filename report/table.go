package report

import (
	"bytes"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A table is rows of clean strings under heads. A head that begins with > is of a
// column of numbers, aligned to the right. It is printed without borders, so that
// line tools can take it apart.
type table struct {
	heads []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table with its heads, indented by two columns; nothing when it
// has no rows.
func (t *table) write(l *lineWriter) error {
	if len(t.rows) == 0 {
		return nil
	}
	heads := make([]string, len(t.heads))
	align := make([]tw.Align, len(t.heads))
	for i, h := range t.heads {
		heads[i], align[i] = strings.TrimPrefix(h, ">"), tw.AlignLeft
		if heads[i] != h {
			align[i] = tw.AlignRight
		}
	}
	var out bytes.Buffer
	w := tablewriter.NewTable(&out, tablewriter.WithConfig(tableConfig(align)), tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
		Borders: tw.BorderNone,
		Symbols: tw.NewSymbols(tw.StyleNone),
		Settings: tw.Settings{
			Lines:      tw.LinesNone,
			Separators: tw.SeparatorsNone,
		},
	})))
	w.Header(heads)
	if err := w.Bulk(t.rows); err != nil {
		return err
	}
	if err := w.Render(); err != nil {
		return err
	}
	head := bold
	for s := range strings.Lines(out.String()) {
		l.gap(2)
		l.put(head, strings.TrimRight(s, "\n"))
		l.end()
		head = plain
	}
	return nil
}

func tableConfig(align []tw.Align) tablewriter.Config {
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: align},
		Padding:    tw.CellPadding{Global: tw.Padding{Left: tw.Empty, Right: "  ", Overwrite: true}},
	}
	return tablewriter.Config{Header: cell, Row: cell, Behavior: tw.Behavior{TrimSpace: tw.Off}}
}
