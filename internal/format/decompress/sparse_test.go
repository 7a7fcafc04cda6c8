package decompress

import (
	"context"
	"errors"
	"io"
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
		if !errors.Is(read, ErrTooLarge) || write != nil || w.to.Size() > most || w.to.Size() < w.free {
			t.Errorf("%d bytes became %d: %v, %v", packed, w.to.Size(), read, write)
		}
		f.Close()
	}
}

// TestSlow: what unpacks slowly ends earlier, with an error that names the flag; not where somebody has given it a time.
func TestSlow(t *testing.T) {
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for kind, head := range map[Kind]string{XZFile: "\xfd7zXZ", BZip2: "BZh9", None: ""} {
		for _, ctx := range []context.Context{t.Context(), patient} {
			r, err := NewBounded(ctx, strings.NewReader(head), kind)
			if err != nil {
				t.Fatal(err)
			}
			if s, bounded := r.(*stream), ctx != patient && kind != None; bounded != (s.slow == slowSize) {
				t.Errorf("%v: %d bytes", kind, s.slow)
			}
		}
	}
	for packed, most := range map[int64]int64{1: 9 << 20, 4 << 10: 25 << 20} {
		s := &stream{kind: BZip2, in: &countedReader{n: packed}, r: io.LimitReader(zeroReader{}, 64<<20), slow: 8 << 20}
		n, err := io.Copy(io.Discard, s)
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "--deadline") || n > most || n < s.slow {
			t.Errorf("%d bytes became %d: %v", packed, n, err)
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

// idleReader returns nothing, and no error.
type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

// A reader that never has anything is not asked for ever.
func TestIdle(t *testing.T) {
	ended := make(chan error, 1)
	go func() {
		_, err := fill(io.MultiReader(strings.NewReader("a"), idleReader{}), make([]byte, 10))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, io.ErrNoProgress) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it is asked for ever")
	}
}
