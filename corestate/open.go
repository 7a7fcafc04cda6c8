package corestate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/archive"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// An Option changes how a core is opened.
type Option func(*options)

type options struct {
	decomp decompress.Options
	reads  *Reads
}

// TempDir sets the directory in which a dump is unpacked if it is compressed or comes
// through a pipe; "" (the default) is os.TempDir.
func TempDir(dir string) Option { return func(o *options) { o.decomp.Dir = dir } }

// MaxSize limits the size of a dump that is unpacked, and how many of its bytes may be other than zero and so take
// space on disk; 0 is the default limit.
func MaxSize(size, disk int64) Option {
	return func(o *options) { o.decomp.MaxSize, o.decomp.MaxDisk = size, disk }
}

// Progress sets a function that is called while a dump is unpacked, with the numbers of
// bytes read and written so far. It runs on the goroutine that called Open.
func Progress(f func(in, out int64)) Option { return func(o *options) { o.decomp.Progress = f } }

func newOptions(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Open opens a core file, plain, compressed, or in a tar archive or an apport report; "-" is
// standard input. A pipe is read only if this process has it open already and path is below /dev/fd; other files that are not regular, and
// files of /proc and /sys, are refused. Unpacking stops when ctx is done.
//
// With some errors (see the list of errors) Open also returns the core, which must be
// closed.
//
// The core's memory is the mapped file. If another process may truncate the file, read it
// inside corewalk.Guard.
func Open(ctx context.Context, path string, opts ...Option) (*ELFCore, error) {
	f, fail := mapDump(ctx, path, newOptions(opts))
	if fail != nil {
		return nil, fail
	}
	return openCore(path, f)
}

// A mapped is a dump's bytes.
type mapped struct {
	file      *mmapfile.File
	from      string // where in an archive the dump was
	note      string // what is wrong with the archive
	unpackErr error  // why a compressed dump is incomplete
	reads     *Reads // where to record what is read; nil for nowhere
}

// mapDump maps a file or, if it is compressed or an archive, the dump in it.
func mapDump(ctx context.Context, path string, o options) (mapped, *OpenError) {
	if path == "-" {
		return mapStream(ctx, "-", os.Stdin, o)
	}
	f, err := openFile(path)
	if err != nil {
		return mapped{}, failed(path, err)
	}
	defer f.Close()
	// What the path leads to may be a pipe into which nobody writes.
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	m, fail := mapStream(ctx, path, f, o)
	if fail != nil && errors.Is(fail, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return mapped{}, failed(path, ctx.Err())
	}
	return m, fail
}

// openFile opens a regular file, or what the shell has opened for this process: <(...) is a path of a pipe. Any other pipe or device
// may wait for ever, or have no end.
func openFile(path string) (*os.File, error) {
	if clean := filepath.ToSlash(filepath.Clean(path)); clean == "/dev/stdin" || strings.HasPrefix(clean, "/dev/fd/") || strings.HasPrefix(clean, "/proc/self/fd/") {
		if st, err := os.Stat(path); err == nil && st.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
			return mmapfile.OpenAtOnce(path)
		}
	}
	f, _, err := mmapfile.OpenRegular(path)
	return f, err
}

// OpenReader is like Open for a core that is read from a stream. An *os.File at the
// beginning of a regular file is mapped, not read.
func OpenReader(ctx context.Context, r io.Reader, opts ...Option) (*ELFCore, error) {
	f, fail := mapStream(ctx, "", r, newOptions(opts))
	if fail != nil {
		return nil, fail
	}
	return openCore("", f)
}

// head returns the first bytes of a mapped file, for Plain.
func head(m *mmapfile.File) (b []byte) {
	_ = mmapfile.Guard(func() {
		d := m.Data()
		b = append(b, d[:min(len(d), archive.SniffLen)]...)
	})
	return b
}

// mapStream maps a stream that is a plain file. It unpacks any other into a temporary file
// and maps that.
func mapStream(ctx context.Context, path string, r io.Reader, o options) (mapped, *OpenError) {
	if m := mapPlain(r); m != nil {
		return mapped{file: m, reads: o.reads}, nil
	}
	o.decomp.Wanted = worthUnpacking
	d, unpackErr := archive.Extract(ctx, r, o.decomp)
	if d.File == nil {
		return mapped{}, failed(path, unpackErr)
	}
	defer d.File.Close()
	m, err := mmapfile.FromOS(d.File)
	if err != nil {
		return mapped{}, failed(path, err)
	}
	return mapped{m, d.From, d.Note, unpackErr, o.reads}, nil
}

// mapPlain maps r if it is a regular file that is neither compressed nor an archive, and of
// which nothing has been read yet; else it returns nil and leaves r as it was.
func mapPlain(r io.Reader) *mmapfile.File {
	f, ok := r.(*os.File)
	if !ok {
		return nil
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return nil
	}
	m, err := mmapfile.FromOS(f)
	if err != nil {
		return nil
	}
	if !archive.Plain(head(m)) {
		m.Close()
		return nil
	}
	return m
}

// guarded calls open with the bytes and the function that releases them. If the bytes
// vanish meanwhile, it returns the same error as if the file could not be opened.
func (f mapped) guarded(path string, open func(data []byte, closer func() error)) *OpenError {
	if fault := mmapfile.Guard(func() { open(f.file.Data(), f.file.Close) }); fault != nil {
		f.file.Close()
		return failed(path, fault)
	}
	return nil
}

// unpacked records in a dump how it was unpacked, and who wants to know what is read of it. What went wrong comes before the other
// warnings.
func (d *anyDump) unpacked(f mapped) {
	d.from, d.unpackErr, d.reads = f.from, f.unpackErr, f.reads
	d.forget = func() { f.file.Release(0, uint64(len(f.file.Data()))) }
	if f.note != "" {
		d.warnings = append([]string{f.note}, d.warnings...)
	}
	if f.unpackErr != nil {
		d.warnings = append([]string{"only the first part could be unpacked: " + f.unpackErr.Error()}, d.warnings...)
	}
}

// openCore opens a mapped core.
func openCore(path string, f mapped) (c *ELFCore, err error) {
	fault := f.guarded(path, func(data []byte, closer func() error) { c, err = openBytes(path, data, closer) })
	if fault != nil {
		return nil, fault
	}
	if c != nil {
		c.unpacked(f)
	}
	return c, err
}

// failed words a system error, whose text repeats the path.
func failed(path string, err error) *OpenError {
	text := err.Error()
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		text = pe.Err.Error()
	case errors.Is(err, mmapfile.ErrNotRegular):
		st, serr := os.Stat(path)
		if serr == nil {
			text = "is a " + mmapfile.Kind(st.Mode()) + ", not a dump"
		}
	case errors.Is(err, mmapfile.ErrNoRealFile):
		text = "is made up by the kernel when it is read, and no dump"
	}
	return &OpenError{Path: path, Text: text, Err: err}
}

// openBytes opens a core whose bytes are in memory. closer releases them; openBytes
// calls it itself if it returns no core.
func openBytes(path string, data []byte, closer func() error) (*ELFCore, error) {
	c, fail := parse(data)
	if c != nil {
		c.path, c.closer = path, closer
	} else if closer != nil {
		closer()
	}
	if fail == nil {
		return c, nil
	}
	fail.Path = path
	return c, fail
}
