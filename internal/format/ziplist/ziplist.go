// Package ziplist opens zip archives whose list of files is bounded before it is read: what package archive/zip makes of it takes seven times
// its size, and what an archive says of it need not be true.
package ziplist

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge: the list of files is longer than the limit.
var ErrTooLarge = errors.New("the zip archive's list of files is too long")

// Sizes in a zip archive, in bytes.
const (
	endLen     = 22 // the record at the end
	endLen64   = 56 // and that of large archives
	locatorLen = 20 // which is before the first, and says where the second is
	entryLen   = 46 // of the list, without its name
	maxComment = 1<<16 - 1
	// around is what is read beside the list: the ends twice, and what is read ahead.
	around = 4 * (maxComment + endLen)
)

// Open opens an archive of size bytes. Its list of files may have maxList bytes. All reading ends with ctx, also that of files.
func Open(ctx context.Context, r io.ReaderAt, size, maxList int64) (*zip.Reader, error) {
	said, err := listed(r, size)
	switch {
	case err != nil:
		return nil, err
	case said > uint64(size/entryLen):
		return nil, fmt.Errorf("%w: it says %d files, and has %d bytes", zip.ErrFormat, said, size)
	case said > uint64(maxList/entryLen):
		return nil, fmt.Errorf("%w: it says %d files, the limit is %d", ErrTooLarge, said, maxList/entryLen)
	}
	b := &bounded{ctx: ctx, r: r, left: maxList + around, list: maxList}
	z, err := zip.NewReader(b, size)
	b.opened = true
	return z, err
}

// A bounded reader reads so many bytes before the archive is opened.
type bounded struct {
	ctx        context.Context
	r          io.ReaderAt
	left, list int64
	opened     bool
}

func (b *bounded) ReadAt(p []byte, off int64) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if !b.opened {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, b.list)
		}
	}
	return b.r.ReadAt(p, off)
}

// listed returns how many files an archive says that it has: package archive/zip makes room for them before it looks for them.
func listed(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, endLen+maxComment))
	at := size - int64(len(tail))
	if _, err := r.ReadAt(tail, at); err != nil && err != io.EOF {
		return 0, err
	}
	most, found := uint64(0), false
	// Which of several ends counts is up to who reads: the one that says most does here.
	for end := len(tail); ; {
		if end = bytes.LastIndex(tail[:end], []byte("PK\x05\x06")); end < 0 {
			break
		}
		if len(tail)-end < endLen {
			continue
		}
		found = true
		most = max(most, uint64(binary.LittleEndian.Uint16(tail[end+10:])), listed64(r, at+int64(end)))
	}
	if !found {
		return 0, zip.ErrFormat
	}
	return most, nil
}

// listed64 is listed of a large archive whose end is at a place; 0 for others.
func listed64(r io.ReaderAt, end int64) uint64 {
	var locator [locatorLen]byte
	if _, err := r.ReadAt(locator[:], end-locatorLen); err != nil || string(locator[:4]) != "PK\x06\x07" {
		return 0
	}
	var b [endLen64]byte
	at := int64(binary.LittleEndian.Uint64(locator[8:]))
	if _, err := r.ReadAt(b[:], at); at < 0 || err != nil || string(b[:4]) != "PK\x06\x06" {
		return 0
	}
	return binary.LittleEndian.Uint64(b[32:])
}
