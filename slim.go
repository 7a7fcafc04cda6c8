package corewalk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// SlimOptions say what WriteSlim writes.
type SlimOptions struct {
	// Redact blanks what is not needed to walk the stacks: strings, buffers and numbers in memory and
	// registers, the arguments and the environment. Bytes that are not zero become "x"; addresses of the
	// process and numbers from -4096 to 65535 stay. Of a minidump it also blanks or leaves out comments, annotations,
	// names of handles, streams that are not known, and the directories of paths outside those of the system.
	Redact bool
	// Reach is how many bytes of memory are kept that registers and stacks point to, besides what the report
	// reads; 0 for 1 MiB. With them, a later report can show variables for which there is no debug information yet.
	Reach uint64
}

// A SlimWritten describes a slim dump. Sizes are in bytes.
type SlimWritten struct {
	Size, Was uint64 // of the file, and of the dump that it was made of
	Notes     uint64 // of the notes, or of what a minidump has besides memory
	Kept      []SlimKept
	Blanked   SlimBlanked // zero without SlimOptions.Redact
	Dropped   []string    // names of the streams of a minidump that were not written
	Stays     string      // in words, what was not blanked in a redacted dump
}

// A SlimKept says how many bytes of memory were kept, and for which reason (Why, in words).
type SlimKept slim.Kept

// A SlimBlanked counts what was blanked in a redacted dump, and which words of the blanked memory were kept.
type SlimBlanked slim.Blanked

// ErrNotForSlim means that the Target was opened without ForSlim.
var ErrNotForSlim = errors.New("it was not recorded what is read (ForSlim)")

// defaultReach is SlimOptions.Reach by default.
const defaultReach = 1 << 20

// WriteSlim writes a core or a minidump with everything that says what happened, and the memory that reports and debuggers
// read: the report of it is the same, and so are the stacks. It makes the whole report to see what that reads.
// When ctx is done, that ends early, and the core has only the stacks and what was read by then.
//
// What was left out is in a note of the core, so that memory that the process had is still told from memory
// that it had not.
func (t *Target) WriteSlim(ctx context.Context, w io.Writer, o SlimOptions) (*SlimWritten, error) {
	if t.reads == nil {
		return nil, fmt.Errorf("%s: %w", t.path, ErrNotForSlim)
	}
	if o.Reach == 0 {
		o.Reach = defaultReach
	}
	walked := &corestate.Reads{}
	steps, rows := slim.Steps{Arch: t.subject.Arch()}, slim.Rows{Arch: t.subject.Arch()}
	walk := func() { t.walkAll(&steps, &rows) }
	if o.Redact {
		walked = t.reads.During(walk)
	} else {
		walk()
	}
	// What this reads is kept.
	if _, err := t.AnalyzeWith(ctx, FactsOptions{Explain: true}, AnalyzeOptions{Locals: LocalsAll, For: report.Whole{Trees: true},
		Include: Include{Source: 1, Code: true, Memory: true, Environment: EnvironmentAll, Details: true}}); err != nil {
		return nil, err
	}
	t.InfoWith(InfoOptions{})
	var out *slim.Written
	var err error
	fault := t.guard(func() {
		so := slim.Options{Redact: o.Redact, Found: t.found, Walked: walked, Steps: &steps, Module: func(a arch.Address) bool {
			_, ok := t.subject.LibraryTracker().LibraryAt(a)
			return ok
		}}
		so.Libraries, _ = t.subject.LibraryTracker().Libraries(false)
		for _, lib := range so.Libraries {
			if k := rows.Kept(lib, t.lookup.Asked(lib)); len(k.Symbols)+len(k.Rows) > 0 && lib.Kind != libstate.JIT && lib.Kind != libstate.VDSO {
				so.Kept = append(so.Kept, k)
			}
		}
		so.Made = t.made.Asked()
		out, err = t.subject.WriteSlim(w, t.reads, o.Reach, so)
	})
	if err = errors.Join(fault, err); err != nil {
		return nil, fmt.Errorf("%s: write slim dump: %w", t.path, err)
	}
	s := &SlimWritten{Size: out.Size, Was: out.Was, Notes: out.Notes, Blanked: SlimBlanked(out.Blanked), Dropped: out.Dropped, Stays: out.Stays}
	for _, k := range out.Kept {
		s.Kept = append(s.Kept, SlimKept(k))
	}
	return s, nil
}

// walkAll walks the stacks of all threads, and notes what their steps need of memory and of files.
func (t *Target) walkAll(steps *slim.Steps, rows *slim.Rows) {
	w, err := t.NewWalker()
	if err != nil {
		return
	}
	defer w.Close()
	ids, _ := w.ProcessState().ThreadIDs()
	_ = Guard(func() {
		for _, id := range ids {
			if s, _ := w.WalkStack(id); s != nil {
				steps.Add(s.Frames)
				rows.Add(s.Frames)
				for _, f := range s.Frames { // which functions they are
					if lib, ok := t.subject.LibraryTracker().LibraryAt(f.LookupAddr()); ok {
						t.lookup.SymbolAt(lib, f.LookupAddr())
					}
				}
			}
		}
	})
}

// SameStacks walks the stacks of all threads of two dumps, and returns the numbers of threads and frames. The error
// says where they differ first.
func SameStacks(a, b *Target) (threads, frames int, err error) {
	x, err := a.NewWalker()
	if err != nil {
		return 0, 0, err
	}
	defer x.Close()
	y, err := b.NewWalker()
	if err != nil {
		return 0, 0, err
	}
	defer y.Close()
	fault := Guard(func() { threads, frames, err = slim.Same(x, y) })
	return threads, frames, errors.Join(fault, err)
}
