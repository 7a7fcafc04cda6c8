package decompress

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

func TestLazyReadsAsFarAsNeeded(t *testing.T) {
	data := make([]byte, 5*lazyStep)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	for _, m := range []Method{MethodZlib, MethodZstd} {
		l, err := NewLazy(m, packSection(t, m, data), uint64(len(data)), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Need(10); err != nil || !bytes.Equal(l.Data()[:10], data[:10]) {
			t.Fatalf("%d: first bytes: %v", m, err)
		}
		if got := l.filled.Load(); got < lazyStep || got > lazyStep+maxMatch {
			t.Errorf("%d: %d bytes decompressed for 10", m, got)
		}
		if err := l.Need(2*lazyStep + 1); err != nil || !bytes.Equal(l.Data()[:2*lazyStep+1], data[:2*lazyStep+1]) {
			t.Errorf("%d: further bytes: %v", m, err)
		}
		if err := l.Need(1 << 60); err != nil || !bytes.Equal(l.Data(), data) {
			t.Errorf("%d: all bytes: %v", m, err)
		}
	}
}

func TestLazyErrorsLeaveWhatCame(t *testing.T) {
	data := make([]byte, 4*lazyStep)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(r.Uint32() % 17)
	}
	packed := packSection(t, MethodZlib, data)
	for name, bad := range map[string][]byte{
		"cut off":        packed[:len(packed)-len(packed)/4],
		"wrong checksum": append(bytes.Clone(packed[:len(packed)-1]), packed[len(packed)-1]^1),
	} {
		l, err := NewLazy(MethodZlib, bad, uint64(len(data)), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Need(lazyStep); err != nil || !bytes.Equal(l.Data()[:lazyStep], data[:lazyStep]) {
			t.Errorf("%s: the sound part: %v", name, err)
		}
		for range 2 {
			if err := l.Need(uint64(len(data))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: the whole: %v", name, err)
			}
		}
		if err := l.Need(lazyStep); err != nil {
			t.Errorf("%s: the sound part is lost: %v", name, err)
		}
	}
}

func TestLazyConcurrently(t *testing.T) {
	data := bytes.Repeat([]byte("some bytes; "), 100_000)
	l, err := NewLazy(MethodZstd, packSection(t, MethodZstd, data), uint64(len(data)), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for end := i * 1000; end < len(data); end += 7919 * (i + 1) {
				if err := l.Need(uint64(end)); err != nil || !bytes.Equal(l.Data()[:end], data[:end]) {
					t.Errorf("below %d: %v", end, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
