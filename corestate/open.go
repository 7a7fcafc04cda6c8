package corestate

import (
	"errors"
	"io"
	"os"
)

// An Option changes how a core is opened.
type Option func(*options)

type options struct {
	tempDir string
	maxSize int64
}

// TempDir is where a compressed core, or one that comes through a pipe, is
// unpacked; "" (the default) is os.TempDir.
func TempDir(dir string) Option { return func(o *options) { o.tempDir = dir } }

// MaxSize bounds the size in bytes that a compressed core may unpack to.
func MaxSize(n int64) Option { return func(o *options) { o.maxSize = n } }

// Open opens a core file; "-" is standard input.
//
// With some errors (see the list of errors) the core is returned as well: it
// answers what can be known of it, and must be closed.
func Open(path string, opts ...Option) (*ELFCore, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &OpenError{Path: path, Text: err.Error(), Err: err}
	}
	return openBytes(path, data, nil)
}

// OpenReader opens a core that comes as a stream.
func OpenReader(r io.Reader, opts ...Option) (*ELFCore, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, &OpenError{Text: err.Error(), Err: err}
	}
	return openBytes("", data, nil)
}

// openBytes opens a core whose bytes are in memory. closer releases them; it is
// called at once when no core is returned.
func openBytes(path string, data []byte, closer func() error) (*ELFCore, error) {
	c, fail := parse(data)
	if c != nil {
		c.path, c.closer = path, closer
	}
	if fail == nil {
		return c, nil
	}
	fail.Path = path
	if c == nil && closer != nil {
		return nil, errors.Join(fail, closer())
	}
	return c, fail
}
