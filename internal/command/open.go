package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/pack"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/files/scratch"
)

// open opens the core named on the command line; "-" is standard input.
func (e env) open(o operands, opts []corewalk.Option) (*corewalk.Target, error) {
	p, q := &progress{start: time.Now()}, &progress{start: time.Now(), total: sizeOf(o.binary)}
	if f, ok := e.stderr.(*os.File); ok && isTerminal(f) {
		p.out, q.out = f, f
		opts = append(opts, corewalk.WithCoreOptions(corestate.Progress(p.report)), corewalk.WithUnpackProgress(func(in, out int64) {
			p.done()
			q.report(in, out)
		}))
	}
	defer p.done()
	defer q.done()
	if o.core == "-" {
		in := e.stdin
		if size, ok := regularSize(in); ok {
			p.total = size // reading does not wait, and a file that is not compressed is mapped
		} else {
			in = interruptible(e.ctx, in)
		}
		return corewalk.OpenReader(e.ctx, in, "-", opts...)
	}
	p.total = sizeOf(o.core)
	if isPack(o.core) {
		e.removeAtSignals()
	}
	return corewalk.Open(e.ctx, o.core, opts...)
}

// removeAtSignals has what is unpacked of a pack removed where signals end the program, until it ends. The first Ctrl-C ends the
// analysis, which removes it; the second ends the program.
func (e env) removeAtSignals() {
	if e.catch == nil {
		return
	}
	e.catchInterrupts()
	atSignals.Do(removeAtSignals)
}

var atSignals sync.Once

func removeAtSignals() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s := <-signals
		if s == os.Interrupt {
			s = <-signals
		}
		scratch.RemoveAll()
		signal.Reset(s)
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
			time.Sleep(time.Second) // the signal ends the program, as others see
		}
		os.Exit(exitNothing)
	}()
}

// isPack reports whether the file at path begins as a pack does.
func isPack(path string) bool {
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := beginning(f)
	return pack.Sniff(head)
}

// sizeOf returns the size of the file at path in bytes; 0 if it is not known.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// regularSize returns the size of a stream that is a regular file, in bytes.
func regularSize(r io.Reader) (int64, bool) {
	f, ok := r.(*os.File)
	if !ok {
		return 0, false
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return 0, false
	}
	return st.Size(), true
}

// interruptible is r, but reading ends when ctx is done, even while r waits for data.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	return out
}

// failOpen reports a core that could not be opened, with advice if the error has none.
func (e env) failOpen(err error) int {
	advice := ""
	switch {
	case errors.Is(err, context.Canceled) && !errors.Is(context.Cause(e.ctx), context.Canceled):
		return e.fail(fmt.Errorf("stopped before anything of the core could be analysed: %w", context.Cause(e.ctx)))
	case errors.Is(err, context.Canceled):
		return e.fail(errors.New("interrupted before anything of the core could be analysed"))
	case errors.Is(err, mmapfile.ErrNotRegular):
		advice = ": give the core itself, or - for standard input"
	case errors.Is(err, fs.ErrNotExist):
		advice = ": /proc/sys/kernel/core_pattern says where cores are written; with systemd, coredumpctl has them"
	case errors.Is(err, fs.ErrPermission):
		advice = ": only the user whose process died, and root, can read a core"
	}
	return e.fail(fmt.Errorf("%w%s", err, advice))
}
