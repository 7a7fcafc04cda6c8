package ziplist

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
)

// made makes an archive of empty files.
func made(t testing.TB, files int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range files {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(data []byte, maxList int64) (*zip.Reader, error) {
	return Open(context.Background(), bytes.NewReader(data), int64(len(data)), maxList)
}

// read counts what is read of an archive.
type read struct {
	*bytes.Reader
	n int
}

func (r *read) ReadAt(b []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(b, off)
	r.n += n
	return n, err
}

// TestOpen: archives are opened as package archive/zip opens them, and those whose list is too long are not, whatever they say of it.
func TestOpen(t *testing.T) {
	const files = 20000
	data := made(t, files)
	if z, err := open(data, 1<<20); err != nil || len(z.File) != files {
		t.Fatal(err)
	}
	if z, err := open(made(t, 70000), 8<<20); err != nil || len(z.File) != 70000 {
		t.Fatal(err)
	}
	if _, err := open(data, files*entryLen-1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one that says how long it is: %v", err)
	}
	if _, err := open(made(t, 70000), 1<<20); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
	// What counts is how long the list is.
	lies := bytes.Clone(made(t, 65537))
	end := bytes.LastIndex(lies, []byte("PK\x05\x06"))
	for _, at := range []int{8, 10} {
		binary.LittleEndian.PutUint16(lies[end+at:], 1)
	}
	copy(lies[bytes.LastIndex(lies, []byte("PK\x06\x07")):], "none")
	start := bytes.Index(lies, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lies[end+12:], uint32(end-start))
	binary.LittleEndian.PutUint32(lies[end+16:], uint32(start))
	if z, err := zip.NewReader(bytes.NewReader(lies), int64(len(lies))); err != nil || len(z.File) != 65537 {
		t.Fatalf("package archive/zip takes it otherwise: %v", err)
	}
	r := &read{Reader: bytes.NewReader(lies)}
	if _, err := Open(t.Context(), r, int64(len(lies)), 1<<19); !errors.Is(err, ErrTooLarge) || r.n > 2<<19 {
		t.Errorf("%d bytes were read: %v", r.n, err)
	}
}

// sized is an archive in a file with a large hole before it.
type sized struct {
	data []byte
	hole int64
}

func (s sized) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		b[i] = 0
		if at := off + int64(i) - s.hole; at >= int64(len(s.data)) {
			return i, io.EOF
		} else if at >= 0 {
			b[i] = s.data[at]
		}
	}
	return len(b), nil
}

// TestSaid: no room is made for files that an archive merely says it has.
func TestSaid(t *testing.T) {
	data := made(t, 70000)
	end := bytes.LastIndex(data, []byte("PK\x06\x06"))
	locator := bytes.LastIndex(data, []byte("PK\x06\x07"))
	const hole = 1 << 40
	binary.LittleEndian.PutUint64(data[locator+8:], uint64(end)+hole)
	for said, want := range map[uint64]error{1 << 33: ErrTooLarge, 1 << 40: zip.ErrFormat, 1 << 63: zip.ErrFormat} {
		binary.LittleEndian.PutUint64(data[end+32:], said)
		if _, err := Open(t.Context(), sized{data, hole}, int64(len(data))+hole, 8<<20); !errors.Is(err, want) {
			t.Errorf("%d files: %v, want %v", said, err, want)
		}
	}
}

// TestStops: reading ends with the context, also that of files.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	data := made(t, 10)
	z, err := Open(ctx, bytes.NewReader(data), int64(len(data)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := z.File[0].Open(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(ctx, bytes.NewReader(data), int64(len(data)), 1<<20); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(made(f, 3))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, want := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if _, err := open(data, 1<<20); want != nil && err == nil {
			t.Errorf("opened; package archive/zip says %v", want)
		}
	})
}
