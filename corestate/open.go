package corestate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/corewalk/corewalk/internal/decomp"
	"github.com/corewalk/corewalk/internal/mmapfile"
)

// An Option changes how a core is opened.
type Option func(*options)

type options struct {
	ctx    context.Context
	decomp decomp.Options
}

// TempDir is where a compressed core, or one that comes through a pipe, is
// unpacked; "" (the default) is os.TempDir.
func TempDir(dir string) Option { return func(o *options) { o.decomp.Dir = dir } }

// MaxSize bounds the size in bytes that such a core may have, and what of it is
// not zeros and so takes room on disk; 0 is the default of a bound.
func MaxSize(size, disk int64) Option {
	return func(o *options) { o.decomp.MaxSize, o.decomp.MaxDisk = size, disk }
}

// Context ends the unpacking of a core.
func Context(ctx context.Context) Option { return func(o *options) { o.ctx = ctx } }

// Progress is told, while a core is unpacked, how many bytes were read and how
// many came out. It is called on the goroutine that called Open.
func Progress(f func(in, out int64)) Option { return func(o *options) { o.decomp.Progress = f } }

func newOptions(opts []Option) options {
	o := options{ctx: context.Background()}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Open opens a core file, plain or compressed; "-" is standard input.
//
// With some errors (see the list of errors) the core is returned as well: it
// answers what can be known of it, and must be closed.
//
// The core's memory is the mapped file: a goroutine that reads it when another
// process may shorten the file does so inside mmapfile.Guard.
func Open(path string, opts ...Option) (*ELFCore, error) {
	if path == "-" {
		return openReader("-", os.Stdin, newOptions(opts))
	}
	m, err := mmapfile.Open(path)
	if err == nil && decomp.Sniff(head(m)) == decomp.None {
		return openMapped(path, m, nil)
	}
	if err == nil {
		m.Close()
	} else if !errors.Is(err, mmapfile.ErrNotRegular) {
		return nil, failed(path, err)
	}
	f, err := os.Open(path) // compressed, or a pipe
	if err != nil {
		return nil, failed(path, err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, &OpenError{Path: path, Text: "is a directory, not a core", Err: mmapfile.ErrNotRegular}
	}
	return openReader(path, f, newOptions(opts))
}

// OpenReader opens a core, plain or compressed, that comes as a stream.
func OpenReader(r io.Reader, opts ...Option) (*ELFCore, error) {
	return openReader("", r, newOptions(opts))
}

// head is what Sniff wants to see of a mapped file.
func head(m *mmapfile.File) (b []byte) {
	_ = mmapfile.Guard(func() {
		d := m.Data()
		b = append(b, d[:min(len(d), decomp.SniffLen)]...)
	})
	return b
}

// openReader unpacks a stream into a temporary file and opens that.
func openReader(path string, r io.Reader, o options) (*ELFCore, error) {
	m, unpackErr, err := unpacked(r, o)
	if err != nil {
		return nil, failed(path, err)
	}
	if m == nil {
		return openBytes(path, nil, nil)
	}
	return openMapped(path, m, unpackErr)
}

// unpacked maps what a stream unpacks to; nil for a stream without a byte. unpackErr
// says why it is not whole.
func unpacked(r io.Reader, o options) (m *mmapfile.File, unpackErr, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	first, err := br.Peek(decomp.SniffLen)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	f, _, unpackErr := decomp.ToSparse(o.ctx, br, decomp.Sniff(first), o.decomp)
	if f == nil {
		if unpackErr == nil || len(first) == 0 {
			return nil, nil, nil
		}
		return nil, nil, unpackErr
	}
	defer f.Close()
	m, err = mmapfile.FromOS(f)
	return m, unpackErr, err
}

// openMapped opens a mapped core. unpackErr says why it is not whole.
func openMapped(path string, m *mmapfile.File, unpackErr error) (c *ELFCore, err error) {
	fault := mmapfile.Guard(func() { c, err = openBytes(path, m.Data(), m.Close) })
	if fault != nil {
		m.Close()
		return nil, failed(path, fault)
	}
	if c != nil && unpackErr != nil {
		c.unpackErr = unpackErr
		c.warnings = append([]string{"only the first part could be unpacked: " + unpackErr.Error()}, c.warnings...)
	}
	return c, err
}

// failed words an error of the system, which names the path again.
func failed(path string, err error) *OpenError {
	text := err.Error()
	var pe *fs.PathError
	if errors.As(err, &pe) {
		text = pe.Err.Error()
	}
	return &OpenError{Path: path, Text: text, Err: err}
}

// openBytes opens a core whose bytes are in memory. closer releases them; it is
// called at once when no core is returned.
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
