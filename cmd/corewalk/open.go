package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
)

// openCore opens the core named on the command line, "-" being standard input.
func openCore(path string, e env, opts []corewalk.Option) (*corewalk.Target, error) {
	p := &progress{out: e.stderr, start: time.Now()}
	if isTerminal(e.stderr) {
		opts = append(opts, corewalk.WithCoreOptions(corestate.Progress(p.report)))
	}
	defer p.done()
	if path == "-" {
		return corewalk.OpenReader(e.stdin, "-", opts...)
	}
	if st, err := os.Stat(path); err == nil {
		p.total = st.Size()
	}
	t, err := corewalk.Open(path, opts...)
	if err != nil && t == nil {
		return nil, err
	}
	return t, err
}

// patience is how long decompression goes on before a bar is shown.
const patience = time.Second

// progress shows how far a compressed core has been read.
type progress struct {
	out   any
	start time.Time
	total int64 // bytes of the compressed file; 0 when not known
	bar   *progressbar.ProgressBar
}

// report is called with the bytes read and written so far.
func (p *progress) report(in, _ int64) {
	if p.bar == nil {
		if time.Since(p.start) < patience {
			return
		}
		total := p.total
		if total == 0 {
			total = -1
		}
		f, ok := p.out.(*os.File)
		if !ok {
			return
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(f), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("decompressing"), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	p.bar.Set64(in)
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
		fmt.Fprint(p.out.(*os.File), "\r")
	}
}
