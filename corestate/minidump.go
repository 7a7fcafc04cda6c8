package corestate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Minidump is an open minidump, or a microdump in a log. Everything but
// BuildLibraries, SetBacking and Close may be used by several
// goroutines.
type Minidump struct {
	anyDump
	held // gives internal packages what else the file has
	file *minidump.File
	// wow64 is set for the 32-bit side of a process whose dump a 64-bit program wrote.
	wow64 bool

	threads []*minidump.Thread // as anyDump.ids
	// functions sorts the function tables of code made at run time, when first needed.
	functions func() *minidump.FunctionIndex
	mapped    bool // maps are all of the process's mappings, not only those in the dump
}

// newMinidump makes a Minidump without threads and mappings.
func newMinidump(f *minidump.File, a *arch.Arch) *Minidump {
	d := &Minidump{held: minidump.Hold(f), file: f}
	d.memory, d.size = d, len(f.Data)
	d.functions = sync.OnceValue(f.FunctionIndex)
	d.arch, d.wordSize, d.big = a, f.PCBits()/8, f.Big
	if a != nil {
		d.wordSize = a.WordSize
	}
	d.warnings = slices.Clone(f.Warnings)
	return d
}

type held = minidump.Held

var (
	_ unwind.ProcessState = (*Minidump)(nil)
	_ unwind.CodeMasker   = (*Minidump)(nil)
)

// isMinidump reports whether data is a minidump, or a log with a microdump near its
// beginning.
func isMinidump(data []byte) bool { return minidump.Sniff(data) || isMicrodump(data) }

func isMicrodump(data []byte) bool {
	return !bytes.HasPrefix(data, []byte("\x7fELF")) && minidump.SniffMicrodump(data)
}

// OpenMinidump opens a minidump or microdump, plain or compressed; "-" is standard
// input. As with Open, some errors come with a Minidump, which must be closed.
func OpenMinidump(ctx context.Context, path string, opts ...Option) (*Minidump, error) {
	f, fail := mapDump(ctx, path, newOptions(opts))
	if fail != nil {
		return nil, fail
	}
	return openMinidump(path, f)
}

// OpenMinidumpBytes opens a minidump or microdump in memory. data must not change. path is
// the dump's name in messages.
func OpenMinidumpBytes(path string, data []byte) (*Minidump, error) {
	return minidumpBytes(path, data, nil)
}

func openMinidump(path string, f mapped) (d *Minidump, err error) {
	fault := f.guarded(path, func(data []byte, closer func() error) { d, err = minidumpBytes(path, data, closer) })
	if fault != nil {
		return nil, fault
	}
	if d != nil {
		d.unpacked(f)
	}
	return d, err
}

// OpenDump opens a dump of either kind. At most one of the two dumps that it returns is
// not nil. See Open.
func OpenDump(ctx context.Context, path string, opts ...Option) (*ELFCore, *Minidump, error) {
	f, fail := mapDump(ctx, path, newOptions(opts))
	if fail != nil {
		return nil, nil, fail
	}
	return openDump(path, f)
}

// OpenDumpReader is like OpenDump for a dump that is read from a stream.
func OpenDumpReader(ctx context.Context, r io.Reader, opts ...Option) (*ELFCore, *Minidump, error) {
	f, fail := mapStream(ctx, "", r, newOptions(opts))
	if fail != nil {
		return nil, nil, fail
	}
	return openDump("", f)
}

func openDump(path string, f mapped) (*ELFCore, *Minidump, error) {
	mini := false
	// If the bytes vanish during this, the error appears when the dump is opened.
	_ = mmapfile.Guard(func() { mini = isMinidump(f.file.Data()) })
	if mini {
		d, err := openMinidump(path, f)
		return nil, d, err
	}
	c, err := openCore(path, f)
	return c, nil, err
}

// minidumpBytes opens a dump in memory. It calls closer itself if it returns no
// Minidump.
func minidumpBytes(path string, data []byte, closer func() error) (*Minidump, error) {
	d, fail := parseMinidump(data)
	if d != nil {
		d.path, d.closer = path, closer
	} else if closer != nil {
		closer()
	}
	if fail == nil {
		return d, nil
	}
	fail.Path = path
	return d, fail
}

