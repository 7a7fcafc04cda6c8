package holes

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// Whatever the pieces in which it comes, a file has the bytes that were written.
func TestWriter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		want := make([]byte, rnd.IntN(10*blockSize))
		for range rnd.IntN(6) {
			if len(want) > 0 {
				want[rnd.IntN(len(want))] = 1
			}
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		w := Writer{File: f}
		for left := want; len(left) > 0; {
			n := 1 + rnd.IntN(min(len(left), 3*blockSize))
			if k, err := w.Write(left[:n]); k != n || err != nil {
				t.Fatal(k, n, err)
			}
			left = left[n:]
			if rnd.IntN(3) == 0 {
				if err := w.Settle(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(w.Settle(), w.Settle()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil || !bytes.Equal(got, want) || w.Size() != int64(len(want)) {
			t.Fatalf("round %d: %d bytes of %d, %v", round, len(got), len(want), err)
		}
		f.Close()
	}
}

// Blocks of zeros are not written, and of others no more than may be.
func TestMost(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := Writer{File: f, Most: blockSize}
	block := bytes.Repeat([]byte{1}, blockSize)
	for i, b := range [][]byte{make([]byte, 100*blockSize), block, make([]byte, 7)} {
		if n, err := w.Write(b); n != len(b) || err != nil {
			t.Fatal(i, n, err)
		}
	}
	if n, err := w.Write([]byte{0, 1}); n != 0 || !errors.Is(err, ErrMost) {
		t.Error(n, err)
	}
	if st, err := f.Stat(); err != nil || st.Size() != 101*blockSize {
		t.Errorf("%d bytes before it is settled, %v", st.Size(), err)
	}
	if err := w.Settle(); err != nil {
		t.Error(err)
	}
	if st, err := f.Stat(); err != nil || st.Size() != 101*blockSize+7 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

// A file that cannot be written says so.
func TestFails(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	w := Writer{File: f}
	if n, err := w.Write(append(make([]byte, blockSize), 1)); n != blockSize || err == nil {
		t.Error(n, err)
	}
	w = Writer{File: f}
	if _, err := w.Write(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if w.Settle() == nil {
		t.Error("it is longer")
	}
}
