package decompress

import (
	"bytes"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	kzlib "github.com/klauspost/compress/zlib"
)

// zlibbed are texts of several kinds, compressed with each level.
func zlibbed(t testing.TB) (plain, packed [][]byte) {
	t.Helper()
	all, err := zlibbedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all[0], all[1]
}

// zlibbedOnce is what zlibbed returns: at all levels, that takes long.
var zlibbedOnce = sync.OnceValues(func() (all [2][][]byte, err error) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 100_000)
	few := make([]byte, 100_000)
	for i := range noise {
		noise[i], few[i] = byte(r.Uint32()), "aaaaaaabbbc\n"[r.IntN(12)]
	}
	source, err := os.ReadFile("inflate.go")
	if err != nil {
		return all, err
	}
	for _, text := range [][]byte{{}, {7}, noise, few, source, bytes.Repeat(source, 9), make([]byte, 70_000), bytes.Repeat([]byte("ab"), 400), append(noise[:40_000:40_000], source...)} {
		for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
			var b bytes.Buffer
			w, err := zlib.NewWriterLevel(&b, level)
			if err != nil {
				return all, err
			}
			w.Write(text)
			w.Close()
			all[0], all[1] = append(all[0], text), append(all[1], b.Bytes())
		}
	}
	return all, nil
})

func TestInflate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	plain, packed := zlibbed(t)
	for i, text := range plain {
		for _, step := range []int{len(text), 1 + r.IntN(9), 1 + r.IntN(5000)} {
			out := make([]byte, len(text))
			z, err := newInflater(packed[i], out)
			for end := 0; err == nil && z.block != blockEnd; end = min(len(out), z.w+step) {
				if err = z.fill(end); z.w < end || !bytes.Equal(out[:z.w], text[:z.w]) {
					t.Fatalf("%d: below %d of %d: %v", i, z.w, len(text), err)
				}
			}
			if err != nil || !bytes.Equal(out, text) {
				t.Errorf("%d, steps of %d: %v", i, step, err)
			}
		}
		for _, size := range []int{len(text) - 1, len(text) + 1, len(text) + 1000} {
			if size < 0 {
				continue
			}
			if z, err := newInflater(packed[i], make([]byte, size)); err == nil && z.fill(size) == nil {
				t.Errorf("%d: %d bytes are also %d", i, len(text), size)
			}
		}
	}
}

// TestLazyChecksAllThatItGives: the last match may fill the section although less was asked for; the
// checksum counts then, too.
func TestLazyChecksAllThatItGives(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1000) // incompressible, so that the size is plausible and nothing is decompressed ahead
	for i := range text {
		text[i] = byte(r.Uint32())
	}
	text = append(text, bytes.Repeat([]byte("twelve bytes"), 1000)...)
	packed := packSection(t, MethodZlib, text)
	packed[len(packed)-1] ^= 1
	for less := range 300 {
		l, err := NewLazy(MethodZlib, packed, uint64(len(text)), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		l.Need(uint64(len(text) - less - 1))
		if l.filled.Load() == uint64(len(text)) || l.Need(uint64(len(text))) == nil {
			t.Fatalf("%d bytes less: a section with a wrong checksum is accepted", less)
		}
	}
}

// agree compares with the standard library's reader: the same bytes, or an error in both.
func agree(t *testing.T, data []byte, size int) {
	var want []byte
	r, wantErr := zlib.NewReader(bytes.NewReader(data))
	if wantErr == nil {
		want, wantErr = io.ReadAll(io.LimitReader(r, int64(size)+1))
		if wantErr == nil && len(want) != size {
			wantErr = errSize
		}
	}
	out := make([]byte, size)
	z, err := newInflater(data, out)
	if err == nil {
		err = z.fill(size)
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v, the standard library: %v", err, wantErr)
	}
	if err == nil && !bytes.Equal(out, want) {
		t.Fatal("other bytes")
	}
	if z != nil && wantErr != nil { // what came before the error is the same
		if n := min(z.w, len(want)); !bytes.Equal(out[:n], want[:n]) {
			t.Fatal("other bytes before the error")
		}
	}
}

// TestInflateDamaged changes, cuts and extends streams.
func TestInflateDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	plain, packed := zlibbed(t)
	rounds := 8
	if !fixture.IsLong(t) {
		rounds = 3
	}
	for i, good := range packed {
		for range rounds {
			bad := bytes.Clone(good)
			switch r.IntN(4) {
			case 0:
				bad = bad[:r.IntN(len(bad))]
			case 1:
				bad[r.IntN(min(len(bad), 100))] ^= 1 << r.IntN(8)
			case 2:
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			case 3:
				bad = append(bad, 1, 2, 3)
			}
			agree(t, bad, len(plain[i]))
		}
	}
}

func FuzzInflate(f *testing.F) {
	plain, packed := zlibbed(f)
	for i, p := range packed {
		if len(p) < 10_000 {
			f.Add(p, len(plain[i]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size >= 0 && size < 1<<20 {
			agree(t, data, size)
		}
	})
}

// BenchmarkInflate compares with the reader of streams that files go through.
func BenchmarkInflate(b *testing.B) {
	source, err := os.ReadFile("inflate.go")
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.Repeat(source, 20)
	rand.New(rand.NewPCG(9, 10)).Shuffle(len(text)/16, func(i, j int) {
		for k := range 16 {
			text[16*i+k], text[16*j+k] = text[16*j+k], text[16*i+k]
		}
	})
	packed := packSection(b, MethodZlib, text)
	out := make([]byte, len(text))
	b.Run("inflater", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			z, err := newInflater(packed, out)
			if err != nil || z.fill(len(out)) != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stream", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			s, err := kzlib.NewReader(bytes.NewReader(packed))
			if err == nil {
				_, err = io.ReadFull(s, out)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
