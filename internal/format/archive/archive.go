// Package archive finds the dump in a file that holds more than the dump: a tar archive or an
// apport report, compressed or not. It unpacks the dump into a temporary file.
//
// Archives are as hostile as dumps. Both the archive and the dump in it are limited to
// decompress.Options, archives within archives are not searched, and only the beginnings of
// names and fields are kept.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/minidump"
)

// Why no dump could be taken from an archive. Errors for damaged and oversized archives are
// those of package decompress.
var (
	// ErrNone: nothing in it is a dump.
	ErrNone = errors.New("no dump in the archive")
	// ErrSeveral: it contains several dumps, and any of them may be meant.
	ErrSeveral = errors.New("several dumps in the archive")
)

// A refusal is an archive that has no dump for its reader. Its text says it without that of
// kind, ErrNone or ErrSeveral.
type refusal struct {
	text string
	kind error
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{fmt.Sprintf(format, args...), kind}
}

// A Kind is the kind of a file that holds a dump.
type Kind int

// The kinds that Sniff recognises. None is anything else.
const (
	None Kind = iota
	Tar
	Apport
)

// SniffLen is how many bytes Sniff and Plain need.
const SniffLen = tarBlock

// Sniff determines the kind of a file that is not compressed from its first bytes.
func Sniff(head []byte) Kind {
	switch {
	case isTar(head):
		return Tar
	case bytes.HasPrefix(head, []byte(apportBegin)):
		return Apport
	}
	return None
}

// Plain reports whether a file with this beginning is neither compressed nor an archive.
func Plain(head []byte) bool {
	return decompress.Sniff(head) == decompress.None && Sniff(head) == None
}

// A Dump is an unpacked dump.
type Dump struct {
	File *os.File // unlinked, as from decompress.ToSparse; nil if there is no dump
	// From says where the dump was, "core.42 in a tar archive"; "" if it was the whole file.
	From string
	// Note says what is wrong with the archive if the dump itself is whole; "" for nothing.
	Note string
}

// Extract unpacks the dump in r into a temporary file. A file that is not an archive is taken
// for a dump. As with decompress.ToSparse, some errors come with a Dump, which has the bytes
// before the damage.
func Extract(ctx context.Context, r io.Reader, opts decompress.Options) (Dump, error) {
	if opts.MaxSize <= 0 {
		opts.MaxSize = decompress.DefaultMaxSize
	}
	x := &extraction{ctx: ctx, opts: opts}
	x.in = &watched{x: x, r: r}
	p, err := unpack(ctx, x.in)
	if err != nil {
		return Dump{}, err
	}
	defer p.close()
	// The archive itself may be as large as a dump.
	whole := &watched{x: x, r: p, max: opts.MaxSize}
	switch p.archive() {
	case Tar:
		return x.fromTar(whole)
	case Apport:
		return x.fromApport(whole)
	}
	f, err := x.save(p)
	return Dump{File: f}, err
}

// An extraction is one call of Extract.
type extraction struct {
	ctx  context.Context
	opts decompress.Options
	in   *watched
	out  int64 // bytes of the dump so far
}

// save unpacks a dump.
func (x *extraction) save(r io.Reader) (*os.File, error) {
	opts := x.opts
	opts.Progress = func(_, out int64) {
		x.out = out
		x.progress()
	}
	f, _, err := decompress.ToSparse(x.ctx, r, decompress.None, opts)
	return f, err
}

func (x *extraction) progress() {
	if x.opts.Progress != nil {
		x.opts.Progress(x.in.n, x.out)
	}
}

// A watched reader counts, ends with the extraction's context, and shows progress where
// nothing is saved.
type watched struct {
	x    *extraction
	r    io.Reader
	n    int64 // bytes read
	seen int64 // n at the last look at the context
	max  int64 // most bytes to read; 0 for no limit
}

// watchStep is how many bytes are read between two looks at the context.
const watchStep = 1 << 20

func (w *watched) Read(b []byte) (int, error) {
	if w.max > 0 && w.n >= w.max {
		return 0, fmt.Errorf("the archive has more than %d bytes: %w", w.max, decompress.ErrTooLarge)
	}
	n, err := w.r.Read(b)
	w.n += int64(n)
	if w.n-w.seen >= watchStep {
		w.seen = w.n
		if w.max > 0 {
			w.x.progress()
		}
		if ctxErr := w.x.ctx.Err(); ctxErr != nil {
			return n, ctxErr
		}
	}
	return n, err
}

// A packed is a stream with its compression, if it has one, removed.
type packed struct {
	*bufio.Reader
	kind  decompress.Kind
	close func()
}

// unpack removes the compression of r.
func unpack(ctx context.Context, r io.Reader) (*packed, error) {
	return unpackAs(ctx, r, decompress.Sniff)
}

// unpackAs removes the compression that sniff recognises by the first bytes.
func unpackAs(ctx context.Context, r io.Reader, sniff func(head []byte) decompress.Kind) (*packed, error) {
	br := bufio.NewReaderSize(r, bufferSize)
	head, err := br.Peek(decompress.SniffLen)
	if err != nil && err != io.EOF {
		return nil, err
	}
	kind := sniff(head)
	if kind == decompress.None {
		return &packed{Reader: br, close: func() {}}, nil
	}
	z, err := decompress.NewBounded(ctx, br, kind)
	if err != nil {
		return nil, err
	}
	return &packed{Reader: bufio.NewReaderSize(z, bufferSize), kind: kind, close: func() { z.Close() }}, nil
}

const bufferSize = 64 << 10

// head returns the first bytes. An error comes again when they are read.
func (p *packed) head() []byte {
	head, _ := p.Peek(SniffLen)
	return head
}

func (p *packed) archive() Kind { return Sniff(p.head()) }

// isDump reports whether a file with this beginning is a dump.
func isDump(head []byte) bool {
	if minidump.Sniff(head) {
		return true
	}
	if len(head) < 18 || string(head[:4]) != "\x7fELF" {
		return false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[5] == 2 {
		order = binary.BigEndian
	}
	return order.Uint16(head[16:]) == elffile.ET_CORE
}
