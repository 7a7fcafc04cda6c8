package decompress

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// A few bytes do not become any number of zeros.
func TestRatio(t *testing.T) {
	for packed, most := range map[int64]int64{1: 9 << 20, 4 << 10: 40 << 20} {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		w := newSparse(f, Options{MaxSize: 64 << 20})
		w.free = 8 << 20
		read, write := w.copy(t.Context(), zeroReader{}, &countedReader{n: packed})
		if !errors.Is(read, ErrTooLarge) || write != nil || w.size > most || w.size < w.free {
			t.Errorf("%d bytes became %d: %v, %v", packed, w.size, read, write)
		}
		f.Close()
	}
}

// TestSlow: what unpacks slowly ends earlier, with an error that names the flag; not where somebody has given it a time.
func TestSlow(t *testing.T) {
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for kind, want := range map[Kind]int64{XZFile: slowSize, BZip2: slowSize, Zstd: math.MaxInt64, Gzip: math.MaxInt64} {
		if got := slowest(t.Context(), kind); got != want {
			t.Errorf("%v: %d bytes", kind, got)
		}
		if got := slowest(patient, kind); got != math.MaxInt64 {
			t.Errorf("%v with a deadline: %d bytes", kind, got)
		}
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for packed, most := range map[int64]int64{1: 9 << 20, 4 << 10: 26 << 20} {
		w := newSparse(f, Options{MaxSize: 64 << 20})
		w.slow = 8 << 20
		read, write := w.copy(t.Context(), zeroReader{}, &countedReader{n: packed})
		if !errors.Is(read, ErrTooLarge) || !strings.Contains(read.Error(), "--deadline") || write != nil || w.size > most || w.size < w.slow {
			t.Errorf("%d bytes became %d: %v, %v", packed, w.size, read, write)
		}
	}
}

// frames are empty ones of zstd without an end, of which nothing comes. The context is cancelled on the way.
type frames struct {
	cancel context.CancelFunc
	n, at  int
}

func (f *frames) Read(b []byte) (int, error) {
	if f.n++; f.n == 10 {
		f.cancel()
	}
	if f.n == 10000 {
		return 0, io.EOF
	}
	for i := range b {
		b[i] = "\x50\x2a\x4d\x18\x00\x00\x00\x00"[f.at%8]
		f.at++
	}
	return len(b), nil
}

// TestNothingStops: what comes to nothing ends with the context, too.
func TestNothingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &frames{cancel: cancel}
	f, _, err := ToSparse(ctx, r, Zstd, Options{})
	if f != nil || !errors.Is(err, context.Canceled) || r.n > 11 {
		t.Errorf("%v after %d reads", err, r.n)
	}
}
