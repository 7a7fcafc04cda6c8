package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

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

// progress shows the progress of long work on one line of a terminal: a text and, if
// the amount of work is known, a bar.
type progress struct {
	out   io.Writer // a terminal
	start time.Time
	last  time.Time // when the line last changed
	total int64     // bytes of the compressed file; 0 if not known

	mu    sync.Mutex
	text  string
	bars  *mpb.Progress // nil while nothing is shown
	bar   *mpb.Bar
	drawn bool // a bar is shown, not only text
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
	p.text = report.Clean(text) // names of files are from dumps
	p.mu.Unlock()
	if p.bars != nil && p.drawn != (total > 0) {
		p.done()
	}
	if p.bars == nil {
		p.begin(total)
	}
	if p.drawn {
		p.bar.SetTotal(total, false)
		p.bar.SetCurrent(min(done, total-1)) // a bar that is full ends
	}
}

func (p *progress) begin(total int64) {
	style := mpb.NopStyle()
	if p.drawn = total > 0; p.drawn {
		style = mpb.BarStyle().Lbound("[").Filler("#").Tip("#").Padding(" ").Rbound("]")
	}
	p.bars = mpb.New(mpb.WithOutput(p.out), mpb.WithRefreshRate(pace), mpb.WithAutoRefresh())
	p.bar = p.bars.New(total, style, mpb.BarWidth(barWidth), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.text
	})))
}

// done removes the line from the screen.
func (p *progress) done() {
	if p.bars == nil {
		return
	}
	p.bar.Abort(true)
	p.bars.Wait()
	p.bars = nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
