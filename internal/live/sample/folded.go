package sample

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteFolded writes one line for each different stack: its functions from the thread's first to the youngest,
// separated by semicolons, a space, and how often the stack was seen. Lines are sorted. The error is w's.
func (p *Profile) WriteFolded(w io.Writer) error {
	counts := map[string]int{}
	for i := range p.kept {
		m := &p.kept[i]
		names := m.names()
		for j, n := range names {
			names[j] = strings.ReplaceAll(n, ";", ":")
		}
		counts[strings.Join(names, ";")] += m.count
	}
	lines := make([]string, 0, len(counts))
	for l := range counts {
		lines = append(lines, l)
	}
	slices.Sort(lines)
	out := bufio.NewWriter(w)
	for _, l := range lines {
		fmt.Fprintf(out, "%s %d\n", l, counts[l])
	}
	return out.Flush()
}
