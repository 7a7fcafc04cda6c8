package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/report"
)

// patience is how long unpacking takes before anything is shown. pace is how often the
// line changes.
const (
	patience = time.Second
	pace     = 100 * time.Millisecond
)

// barWidth is the width of a bar, in columns.
const barWidth = 32

// progress shows the progress of long work on one line of a terminal: a bar, if the amount
// of work is known, and a text. (Packages that draw bars compile regular expressions at the
// start of every run.)
type progress struct {
	out   io.Writer // a terminal
	start time.Time
	last  time.Time // when the line last changed
	total int64     // bytes of the compressed file; 0 if not known

	mu    sync.Mutex
	line  string
	shown bool
	drawn time.Time
	later *time.Timer // draws what came too soon after a change; nil if nothing did
}

// report is called with the numbers of bytes of a compressed core that were read and
// written so far.
func (p *progress) report(in, out int64) {
	now := time.Now()
	if now.Sub(p.start) < patience || now.Sub(p.last) < pace {
		return
	}
	p.last = now
	text := fmt.Sprintf("unpacking: %s read, %s so far", megabytes(in), megabytes(out))
	if p.total > 0 {
		text = fmt.Sprintf("unpacking: %d%% of %s, %s so far", 100*min(in, p.total)/p.total, megabytes(p.total), megabytes(out))
	}
	p.show(text, in, p.total)
}

// show changes the line. Without a total (0) it shows no bar.
func (p *progress) show(text string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = report.Clean(text) // names of files are from dumps
	if total > 0 {
		full := int(barWidth * float64(min(max(done, 0), total)) / float64(total))
		p.line = "[" + strings.Repeat("#", full) + strings.Repeat(" ", barWidth-full) + "] " + p.line
	}
	p.shown = true
	switch wait := pace - time.Since(p.drawn); {
	case wait <= 0:
		p.draw()
	case p.later == nil:
		p.later = time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.later = nil; p.shown {
				p.draw()
			}
		})
	}
}

// eraseLine goes back to the start of the line and erases it.
const eraseLine = "\r\x1b[K"

// draw writes the line, no longer than the terminal is wide: of two lines only the last would be erased.
func (p *progress) draw() {
	line := []rune(p.line)
	if f, ok := p.out.(*os.File); ok {
		if n := terminalColumns(f); n > 0 && len(line) >= n {
			line = line[:n-1]
		}
	}
	_, _ = io.WriteString(p.out, eraseLine+string(line))
	p.drawn = time.Now()
}

// done removes the line from the screen.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.drawn.IsZero() {
		_, _ = io.WriteString(p.out, eraseLine)
	}
	p.shown = false
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
