// Package corewalk opens a dump of a process, or a running process, walks its stacks and
// reports why it died or what it is doing. It combines the packages beside it: states
// of processes (corestate, livestate), steppers, symbols (symlookup), variables
// (dwarfvars) and the files of modules (modules).
//
// Open reads a core or a minidump; Attach and Launch trace a running process; Self copies
// the calling goroutine. Each returns a Target. Its ProcessState is what a Walker walks,
// NewWalker makes a Walker with the default steppers and symbols, Analyze makes the whole
// report, and Facts answer single questions in a report's words.
package corewalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/files/jitmaps"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/symlookup"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A Target is an opened dump or a running process. Several goroutines may use it at the
// same time.
//
// The dump and the files of its modules are mapped, not copied. If another process
// truncates one of them, Open, Analyze and Moment fail with ErrChanged, and Info warns. A
// program that reads the Target's memory or walks its stacks itself should do so inside
// Guard.
type Target struct {
	subject subject.Subject
	images  *modules.Set
	lookup  *symlookup.Lookup
	made    *jitmaps.Maps // of code that the process made
	path    string        // or another name, for messages

	libWarnings []string

	unpacked *scratch.Dir // of an unpacked pack; nil for none

	files []modules.Option // where files of modules are; see WithFilesOf

	reads, found *corestate.Reads // ForSlim: what was read so far, and by the time the modules were known

	lateMu       sync.Mutex
	lateWarnings []report.Warning // found while the target was in use
}

// Open opens the core or minidump at path, compressed or not, and finds the files of its
// modules; or the dump and the files in a pack, as WritePack writes them, which are unpacked into a temporary
// directory until Close. The error says what is wrong with the file and what to do. When ctx is done,
// unpacking stops, and no more files are fetched for the Target.
//
// If the file is a dump whose stacks cannot be walked (its architecture is not supported,
// or it has no threads), Open returns both a Target and an error: Info still lists what
// is in the dump.
func Open(ctx context.Context, path string, opts ...Option) (*Target, error) {
	cfg := newConfig(opts)
	s, err := subject.OpenDump(ctx, path, cfg.core...)
	if s == nil && isPack(path) {
		return openPack(ctx, path, cfg)
	}
	return openDump(ctx, s, err, path, cfg)
}

// OpenReader is like Open for a dump that is read from a stream. name is the dump's name
// in messages and reports. An *os.File at the beginning of a regular file that is not
// compressed is mapped, not read.
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

