package report

import (
	"bufio"
	"io"
	"strings"
)

// A style is an SGR parameter of ECMA-48; empty for plain text.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// A lineWriter writes text line by line and tracks the column. It holds white space back until something
// follows, so that no line ends in white space.
type lineWriter struct {
	w     *bufio.Writer // keeps its first error, which Flush returns
	color bool
	width int // columns available
	col   int // columns written, including space held back
	space int // columns of space held back

	fits bool  // no line is wider than width: each is laid out when it ends
	runs []run // of the line, if it has to fit
}

// A run is text in one style, after some columns of space.
type run struct {
	space int
	st    style
	text  string
}

// minWidth is the least width that text is laid out for, in columns.
const minWidth = 40

func newLineWriter(w io.Writer, opts TextOptions) *lineWriter {
	width := opts.Width
	if width == 0 {
		width = 100
	}
	return &lineWriter{w: bufio.NewWriterSize(w, 32<<10), color: opts.Color, width: max(width, minWidth), fits: opts.Width > 0 && !opts.Wide}
}

// put writes s in a style. It cleans what its callers, which have to know the width, have not cleaned: nothing reaches
// a terminal past put.
func (l *lineWriter) put(st style, s string) {
	s = clean(s)
	text := strings.TrimLeft(s, " ")
	l.gap(len(s) - len(text))
	s = strings.TrimRight(text, " ")
	if s != "" {
		if r := (run{l.space, st, s}); l.fits {
			l.runs = append(l.runs, r)
		} else {
			l.write(r)
		}
		l.space = 0
		l.col += width(s)
	}
	l.gap(len(text) - len(s))
}

// write writes a run.
func (l *lineWriter) write(r run) {
	for range r.space {
		l.w.WriteByte(' ')
	}
	if l.color && r.st != plain {
		l.w.WriteString("\x1b[")
		l.w.WriteString(string(r.st))
		l.w.WriteByte('m')
		l.w.WriteString(r.text)
		l.w.WriteString("\x1b[0m")
	} else {
		l.w.WriteString(r.text)
	}
}

// gap moves n columns to the right.
func (l *lineWriter) gap(n int) {
	l.col += n
	l.space += n
}

// right moves the column so that n more columns end at the right edge, by at least two columns.
func (l *lineWriter) right(n int) {
	l.gap(max(2, l.width-n-l.col))
}

// end ends the line.
func (l *lineWriter) end() {
	if len(l.runs) > 0 {
		l.fit()
	}
	l.w.WriteByte('\n')
	l.col, l.space = 0, 0
}

// line writes a whole line.
func (l *lineWriter) line(st style, s string) {
	l.put(st, s)
	l.end()
}

// wrap writes the clean string s from the current column, broken between words to fit the width, and ends the
// line. Further lines are indented by indent columns.
func (l *lineWriter) wrap(st style, indent int, s string) {
	first := true
	for word := range strings.SplitSeq(s, " ") {
		if word == "" {
			continue
		}
		if !first {
			if l.col+1+width(word) > l.width {
				l.end()
				l.gap(indent)
			} else {
				l.gap(1)
			}
		}
		first = false
		l.put(st, word)
	}
	l.end()
}
