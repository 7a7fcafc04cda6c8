package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/live/corecheck"
	"github.com/corewalk/corewalk/report"
)

// writeCore writes the core of a process.
func (f *liveFlags) writeCore(e env, t *corewalk.Target) int {
	// As the kernel's: a core contains the secrets of the process.
	file, err := os.OpenFile(f.core, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return e.fail(err)
	}
	if st, err := file.Stat(); err != nil || !st.Mode().IsRegular() {
		file.Close()
		return e.fail(fmt.Errorf("--core %s: not a regular file; a core has holes, and cannot be written to a pipe or a device", f.core))
	}
	w, err := t.WriteCore(file, corewalk.CoreOptions{})
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(f.core)
		return e.fail(err)
	}
	status := exitComplete
	if n := len(w.Lost); n > 0 {
		e.say("%d threads could not be stopped and are not in the core: %v", n, w.Lost)
		status = exitIncomplete
	}
	if w.Unreadable > 0 {
		e.say("%s of memory could not be read: the core has zeros there", report.Size(w.Unreadable))
	}
	_, err = fmt.Fprintf(e.stdout, "%s: %s, %s of it on disk\n", report.Clean(f.core), report.Size(w.Size), report.Size(w.Written))
	return e.written(err, status)
}

// checkParity compares a process with its core.
func (f *liveFlags) checkParity(e env, t *corewalk.Target, o wanted, opts []corewalk.Option) int {
	r, err := corecheck.Check(e.ctx, t, corecheck.Options{Threads: o.Threads, MaxFrames: o.MaxFrames, Open: opts})
	if err != nil {
		return e.fail(err)
	}
	for _, d := range r.Differences {
		if _, err := fmt.Fprintln(e.stdout, d); err != nil {
			return e.written(err, exitNothing)
		}
	}
	if r.Core.LeftOut > 0 {
		e.say("%s of the process's memory were left out of its core; %d variables that lead there are not compared", report.Size(r.Core.LeftOut), r.Unread)
	}
	n := len(r.Differences) + r.More
	_, err = fmt.Fprintf(e.stdout, "%d threads, %d frames, %d registers, %d variables: %d differences\n", r.Threads, r.Frames, r.Registers, r.Variables, n)
	if n > 0 {
		return e.written(err, exitNothing)
	}
	return e.written(err, exitComplete)
}