// open finds the libraries of a subject and their files. It closes the subject if it
// fails.
func open(ctx context.Context, s subject.Subject, name string, cfg *config) (*Target, error) {
	files := cfg.files
	if a := s.Arch(); a != nil { // a damaged minidump's is not known
		files = append(files, modules.WithMachine(a.Name))
		if note := s.Said(slimnote.TypeKept); note != nil {
			files = append(files, modules.WithSaid(note, a.ByteOrder, a.WordSize))
		}
	}
	set, err := modules.New(ctx, s.DumpMemory(), files...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	t := &Target{subject: s, path: name, images: set, files: cfg.files}
	fault := t.guard(func() {
		var table *libstate.Table
		table, t.libWarnings = s.BuildLibraries(t.images)
		table.SetLate(t.mayBeJIT, t.jitLibraries)
		s.SetBacking(t.images)
		t.made = t.madeCode(cfg.reads != nil)
		how := []symlookup.Option{symlookup.WithRelocated(s.Arch(), s.DumpMemory()), symlookup.WithMadeCode(t.made)}
		if cfg.reads != nil {
			how = append(how, symlookup.Recording())
		}
		t.lookup = symlookup.New(s.LibraryTracker(), t.images, how...)
	})
	if fault != nil {
		return nil, errors.Join(fault, t.Close())
	}
	if t.reads = cfg.reads; t.reads != nil {
		t.found = t.reads.Clone()
	}
	return t, nil
}

// ErrChanged means that a mapped file became shorter while it was being read.
var ErrChanged = mmapfile.ErrChanged

// Guard calls fn. If fn reads bytes of a mapped file that another process has truncated,
// Guard returns an error that wraps ErrChanged; without it, the program would crash. It
// guards only the calling goroutine.
func Guard(fn func()) error { return mmapfile.Guard(fn) }

// guard is like Guard, with the dump's path and advice in the error.
func (t *Target) guard(fn func()) error {
	if err := mmapfile.Guard(fn); err != nil {
		return t.changed(err)
	}
	return nil
}

func (t *Target) changed(err error) error {
	return fmt.Errorf("%s: another process truncated the dump or the file of a module: wait until it is written, or copy it first (%w)", t.path, err)
}

// Close releases the dump and the files, removes what was unpacked of a pack, and detaches from a running process. Do not use
// anything that came from the Target afterwards.
func (t *Target) Close() error {
	return errors.Join(t.images.Close(), t.subject.Close(), t.unpacked.Remove())
}

// CloseAtExit is Close for a program that ends next. It keeps what is to be kept between runs, and detaches from a running
// process, but leaves what is mapped to the end of the program, which releases it all at once, in less time.
func (t *Target) CloseAtExit() error {
	t.images.Keep()
	return errors.Join(t.subject.CloseAtExit(), t.unpacked.Remove())
}

// ProcessState returns the process: as the dump has it, or as it runs.
func (t *Target) ProcessState() unwind.ProcessState { return t.subject }

// ProcessStateByPID returns the ProcessState if pid is the process's id. There is no
// table of all Targets: several may have the same pid.
func (t *Target) ProcessStateByPID(pid int) (unwind.ProcessState, bool) {
	if pid != t.subject.ProcessID() {
		return nil, false
	}
	return t.ProcessState(), true
}

// Core returns the core, for callers who need more than a ProcessState offers; nil if the
// Target is not a core.
func (t *Target) Core() *corestate.ELFCore { return t.subject.Core() }

// Minidump returns the minidump, for callers who need more than a ProcessState offers;
// nil if the Target is not a minidump.
func (t *Target) Minidump() *corestate.Minidump { return t.subject.Minidump() }

// Live returns the traced process, for callers who need more than a ProcessState offers;
// nil if the Target is a dump or the calling program.
func (t *Target) Live() *livestate.Process { return t.subject.Live() }

// Identity yields bytes that tell a dump from others of the same size, without reading all of it: a core's notes or a
// minidump's streams, and the registers and the top of the stack of the thread that crashed. Each slice is valid
// until the next one.
func (t *Target) Identity() iter.Seq[[]byte] { return subject.Identity(t.subject) }

// Died returns the thread that the process died in; false if nothing says that it died.
func (t *Target) Died() (unwind.ThreadID, bool) {
	if s := subject.Signal(t.subject, t.subject); s != nil {
		return unwind.ThreadID(s.TID), true
	}
	if e := t.subject.Exception(); e != nil {
		return unwind.ThreadID(e.TID), true
	}
	return unwind.NullThread, false
}

// ThreadName returns the name of a thread; "" if not known.
func (t *Target) ThreadName(id unwind.ThreadID) string { return t.subject.ThreadName(id) }

// MappingAt returns the mapping that contains an address, whether the dump has its memory or not.
func (t *Target) MappingAt(addr unwind.Address) (libstate.Mapping, bool) {
	return t.subject.MappingAt(addr)
}

// SymbolLookup returns the default lookup, which uses DWARF and symbol tables.
func (t *Target) SymbolLookup() unwind.SymbolLookup { return t.lookup }

// NewWalker returns a Walker of the process with the default steppers and symbols.
// Options replace or add to them: unwind.WithGroup replaces the group and its steppers.
//
// The Walker of a running process stops a thread while it walks the thread's stack.
func (t *Target) NewWalker(opts ...unwind.Option) (*unwind.Walker, error) {
	return t.newWalker(t.subject, opts)
}

func (t *Target) newWalker(proc unwind.ProcessState, opts []unwind.Option) (*unwind.Walker, error) {
	return t.newWalkerBy(proc, walkingSteppers(t.processOf(proc)), opts)
}

// processOf returns the process with all its modules, as runtimes need it.
func (t *Target) processOf(proc unwind.ProcessState) func() *tasks.Process {
	return func() *tasks.Process {
		p := &tasks.Process{State: proc, Files: t.images, Symbols: t.lookup, Names: t.lookup}
		if libs := proc.LibraryTracker(); libs != nil {
			p.Modules, _ = libs.Libraries(false)
		}
		return p
	}
}

// newWalkerBy is newWalker with steppers for code of languages.
func (t *Target) newWalkerBy(proc unwind.ProcessState, languages []unwind.FrameStepper, opts []unwind.Option) (*unwind.Walker, error) {
	group, err := steppers.DefaultGroup(proc.Arch(), t.images)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	for _, s := range languages {
		if err := group.RegisterStepper(s); err != nil {
			return nil, fmt.Errorf("%s: %w", t.path, err)
		}
	}
	defaults := []unwind.Option{unwind.WithGroup(group), unwind.WithSymbolLookup(t.lookup), unwind.WithSymbolReader(t.lookup)}
	return unwind.NewWalker(proc, append(defaults, opts...)...)
}

// NewWalker returns a Walker of the caller's own process, with the caller's own group and
// lookup. Without a group, the Walker has no steppers; without a lookup, frames have no
// names.
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

// SourceFile returns the source file at a path that the debug information of the library at an address records. It may
// fetch. The error wraps fs.ErrNotExist if there is none.
func (t *Target) SourceFile(addr unwind.Address, path string) (*modules.SourceFile, error) {
	if libs := t.subject.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(addr); ok {
			return t.images.SourceFile(lib, path)
		}
	}
	return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}
