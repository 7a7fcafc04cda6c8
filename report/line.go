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

// A lineWriter writes text line by line and knows the column it is in. White
// space is held back until something follows, so that no line ends in it.
type lineWriter struct {
	w     *bufio.Writer // keeps the first error, which Flush returns
	color bool
	width int // columns to fit into
	col   int // columns written, held back space included
	space int // columns of space held back
}

func newLineWriter(w io.Writer, opts TextOptions) *lineWriter {
	width := opts.Width
	if width == 0 {
		width = 100
	}
	return &lineWriter{w: bufio.NewWriterSize(w, 32<<10), color: opts.Color, width: max(width, 40)}
}

// put writes s, which must be clean, in a style.
func (l *lineWriter) put(st style, s string) {
	text := strings.TrimLeft(s, " ")
	l.gap(len(s) - len(text))
	s = strings.TrimRight(text, " ")
	if s != "" {
		for range l.space {
			l.w.WriteByte(' ')
		}
		l.space = 0
		if l.color && st != plain {
			l.w.WriteString("\x1b[")
			l.w.WriteString(string(st))
			l.w.WriteByte('m')
			l.w.WriteString(s)
			l.w.WriteString("\x1b[0m")
		} else {
			l.w.WriteString(s)
		}
		l.col += width(s)
	}
	l.gap(len(text) - len(s))
}

// gap moves n columns to the right.
func (l *lineWriter) gap(n int) {
	l.col += n
	l.space += n
}

// right moves so that n columns more end at the right edge, but at least two.
func (l *lineWriter) right(n int) {
	l.gap(max(2, l.width-n-l.col))
}

// end ends the line.
func (l *lineWriter) end() {
	l.w.WriteByte('\n')
	l.col, l.space = 0, 0
}

// line writes a whole line.
func (l *lineWriter) line(st style, s string) {
	l.put(st, s)
	l.end()
}

// wrap writes the clean string s broken between words to fit the width; further
// lines begin at column indent. It goes on from where the line stands, and ends it.
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
