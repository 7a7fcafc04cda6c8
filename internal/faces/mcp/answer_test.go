package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// An answer has its size whatever its lines are: long, many, of characters that JSON writes as six.
func TestAnswerSize(t *testing.T) {
	for _, line := range []string{"", "short", strings.Repeat("x", 20_000), strings.Repeat("<", 3000), strings.Repeat("\x00", 3000), strings.Repeat("é", 9000), "\xff\xfe"} {
		for _, n := range []int{1, 2, 50, 5000} {
			a := &answer{head: strings.Repeat("head ", 2000), tail: strings.Repeat("tail ", 2000), from: 7, next: "from"}
			for range n {
				a.lines = append(a.lines, line)
			}
			text := a.text()
			b, _ := report.JSON(text, "")
			if len(b) > maxText+2 {
				t.Errorf("%d lines of %.10q: %d bytes", n, line, len(b))
			}
			shown := strings.Count(text, "\n") - 3
			if strings.Contains(text, "more: ") {
				shown -= 2
			}
			if n > 1000 && !strings.Contains(text, fmt.Sprintf("from = %d\n", 7+strings.Count(between(text), "\n"))) {
				t.Errorf("%d lines of %.10q: how to go on after %d is not said: %.200q", n, line, shown, text[len(text)-300:])
			}
		}
	}
	if got := (&answer{head: "none", tail: "at all"}).text(); got != "none\nat all" {
		t.Errorf("%q", got)
	}
}

// between returns the lines between the marks.
func between(text string) string {
	_, rest, _ := strings.Cut(text, "--- data ")
	_, rest, _ = strings.Cut(rest, "\n")
	lines, _, _ := strings.Cut(rest, "--- end ")
	return lines
}
