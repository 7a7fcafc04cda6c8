package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// patience is how long unpacking goes on before anything is shown, and pace how
// often what is shown changes.
const (
	patience = time.Second
	pace     = 100 * time.Millisecond
)

// progress shows how far a compressed core has been read, on one line of a
// terminal.
//
// It is a line of our own because the progress bar packages there are link a
// terminal library or more, which every start of the program would pay for.
type progress struct {
	out   io.Writer // a terminal
	start time.Time
	last  time.Time // when the line was written
	total int64     // bytes of the compressed file; 0 when not known
	width int       // of the line now shown
}

// report is called with the bytes read and written so far.
func (p *progress) report(in, out int64) {
	now := time.Now()
	if now.Sub(p.start) < patience || now.Sub(p.last) < pace {
		return
	}
	p.last = now
	line := fmt.Sprintf("unpacking: %s read, %s so far", megabytes(in), megabytes(out))
	if p.total > 0 {
		line = fmt.Sprintf("unpacking: %d%% of %s, %s so far", 100*min(in, p.total)/p.total, megabytes(p.total), megabytes(out))
	}
	p.show(line)
}

// done takes the line off the screen.
func (p *progress) done() {
	if p.width > 0 {
		p.show("")
		fmt.Fprint(p.out, "\r")
	}
}

func (p *progress) show(line string) {
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