func parseMinidump(data []byte) (*Minidump, *OpenError) {
	var f *minidump.File
	var err error
	switch {
	case minidump.Sniff(data):
		f, err = minidump.Parse(data)
	case isMicrodump(data):
		f, err = minidump.ParseMicrodump(data)
	default:
		if fail := sniff(data); fail != nil {
			return nil, fail
		}
		return nil, &OpenError{Text: "is not a minidump", Err: ErrNotMinidump}
	}
	if err != nil {
		wrapped := ErrTruncatedHeader
		if errors.Is(err, minidump.ErrNoMicrodump) {
			wrapped = ErrNotMinidump
		}
		return nil, &OpenError{Text: "is a damaged minidump: " + err.Error(), Err: wrapped}
	}
	d := newMinidump(f, f.Arch())
	for i := range f.Threads {
		d.addThread(&f.Threads[i])
	}
	d.crashed = max(f.CrashedThread(), 0)
	d.maps, d.mapped = d.mappings()
	d.checkContexts()
	return d, d.verdict()
}

// addThread adds a thread. Of several with the same id, the first is used.
func (d *Minidump) addThread(t *minidump.Thread) {
	d.addID(unwind.ThreadID(t.ID))
	d.threads = append(d.threads, t)
}

// checkContexts warns of the threads whose registers cannot be decoded.
func (d *Minidump) checkContexts() {
	bad, first := 0, ""
	for _, t := range d.threads {
		if _, err := d.context(t); err != nil {
			if bad++; bad == 1 {
				first = fmt.Sprintf("thread %d: %v", t.ID, err)
			}
		}
	}
	if bad == 1 {
		d.warnf("%s", first)
	} else if bad > 1 {
		d.warnf("%d threads have no registers; %s", bad, first)
	}
	if d.file.WOW64() {
		d.warnf("a 64-bit program wrote this dump of a 32-bit process: the registers are those of the layer between them (WOW64)")
	}
}

// verdict returns the reason why a dump cannot be analysed; nil if it can.
func (d *Minidump) verdict() *OpenError {
	fail := func(err error, format string, args ...any) *OpenError {
		return &OpenError{Text: fmt.Sprintf(format, args...), Err: err}
	}
	switch {
	case d.file.Microdump && len(d.threads) == 0:
		return fail(ErrNoThreads, "is a microdump without registers and without a stack: nothing to walk")
	case len(d.threads) == 0:
		return fail(ErrNoThreads, "is a minidump without threads: nothing to walk (it has %d streams: %s)", len(d.file.Streams), d.streamNames())
	case !d.file.System.Known:
		return fail(ErrUnsupportedArch, "is a minidump that does not name its processor: its registers cannot be read")
	case d.arch == nil:
		return fail(ErrUnsupportedArch, "is a minidump of %v: stacks of this architecture cannot be walked", d.file.System.CPU)
	}
	return nil
}

// streamNames lists the first streams.
func (d *Minidump) streamNames() string {
	text := ""
	for i, s := range d.file.Streams {
		if i == 12 {
			return text + " ..."
		}
		if i > 0 {
			text += " "
		}
		text += s.Type.String()
	}
	return text
}

// OS returns the operating system's name: "Windows", "Linux", "Android", "macOS" ...; "" if
// the dump does not say it.
func (d *Minidump) OS() string {
	if !d.file.System.Known {
		return ""
	}
	return d.file.System.Platform.String()
}

// ArchName returns the architecture's name, even if it is not supported.
func (d *Minidump) ArchName() string {
	if d.arch != nil {
		return d.arch.Name
	}
	return d.file.System.CPU.String()
}

// Microdump reports whether the dump was text in a log.
func (d *Minidump) Microdump() bool { return d.file.Microdump }

// Truncated reports whether part of the dump is missing. have is the size of the file, and
// want is the size that its streams and its memory need, both in bytes.
func (d *Minidump) Truncated() (cut bool, have, want int64) {
	end := uint64(0)
	claim := func(off, size uint64) {
		if off+size >= off {
			end = max(end, min(off+size, 1<<63-1))
		}
	}
	if !d.file.Microdump {
		for _, s := range d.file.Streams {
			claim(s.Off, s.Size)
		}
		for i := range d.file.Memory.Ranges {
			r := &d.file.Memory.Ranges[i]
			claim(r.Off, r.Size)
		}
	}
	return d.truncated(end)
}
