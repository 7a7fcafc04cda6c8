package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A table is one of Markdown. Its rows begin with the name of a workload.
type table struct {
	name string // of its place on the page
	head []string
	rows [][]string
}

func (t *table) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "| %s |\n|%s\n", strings.Join(t.head, " | "), strings.Repeat("---|", len(t.head)))
	for _, r := range t.rows {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(r, " | "))
	}
	return s.String()
}

// ratioTable says how many times as much the peers took as corewalk's second run: wall time,
// and in parentheses processor time.
func ratioTable(all []measured) *table {
	columns := slices.DeleteFunc(slices.Clone(order), func(name string) bool {
		return name == second || name == emptyC || name == emptyGo || !slices.ContainsFunc(all, func(m measured) bool { return m.find(name) != nil })
	})
	t := &table{name: "ratios", head: append([]string{"workload", "stacks", second}, columns...)}
	for _, m := range all {
		ours := m.find(second)
		if ours == nil || ours.failed != "" {
			continue
		}
		row := []string{m.workload.name + ": " + m.workload.title, kilobytes(m.stacks),
			fmt.Sprintf("%s (%s), %s", length(ours.median(wall)), length(ours.median(cpu)), memory(ours.median(peak)))}
		for _, c := range columns {
			row = append(row, ratio(m.find(c), ours))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (m *measured) find(name string) *result {
	for i := range m.results {
		if m.results[i].tool == name {
			return &m.results[i]
		}
	}
	return nil
}

func ratio(r, to *result) string {
	switch {
	case r == nil:
		return ""
	case r.failed != "":
		return "fails"
	}
	return fmt.Sprintf("%s (%s)", times(r.median(wall)/to.median(wall)), times(r.median(cpu)/to.median(cpu)))
}

// figureTable has everything that was measured.
func figureTable(all []measured) *table {
	t := &table{name: "figures", head: []string{"workload", "command", "wall", "least", "processor", "least", "memory", "runs"}}
	for _, m := range all {
		for _, name := range order {
			r := m.find(name)
			switch {
			case r == nil:
			case r.failed != "":
				t.rows = append(t.rows, []string{m.workload.name, name, "fails", "", "", "", "", ""})
			default:
				t.rows = append(t.rows, []string{m.workload.name, name, length(r.median(wall)), length(r.least(wall)),
					length(r.median(cpu)), length(r.least(cpu)), memory(r.median(peak)), fmt.Sprint(len(r.samples))})
			}
		}
	}
	return t
}

// length writes a time with two or three digits.
func length(v float64) string {
	d := time.Duration(v)
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func memory(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// kilobytes writes a number of bytes that is not known if it is 0.
func kilobytes(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}

// times writes a ratio with two digits.
func times(v float64) string {
	if v < 0.095 {
		return fmt.Sprintf("×%.2f", v)
	}
	if v < 9.95 {
		return fmt.Sprintf("×%.1f", v)
	}
	return fmt.Sprintf("×%.0f", v)
}

// updatePage replaces the tables of a page, each between two comments with its name. Rows of
// workloads that were not measured stay.
func updatePage(page string, tables ...*table) (string, error) {
	for _, t := range tables {
		begin, end := "<!-- bench-peers: "+t.name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(page, begin)
		old, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return "", fmt.Errorf("it has no place for a table: %q and %q", begin, end)
		}
		merged, err := t.merge(old)
		if err != nil {
			return "", err
		}
		page = before + begin + "\n" + merged.String() + "\n" + end + after
	}
	return page, nil
}

// merge returns t with the rows of an older table for workloads that t does not have.
func (t *table) merge(old string) (*table, error) {
	m := &table{name: t.name, head: t.head, rows: slices.Clone(t.rows)}
	lines := strings.Split(strings.TrimSpace(old), "\n")
	if len(lines) < 3 {
		return m, nil
	}
	kept := 0
	for _, line := range lines[2:] {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if slices.ContainsFunc(t.rows, func(r []string) bool { return workloadOf(r) == workloadOf(cells) }) {
			continue
		}
		m.rows = append(m.rows, cells)
		kept++
	}
	if head := strings.Join(m.head, " | "); kept > 0 && lines[0] != "| "+head+" |" {
		return nil, fmt.Errorf("the table %q has other columns: measure all workloads", t.name)
	}
	slices.SortStableFunc(m.rows, func(a, b []string) int { return strings.Compare(workloadOf(a), workloadOf(b)) })
	return m, nil
}

// workloadOf returns the name of a row's workload.
func workloadOf(row []string) string {
	name, _, _ := strings.Cut(row[0], ":")
	return name
}
