package triage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// wholeDump is the size, in bytes, up to which a file is hashed whole.
const wholeDump = 16 << 20

// partHead is how much of the start of a larger dump is hashed, in bytes, besides its size and what
// corewalk.Target.Identity yields.
const partHead = 64 << 10

// identify identifies a file by its content. A dump that is too large to be hashed whole is opened; opened is
// then not nil, and the caller closes it. digest is the SHA-256 of the content, if somebody has it already.
func identify(ctx context.Context, path, digest string, open func() (*corewalk.Target, error)) (id identity, opened *corewalk.Target, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return id, nil, err
	}
	if !st.Mode().IsRegular() {
		return id, nil, fmt.Errorf("%s: not a regular file", path) // opening a FIFO would wait for a writer
	}
	f, _, err := mmapfile.OpenRegular(path)
	if err != nil {
		return id, nil, err
	}
	defer f.Close()
	if digest != "" && st.Size() <= wholeDump {
		return identity{ID: "sha256:" + digest, SHA256: digest, Size: st.Size(), Time: st.ModTime()}, nil, nil
	}
	return identifyFile(f, st, open)
}

// identifyFile is identify of an open file.
func identifyFile(f io.ReaderAt, st fs.FileInfo, open func() (*corewalk.Target, error)) (id identity, opened *corewalk.Target, err error) {
	id.Size, id.Time = st.Size(), st.ModTime()
	h := sha256.New()
	if id.Size <= wholeDump {
		if err := hashFile(h, f, wholeDump); err != nil {
			return id, nil, err
		}
		id.SHA256 = hex.EncodeToString(h.Sum(nil))
		id.ID = "sha256:" + id.SHA256
		return id, nil, nil
	}
	number(h, uint64(id.Size))
	if err := hashFile(h, f, partHead); err != nil {
		return id, nil, err
	}
	opened, err = open()
	if opened != nil {
		fault := corewalk.Guard(func() {
			for b := range opened.Identity() {
				h.Write(b)
			}
		})
		if fault != nil {
			return id, opened, fault
		}
	}
	id.ID = "parts:" + hex.EncodeToString(h.Sum(nil))
	return id, opened, err
}

// buffers are for reading files. A buffer that is not in the processor's caches costs more than the system
// calls that it saves.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// zeros are what holes of files read as.
var zeros [64 << 10]byte

// hashFile hashes at most limit bytes of a file. Holes, which most of the stacks of a core's threads are, are not read: that
// would fill pages with zeros and copy them. To find them moves the offset of an *os.File.
func hashFile(h hash.Hash, f io.ReaderAt, limit int64) error {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	at := int64(0)
	for file, ok := f.(*os.File); ok && at < limit; {
		start, end, found := nextData(file, at)
		if !found {
			break
		}
		for start = min(start, limit); at < start; {
			n := min(start-at, int64(len(zeros)))
			h.Write(zeros[:n])
			at += n
		}
		n, err := hashPart(h, f, at, min(end, limit)-at, buf[:])
		if at += n; err != nil || at < min(end, limit) {
			return err // the file has become shorter
		}
	}
	_, err := hashPart(h, f, at, limit-at, buf[:]) // a hole at the end, or all
	return err
}

// hashPart hashes at most size bytes of a file from off on, and returns how many there were.
func hashPart(h hash.Hash, f io.ReaderAt, off, size int64, buf []byte) (int64, error) {
	// Hide ReadFrom and WriteTo, which would allocate a buffer of their own.
	return io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{io.NewSectionReader(f, off, size)}, buf)
}

func number(h hash.Hash, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	h.Write(b[:])
}
