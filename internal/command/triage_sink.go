package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/render"
	"github.com/corewalk/corewalk/report"
)

// A triageSink prints what happens during a run.
type triageSink struct {
	env   env
	bar   *counter
	lines io.Writer // dumps are written here as lines of JSON; may be nil
	each  io.Writer // and here as lines of text; may be nil
	soon  bool      // the run goes on: what happens is told at once
	notes []string
	err   error // of writing
}

// Dump implements triage.Sink.
func (s *triageSink) Dump(d ledger.Dump, known bool) {
	if s.lines != nil && s.err == nil {
		s.err = render.WriteDump(s.lines, &d, known)
	}
	if s.each != nil && s.err == nil {
		_, s.err = s.each.Write([]byte(dumpLine(&d, known))) // not WriteString: only Write flushes
	}
}

// Trouble implements triage.Sink.
func (s *triageSink) Trouble(err error) {
	if s.soon {
		s.env.say("%s", report.Clean(err.Error()))
	}
	const most = 100
	if len(s.notes) < most {
		s.notes = append(s.notes, err.Error())
	}
}

// Progress implements triage.Sink.
func (s *triageSink) Progress(done, found int, all bool) {
	if !s.soon {
		s.bar.show(done, found, all)
	}
}

// dumpLine says what came of a dump.
func dumpLine(d *ledger.Dump, known bool) string {
	line := d.Path + ": "
	switch {
	case d.Fault != "":
		line += d.Fault
	default:
		line += d.Program + ": " + d.Reason
		if d.Where != "" {
			line += ", " + d.Where
		}
		if len(d.Group) > 6 {
			line += "  " + d.Group[:6]
		}
	}
	if known {
		line += " (seen before)"
	}
	return report.Clean(line) + "\n"
}

// A counter shows the progress of a run: on one line of a terminal that changes, or
// else as a line every few seconds.
type counter struct {
	progress progress
	out      io.Writer
	terminal bool
}

// often is how often a counter writes a line if there is no terminal.
const often = 10 * time.Second

func newCounter(e env) *counter {
	now := time.Now()
	return &counter{progress: progress{out: e.stderr, start: now, last: now}, out: e.stderr, terminal: isTerminal(e.stderr)}
}

func (c *counter) show(done, found int, all bool) {
	p := &c.progress
	now := time.Now()
	of := fmt.Sprintf("%d and more", found)
	share := ""
	if all && found > 0 {
		of, share = fmt.Sprint(found), fmt.Sprintf("%3d%%", 100*done/found)
	}
	rate := float64(done) / now.Sub(p.start).Seconds()
	switch {
	case c.terminal && now.Sub(p.last) >= pace:
		p.last = now
		total := int64(0)
		if all {
			total = int64(found)
		}
		p.show(fmt.Sprintf("%s %d of %s dumps, %.0f a second", share, done, of, rate), int64(done), total)
	case !c.terminal && now.Sub(p.last) >= often:
		p.last = now
		fmt.Fprintf(c.out, "corewalk: %d of %s dumps, %.0f a second\n", done, of, rate)
	}
}

// done removes the line from the screen.
func (c *counter) done() {
	if c.terminal {
		c.progress.done()
	}
}

// An outFile is the file for the result, which is either complete or not there, or
// standard output.
type outFile struct {
	*bufio.Writer
	file *os.File // nil for standard output
	path string   // where it is moved when it is complete; "" if it is there
}

func (f *ledgerFlags) create(e env) (*outFile, error) {
	if f.output == "" || f.output == "-" {
		return &outFile{Writer: bufio.NewWriter(e.stdout)}, nil
	}
	if special(f.output) {
		file, err := os.OpenFile(f.output, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &outFile{Writer: bufio.NewWriter(file), file: file}, nil
	}
	file, err := os.Create(f.output + ".part")
	if err != nil {
		return nil, err
	}
	return &outFile{bufio.NewWriter(file), file, f.output}, nil
}

// Write implements io.Writer. On standard output each line is written at once.
func (o *outFile) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err == nil && o.file == nil {
		err = o.Flush()
	}
	return n, err
}

func (o *outFile) close() error {
	err := o.Flush()
	if o.file == nil {
		return err
	}
	if cerr := o.file.Close(); err == nil {
		err = cerr
	}
	if o.path == "" {
		return err
	}
	if err == nil {
		return os.Rename(o.file.Name(), o.path)
	}
	os.Remove(o.file.Name())
	return err
}
