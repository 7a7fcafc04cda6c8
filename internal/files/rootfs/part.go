package rootfs

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/format/decompress"
)

// A part is a run of bytes: of a file on disk, or of what another part is decompressed to.
type part struct {
	file  *os.File // nil if up is set
	up    *part
	off   int64
	size  int64
	kind  decompress.Kind // the compression of these bytes
	seen  bool            // kind is known
	alone bool            // no other part is of this file, and who asked for the part closes it
	of    *content        // what it is in an archive that is compressed; nil for others

	kept     *kept.Entry // what was kept of it by another run; nil until it was asked for
	index    *index      // to be kept
	contents []*content  // of an index that was kept
	used     []*content  // that were unpacked or read, to be kept
}

// newPart returns the part that is a whole file.
func newPart(f *os.File) (*part, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &part{file: f, size: st.Size()}
	return p, p.sniff(nil) // nothing is decompressed for it
}

// sub returns a part of the decompressed bytes.
func (p *part) sub(im *Image, off, size int64) (*part, error) {
	if f, start, ok := p.inPlace(); ok {
		s := &part{file: f, off: start + off, size: size}
		return s, s.sniff(im)
	}
	return &part{up: p, off: off, size: size, of: &content{in: p, off: off, size: size}}, nil // its compression is looked at when it is read: everything before it has to be
}

// inPlace returns the file that has the decompressed bytes as they are, and where.
func (p *part) inPlace() (f *os.File, off int64, ok bool) {
	return p.file, p.off, p.up == nil && p.kind == decompress.None
}

func (p *part) sniff(im *Image) error {
	r, err := p.raw(im)
	if err != nil {
		return err
	}
	defer r.Close()
	head := make([]byte, decompress.SniffLen)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	p.kind, p.seen = decompress.Sniff(head[:n]), true
	return err
}

// raw reads the bytes as they are. im may be nil for a part of a file.
func (p *part) raw(im *Image) (io.ReadCloser, error) {
	if p.up == nil {
		return struct {
			io.Reader
			io.Closer
		}{io.NewSectionReader(p.file, p.off, p.size), io.NopCloser(nil)}, nil
	}
	r, err := p.up.plain(im)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, p.off); err != nil {
		r.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, p.size), r}, nil
}

// plain reads the decompressed bytes.
func (p *part) plain(im *Image) (io.ReadCloser, error) {
	if !p.seen {
		if err := p.sniff(im); err != nil {
			return nil, err
		}
	}
	r, err := p.raw(im)
	if err != nil || p.kind == decompress.None {
		return r, err
	}
	z, err := decompress.NewReader(interrupted{im.ctx, &fed{r, &im.left}}, p.kind)
	if err != nil {
		r.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{interrupted{im.ctx, &charged{z, &im.left}}, closers{z, r}}, nil
}

// Decompressing is charged: every pass over every archive of an image, with what goes in and what comes out.
type (
	fed struct {
		r    io.Reader
		left *budgets
	}
	charged struct {
		r    io.Reader
		left *budgets
	}
)

func (f *fed) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	f.left.fed += int64(n)
	f.left.passed -= int64(n)
	return n, err
}

func (c *charged) Read(b []byte) (int, error) {
	if err := c.left.decompressed(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.left.passed -= int64(n)
	c.left.made += int64(n)
	return n, err
}

// decompressed returns an error once decompressing has to end.
func (b *budgets) decompressed() error {
	if b.passed < 0 {
		return fmt.Errorf("more than %d bytes were decompressed to find files: give the unpacked root directory: %w", int64(maxPassed), decompress.ErrTooLarge)
	}
	if b.made > b.free && b.made/maxRatio > b.fed {
		return fmt.Errorf("%d bytes expand to %d, more than those of honest images: give the unpacked root directory: %w", b.fed, b.made, decompress.ErrTooLarge)
	}
	return nil
}

// interrupted ends reading once its context is done.
type interrupted struct {
	ctx context.Context
	r   io.Reader
}

func (i interrupted) Read(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(b)
}

type closers [2]io.Closer

func (c closers) Close() error {
	c[0].Close()
	return c[1].Close()
}

// isTar reports whether a file begins as a tar archive.
func isTar(f *os.File) bool {
	_, err := tar.NewReader(io.NewSectionReader(f, 0, 1<<20)).Next()
	return err == nil
}
