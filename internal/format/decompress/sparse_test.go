package decompress

import (
	"errors"
	"os"
	"testing"
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
