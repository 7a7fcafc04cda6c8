// Package corewalk opens a dump of a process, or a running process, and says why it
// died or what it does: it brings the parts together that the packages below offer
// one by one.
//
// Open reads a core, Attach and Launch trace a running process; the Target has the process's state (a unwind.ProcessState),
// and makes Walkers with the default steppers and symbols. Analyze makes the
// whole report.
package corewalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"sync"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/unwind"
)

// A Target is an opened dump, or a running process. It may be used by several goroutines until it is
// closed.
//
// The dump and the files of its modules are mapped, not copied. Open, Analyze and
// Info answer ErrChanged when another process shortens one of them meanwhile; a
// program that reads memory or walks itself does so inside Guard.
type Target struct {
	subject subject.Subject
	images  *modules.Set
	lookup  *symlookup.Lookup
	path    string // or what else to call it

	libWarnings []string

	lateMu       sync.Mutex
	lateWarnings []report.Warning // found while the target was in use
}

// Open opens the core or minidump at path, compressed or not, and finds the files of its
// modules. The error says what is wrong with the file and what to do. Once ctx is done,
// a dump is not unpacked any further, and no more files are fetched for the Target.
//
// When the file is a dump that cannot be walked (of an architecture that is not
// known, or without threads), Open returns the Target together with the error:
// it still tells what is in the dump.
func Open(ctx context.Context, path string, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	s, err := subject.OpenDump(ctx, path, cfg.core...)
	return openDump(ctx, s, err, path, cfg)
}

// OpenReader is Open for a dump that comes as a stream. name is what to call it.
func OpenReader(ctx context.Context, r io.Reader, name string, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	s, err := subject.OpenDumpReader(ctx, r, name, cfg.core...)
	return openDump(ctx, s, err, name, cfg)
}

func openDump(ctx context.Context, s subject.Subject, err error, path string, cfg *config) (*Target, error) {
	if s == nil {
		return nil, err
	}
	if dir := filepath.Dir(path); path != "-" {
		cfg.files = append(cfg.files, modules.WithBeside(dir))
	}
	t, fault := open(ctx, s, path, cfg)
	if fault != nil {
		return nil, fault
	}
	return t, err
}

// open finds the libraries of a subject and their files. When it fails the subject
// is closed.
func open(ctx context.Context, s subject.Subject, name string, cfg *config) (*Target, error) {
	set, err := modules.New(ctx, s.DumpMemory(), cfg.files...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	t := &Target{subject: s, path: name, images: set}
	fault := t.guard(func() {
		var table *libstate.Table
		table, t.libWarnings = s.BuildLibraries(t.images)
		table.SetLate(t.mayBeJIT, t.jitLibraries)
		s.SetBacking(t.images)
		t.lookup = symlookup.New(s.LibraryTracker(), t.images, symlookup.WithRelocated(s.Arch(), s.DumpMemory()))
	})
	if fault != nil {
		return nil, errors.Join(fault, t.Close())
	}
	return t, nil
}

// ErrChanged says that a mapped file became shorter while it was read.
var ErrChanged = mmapfile.ErrChanged

// Guard calls fn and answers an error wrapping ErrChanged, instead of a crash of
// the whole program, when fn touched bytes of a mapped file that another process
// has cut off. Only the calling goroutine is guarded.
func Guard(fn func()) error { return mmapfile.Guard(fn) }

// guard is Guard with the dump's path and advice in the error.
func (t *Target) guard(fn func()) error {
	if err := mmapfile.Guard(fn); err != nil {
		return t.changed(err)
	}
	return nil
}

func (t *Target) changed(err error) error {
	return fmt.Errorf("%s: the dump, or a file of its modules, was cut short by another process: wait until it is written, or copy it first (%w)", t.path, err)
}

// Close releases the dump and the files. Nothing that came from the Target may be
// used after.
func (t *Target) Close() error { return errors.Join(t.images.Close(), t.subject.Close()) }

// ProcessState is the process: as the dump has it, or as it runs.
func (t *Target) ProcessState() unwind.ProcessState { return t.subject }

// ProcessStateByPID is ProcessState for a pid; false for a pid that is not the
// target's. There is no table of all targets: two of them may be of one pid.
func (t *Target) ProcessStateByPID(pid int) (unwind.ProcessState, bool) {
	if pid != t.subject.ProcessID() {
		return nil, false
	}
	return t.ProcessState(), true
}

// Core is the opened core, for what a ProcessState does not tell; nil for minidumps and
// running processes.
func (t *Target) Core() *corestate.ELFCore { return t.subject.Core() }

// Minidump is the opened minidump, for what a ProcessState does not tell; nil for
// cores and running processes.
func (t *Target) Minidump() *corestate.Minidump { return t.subject.Minidump() }

// Live is the traced process, for what a ProcessState does not tell; nil for dumps and
// this program itself.
func (t *Target) Live() *livestate.Process { return t.subject.Live() }

// Identity yields bytes that tell a dump from others of its size without reading it
// whole: a core's notes or a minidump's streams, and the registers and the top of the
// stack of the thread that crashed. A slice is valid until the next.
func (t *Target) Identity() iter.Seq[[]byte] { return subject.Identity(t.subject) }

// SymbolLookup is the default lookup, from DWARF and symbol tables.
func (t *Target) SymbolLookup() unwind.SymbolLookup { return t.lookup }

// NewWalker returns a walker over the target with the default steppers and
// symbols. Options replace or add to them: unwind.WithGroup replaces the group
// together with its steppers.
//
// The Walker of a running process stops the thread that it walks, and lets it go on
// after.
func (t *Target) NewWalker(opts ...unwind.Option) (*unwind.Walker, error) {
	return t.newWalker(t.subject, opts)
}

func (t *Target) newWalker(proc unwind.ProcessState, opts []unwind.Option) (*unwind.Walker, error) {
	group, err := steppers.DefaultGroup(proc.Arch(), t.images)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	defaults := []unwind.Option{unwind.WithGroup(group), unwind.WithSymbolLookup(t.lookup), unwind.WithSymbolReader(t.lookup)}
	return unwind.NewWalker(proc, append(defaults, opts...)...)
}

// NewWalker returns a walker over a process of the caller's own making, with a
// group and a lookup of the caller's own; nil for an empty group and no names.
func NewWalker(proc unwind.ProcessState, group unwind.StepperGroup, lookup unwind.SymbolLookup) (*unwind.Walker, error) {
	var opts []unwind.Option
	if group != nil {
		opts = append(opts, unwind.WithGroup(group))
	}
	if lookup != nil {
		opts = append(opts, unwind.WithSymbolLookup(lookup))
	}
	return unwind.NewWalker(proc, opts...)
}

// Version is the version of corewalk.
const Version = "0.1.0"
